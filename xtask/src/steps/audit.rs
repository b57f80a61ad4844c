//! Steps that call tools of others: `cargo-deny` for licenses and duplicates of dependencies,
//! `cargo-semver-checks` for changes that break users, and `cargo-fuzz`. The first two take minutes
//! to install.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{Ended, Job};
use crate::tools;
use crate::workspace::Workspace;

/// The tools, with their versions.
const DENY: (&str, &str) = ("cargo-deny", "0.20.2");
const SEMVER: (&str, &str) = ("cargo-semver-checks", "0.51.0");
const FUZZ: (&str, &str) = ("cargo-fuzz", "0.13.2");

/// Fuzz targets: the folder of the crate, the name, and the length of an input in bytes.
const FUZZED: &[(&str, &str, u32)] = &[
    ("crates/garrick-secure", "changes", 16384),
    ("crates/garrick-wire", "changes", 4096),
    ("crates/garrick-wire", "decode", 4096),
];

/// Pattern of the tags of releases.
const TAGS: &str = "v[0-9]*";

/// The parameters of the fuzzers.
#[derive(Debug, clap::Args)]
pub(crate) struct FuzzOptions {
    /// Seconds for each fuzzer.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

/// Runs each fuzzer for the given time. Stops at the first input that fails, and tells its file.
pub(crate) fn fuzz(workspace: &Workspace, options: &FuzzOptions) -> Result<()> {
    let program = tools::install_cargo(&workspace.target, FUZZ)?;
    for (folder, target, length) in FUZZED {
        Job::new(&program)
            .arguments(&["run", target, "--"])
            .arguments(&[format!("-max_total_time={}", options.seconds)])
            .arguments(&[format!("-max_len={length}")])
            .folder(workspace.root.join(folder))
            .environment("CARGO_TARGET_DIR", workspace.target.join("fuzz"))
            // The flags for coverage are unstable. This variable enables them.
            .environment("RUSTC_BOOTSTRAP", "1")
            // The time for the build, and some for the end.
            .limit(Duration::from_secs(options.seconds + 1200))
            .run()?;
    }
    Ok(())
}

/// Checks the licenses, the duplicates and the sources of all dependencies by `deny.toml`. Checks
/// them against the database of known vulnerabilities if it can be fetched.
pub(super) fn deny(workspace: &Workspace) -> Result<String> {
    let program = tools::install_cargo(&workspace.target, DENY)?;
    let deny = |arguments: &[&str]| Job::new(&program).arguments(arguments);
    deny(&["--all-features", "check", "bans", "licenses", "sources"]).run()?;
    if !deny(&["fetch", "db"]).succeeds() {
        return Ok("without vulnerabilities: their database cannot be fetched".to_owned());
    }
    deny(&["--all-features", "check", "advisories"]).run()?;
    Ok("licenses, duplicates, sources, vulnerabilities".to_owned())
}

/// Compares the public crates with those of the last release, and fails if a change breaks users
/// although the version does not say so.
pub(super) fn semver(workspace: &Workspace) -> Result<String> {
    let tag = Job::new("git")
        .arguments(&["describe", "--tags", "--abbrev=0", "--match", TAGS])
        .watch()?;
    if tag.ended != Ended::Passed {
        return Ok("no release to compare with".to_owned());
    }
    let tag = tag.output.trim();
    let program = tools::install_cargo(&workspace.target, SEMVER)?;
    let baseline = workspace.target.join("semver-baseline");
    extract(tag, &baseline)?;
    let mut job = Job::new(program)
        .arguments(&["semver-checks", "--baseline-root"])
        .arguments(&[&baseline]);
    let packages = workspace.public();
    for package in &packages {
        job = job.arguments(&["--package", &package.name]);
    }
    job.run()?;
    Ok(format!("{} crates, beside {tag}", packages.len()))
}

/// Writes the files of a tag to an empty folder.
fn extract(tag: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    let archive = folder.join("archive.tar");
    Job::new("git")
        .arguments(&["archive", "--output"])
        .arguments(&[&archive])
        .arguments(&[tag])
        .run()?;
    Job::new("tar")
        .arguments(&["-xf".as_ref(), archive.as_os_str()])
        .arguments(&["-C".as_ref(), folder.as_os_str()])
        .run()?;
    if !folder.join("Cargo.toml").exists() {
        bail!("{tag} has no Cargo.toml");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fuzz_targets_are_run() {
        let workspace = Workspace::load().unwrap();
        let mut targets = 0;
        for package in &workspace.packages {
            let folder = package.dir.join("fuzz/fuzz_targets");
            for file in workspace.rust_files(&folder).unwrap() {
                let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
                let mut known = FUZZED.iter();
                assert!(
                    known.any(|(dir, target, _)| package.dir == Path::new(dir) && *target == name)
                );
                targets += 1;
            }
        }
        assert_eq!(targets, FUZZED.len());
    }
}
