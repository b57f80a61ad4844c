//! Steps that call external tools: `cargo-deny` for licenses and duplicates of dependencies,
//! `cargo-semver-checks` for changes that break the code of users, and `cargo-fuzz`. The first two
//! take minutes to install.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{Ended, Job, empty};
use crate::tools;
use crate::workspace::{Package, Workspace};

/// Name and version of the tool that checks dependencies.
const DENY: (&str, &str) = ("cargo-deny", "0.20.2");
/// Name and version of the tool that finds breaking changes.
const SEMVER: (&str, &str) = ("cargo-semver-checks", "0.51.0");
/// Name and version of the tool that runs fuzzers.
const FUZZ: (&str, &str) = ("cargo-fuzz", "0.13.2");

/// Fuzz targets: the folder of the crate, the name, and the maximum length of an input in bytes.
const FUZZED: &[(&str, &str, u32)] = &[
    ("crates/garrick-cluster", "decode", 4096),
    ("crates/garrick-cluster", "entries", 1024),
    ("crates/garrick-cluster", "exports", 1024),
    ("crates/garrick-cluster", "frame", 1024),
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

/// Runs each fuzzer for the given time. Stops at the first input that fails. The fuzzer prints the
/// file that contains this input.
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

/// Checks the licenses, the duplicates and the sources of all dependencies by the rules in
/// `deny.toml`. Also searches the database of known vulnerabilities for the dependencies, if the
/// database can be fetched.
pub(super) fn deny(workspace: &Workspace) -> Result<String> {
    let program = tools::install_cargo(&workspace.target, DENY)?;
    let deny = |arguments: &[&str]| Job::new(&program).arguments(arguments);
    deny(&["--all-features", "check", "--hide-inclusion-graph"])
        .arguments(&["bans", "licenses", "sources"])
        .run()?;
    if let Err(error) = deny(&["fetch", "db"]).run() {
        println!("{error:#}");
        return Ok("without vulnerabilities: their database cannot be fetched".to_owned());
    }
    deny(&["--all-features", "check", "advisories"]).run()?;
    Ok("licenses, duplicates, sources, vulnerabilities".to_owned())
}

/// The parameters of the comparison.
#[derive(Debug, clap::Args)]
pub(crate) struct SemverOptions {
    /// Compare with this commit or tag instead of the last release.
    #[arg(long)]
    against: Option<String>,
    /// Compare only this crate. Can be repeated.
    #[arg(long = "package", short)]
    packages: Vec<String>,
}

/// Compares the public libraries with those of the last release, and fails if a change breaks the
/// code of users although the new version number does not announce such a change.
pub(crate) fn semver(workspace: &Workspace, options: &SemverOptions) -> Result<()> {
    let Some(against) = baseline(options)? else {
        println!(
            "nothing was compared: there is no tag `{TAGS}` of a release. `--against` compares \
             with any commit"
        );
        return Ok(());
    };
    let commit = commit(&against)?;
    let packages = compared(workspace, &options.packages)?;
    let program = tools::install_cargo(&workspace.target, SEMVER)?;
    let folder = workspace.target.join("semver-baseline");
    extract(&commit, &folder)?;
    println!(
        "compared with {against} ({commit}): {} libraries",
        packages.len()
    );
    let mut failed = Vec::new();
    for package in &packages {
        if !folder.join(&package.dir).exists() {
            println!("{}: {against} has no such crate", package.name);
            continue;
        }
        let job = Job::new(&program)
            .arguments(&["semver-checks", "--package", &package.name])
            .arguments(&["--baseline-root"])
            .arguments(&[&folder]);
        if let Err(error) = job.run() {
            println!("{error:#}");
            failed.push(package.name.as_str());
        }
    }
    if failed.is_empty() {
        println!("since {against}, no change breaks users");
        return Ok(());
    }
    bail!(
        "changes since {against} break users of: {}",
        failed.join(", ")
    )
}

/// Returns the commit or tag that the options name, or else the last release, if there is one.
fn baseline(options: &SemverOptions) -> Result<Option<String>> {
    if options.against.is_some() {
        return Ok(options.against.clone());
    }
    let tag = Job::new("git")
        .arguments(&["describe", "--tags", "--abbrev=0", "--match", TAGS])
        .watch()?;
    Ok((tag.ended == Ended::Passed).then(|| tag.output.trim().to_owned()))
}

/// Returns the hash of a commit or of a tag's commit.
fn commit(name: &str) -> Result<String> {
    let parsed = Job::new("git")
        .arguments(&["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arguments(&[format!("{name}^{{commit}}")])
        .watch()?;
    if parsed.ended != Ended::Passed {
        bail!("there is no commit `{name}`");
    }
    Ok(parsed.output.trim().to_owned())
}

/// Returns the public libraries with the given names, or all of them if there are no names.
/// Programs and macros have no signatures to compare.
fn compared<'a>(workspace: &'a Workspace, names: &[String]) -> Result<Vec<&'a Package>> {
    let mut public = workspace.public();
    public.retain(|package| package.is_library);
    if names.is_empty() {
        return Ok(public);
    }
    let named = |name: &String| {
        let found = public.iter().find(|package| package.name == *name);
        found
            .copied()
            .with_context(|| format!("there is no public library `{name}`"))
    };
    names.iter().map(named).collect()
}

/// Writes the files of a commit to an empty folder.
fn extract(commit: &str, folder: &Path) -> Result<()> {
    empty(folder)?;
    let archive = folder.join("archive.tar");
    Job::new("git")
        .arguments(&["archive", "--output"])
        .arguments(&[&archive])
        .arguments(&[commit])
        .run()?;
    Job::new("tar")
        .arguments(&["-xf".as_ref(), archive.as_os_str()])
        .arguments(&["-C".as_ref(), folder.as_os_str()])
        .run()?;
    if !folder.join("Cargo.toml").exists() {
        bail!("{commit} has no Cargo.toml");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_compared_and_macros_and_programs_are_not() {
        let workspace = Workspace::load().unwrap();
        let all = compared(&workspace, &[]).unwrap();
        let has = |name| all.iter().any(|package| package.name == name);
        assert!(has("garrick") && has("garrick-core"));
        assert!(!has("garrick-macros") && !has("garrick-testkit"));
        let one = compared(&workspace, &["garrick-wire".to_owned()]).unwrap();
        assert_eq!(one.len(), 1);
        let none = compared(&workspace, &["garrick-macros".to_owned()]).unwrap_err();
        assert!(none.to_string().contains("`garrick-macros`"), "{none}");
    }

    #[test]
    fn a_commit_is_found_by_a_name_and_others_are_refused() {
        assert_eq!(commit("HEAD").unwrap().len(), 40);
        let error = commit("no-such-commit").unwrap_err().to_string();
        assert_eq!(error, "there is no commit `no-such-commit`");
    }

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
