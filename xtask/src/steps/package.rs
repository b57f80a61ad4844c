//! The step that makes packages of all public crates, and runs programs that use only these
//! packages.
//!
//! ```text
//!   crates/* -- cargo package --> *.crate -- tar --> folders <-- path -- a project outside of the
//!                (builds each)                                           repository: the programs
//!                                                                        of the README
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::{env, process};

use anyhow::{Context, Result, bail};

use crate::process::{Job, empty};
use crate::workspace::{FACADE, Package, Workspace};

/// Files that a package may contain beside its folder `src`. Cargo adds some of them.
const FILES: &[&str] = &[
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
];

/// Files that a package must contain.
const NEEDED: &[&str] = &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Features of the facade that the project outside of the repository enables. Together they enable
/// all crates of the facade.
const FEATURES: &str = r#"["cluster", "journal", "metrics", "otel", "secure", "sim", "telemetry", "tokio", "traces", "wire"]"#;

/// Parts of Garrick that the programs of the README must use. A program that contains the text next
/// to a part uses this part.
const SHOWN: &[(&str, &str)] = &[
    ("an actor", "#[garrick::actor]"),
    ("a supervised actor", ".supervised_by("),
    ("a pipeline", "Graph::new()"),
];

/// Makes packages of all public crates, builds each of them, and runs the programs of the README
/// with these packages.
pub(super) fn package(workspace: &Workspace) -> Result<String> {
    let packages = workspace.public();
    if let Some(home) = cargo_home() {
        forget_unpacked(&home.join("registry/src"), &packages)?;
    }
    let built = workspace.target.join("packaging");
    empty(&built)?;
    pack(&packages, &built)?;
    let folder = workspace.target.join("packages");
    empty(&folder)?;
    let mut bytes = 0;
    for package in &packages {
        bytes += unpack(package, &built, &folder)?;
    }
    let programs = run_outside(workspace, &packages, &folder)?;
    let count = packages.len();
    Ok(format!(
        "{count} packages, {} KiB, {programs} programs",
        bytes / 1024
    ))
}

/// Returns the folder in which cargo keeps what it downloads and unpacks.
fn cargo_home() -> Option<PathBuf> {
    let set = env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(env::home_dir()?.join(".cargo")))
}

/// Removes the packages that an earlier `cargo package` has unpacked to `sources`. Cargo finds an
/// unpacked package by its name and version, and would build the other packages with its old code.
fn forget_unpacked(sources: &Path, packages: &[&Package]) -> Result<()> {
    if !sources.exists() {
        return Ok(());
    }
    for registry in fs::read_dir(sources)? {
        let registry = registry?;
        // The name of a registry in a folder begins where others have the name of their server.
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in packages {
            let unpacked = registry.path().join(file_name(package));
            if unpacked.exists() {
                fs::remove_dir_all(&unpacked)
                    .with_context(|| format!("cannot remove {}", unpacked.display()))?;
            }
        }
    }
    Ok(())
}

/// Makes the packages, and builds each of them in the empty folder `target`. Cargo takes packages
/// for unchanged as long as their versions stay, so an earlier build must not be there.
fn pack(packages: &[&Package], target: &Path) -> Result<()> {
    // The step `release` checks that nothing has changed since the commit.
    let mut job = Job::cargo(&["package", "--allow-dirty", "--target-dir"]).arguments(&[target]);
    for package in packages {
        job = job.arguments(&["-p", &package.name]);
    }
    job.run()
}

/// Unpacks a package that was made in `target`, and checks its files. Returns the size of the
/// packed file in bytes.
fn unpack(package: &Package, target: &Path, folder: &Path) -> Result<u64> {
    let name = file_name(package);
    let packed = target.join("package").join(format!("{name}.crate"));
    Job::new("tar")
        .arguments(&["-xzf".as_ref(), packed.as_os_str()])
        .arguments(&["-C".as_ref(), folder.as_os_str()])
        .run()?;
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder.join(&name))? {
        let entry = entry?;
        // Links would lead to nothing on another machine.
        if entry.file_type()?.is_symlink() {
            bail!("{name} contains the link {}", entry.path().display());
        }
        found.insert(entry.file_name().to_string_lossy().into_owned());
    }
    check_files(&name, &found)?;
    Ok(fs::metadata(packed)?.len())
}

/// Fails if a file of a package is missing or not needed.
fn check_files(name: &str, found: &BTreeSet<String>) -> Result<()> {
    if let Some(missing) = NEEDED.iter().find(|file| !found.contains(**file)) {
        bail!("the package {name} does not contain {missing}");
    }
    let is_needed = |file: &str| file == "src" || FILES.contains(&file);
    if let Some(other) = found.iter().find(|file| !is_needed(file)) {
        bail!("the package {name} contains {other}: `include` in its Cargo.toml is too wide");
    }
    Ok(())
}

fn file_name(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// Writes a project outside of the repository, where no settings of the repository apply. Builds it
/// with the unpacked packages, and runs its programs. Returns the number of programs.
fn run_outside(workspace: &Workspace, packages: &[&Package], unpacked: &Path) -> Result<usize> {
    let readme = fs::read_to_string(workspace.root.join("README.md"))?;
    let programs = programs(&readme);
    check_shown(&programs)?;
    let project = Project::new()?;
    let manifest = manifest(packages, unpacked);
    fs::write(project.0.join("Cargo.toml"), manifest)?;
    // Use the versions of the workspace.
    fs::copy(
        workspace.root.join("Cargo.lock"),
        project.0.join("Cargo.lock"),
    )?;
    for (number, program) in programs.iter().enumerate() {
        fs::write(
            project.0.join(format!("src/bin/program-{number}.rs")),
            program,
        )?;
    }
    let built = Job::cargo(&["build"])
        .folder(&project.0)
        .environment("CARGO_TARGET_DIR", workspace.target.join("packages-target"))
        .build()?;
    let logs = workspace.log_folder()?;
    for program in &built {
        let log = logs.join(format!("{}.log", program.name));
        Job::new(&program.path).run_logged(&log)?;
        let output = fs::read_to_string(&log)?;
        if output.is_empty() {
            bail!("{} of the README has printed nothing", program.name);
        }
        println!("{}:\n{output}", program.name);
    }
    if built.len() != programs.len() {
        bail!("{} of {} programs were built", built.len(), programs.len());
    }
    Ok(built.len())
}

/// A folder outside of the repository, which is removed when the value is dropped.
struct Project(PathBuf);

impl Project {
    fn new() -> Result<Self> {
        let folder = env::temp_dir().join(format!("garrick-packages-{}", process::id()));
        fs::create_dir_all(folder.join("src/bin"))?;
        Ok(Self(folder))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // The folder is in a place for temporary files, so it may stay.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the manifest of a project that takes the packages from folders instead of the registry.
fn manifest(packages: &[&Package], unpacked: &Path) -> String {
    let facade = packages.iter().find(|package| package.name == FACADE);
    let needed = needed_by_facade(packages);
    let version = facade.map_or("*", |package| &package.version);
    let mut text = format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n\n[dependencies]\n\
         garrick = {{ version = \"{version}\", features = {FEATURES} }}\n\n[patch.crates-io]\n"
    );
    for package in packages
        .iter()
        .filter(|package| needed.contains(&*package.name))
    {
        let path = unpacked.join(file_name(package));
        text += &format!("{} = {{ path = {path:?} }}\n", package.name);
    }
    text
}

/// Returns the name of the facade, and the names of all packages on which it depends, directly or
/// indirectly.
fn needed_by_facade<'a>(packages: &[&'a Package]) -> BTreeSet<&'a str> {
    let mut needed = BTreeSet::new();
    let mut left = vec![FACADE];
    while let Some(name) = left.pop() {
        if let Some(package) = packages.iter().find(|package| package.name == name)
            && needed.insert(&*package.name)
        {
            left.extend(package.dependencies.iter().map(String::as_str));
        }
    }
    needed
}

/// Returns the programs in a text: the blocks of Rust with a function `main`.
fn programs(text: &str) -> Vec<&str> {
    let blocks = text.split("\n```rust\n").skip(1);
    blocks
        .filter_map(|rest| Some(rest.split_once("\n```")?.0))
        .filter(|block| block.contains("fn main("))
        .collect()
}

/// Fails unless the programs show all of [`SHOWN`].
fn check_shown(programs: &[&str]) -> Result<()> {
    for (what, text) in SHOWN {
        if !programs.iter().any(|program| program.contains(text)) {
            bail!("no program of the README has {what}: none contains `{text}`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_a_text_are_its_blocks_with_main() {
        let text = "a\n```rust\nfn main() {}\n```\n```sh\nls\n```\n```rust\nlet a = 1;\n```\n";
        assert_eq!(programs(text), ["fn main() {}"]);
    }

    #[test]
    fn the_readme_shows_an_actor_a_supervisor_and_a_pipeline() {
        let workspace = Workspace::load().unwrap();
        let readme = fs::read_to_string(workspace.root.join("README.md")).unwrap();
        check_shown(&programs(&readme)).unwrap();
        let error = check_shown(&["fn main() {}"]).unwrap_err().to_string();
        assert!(error.contains("an actor"), "{error}");
    }

    #[test]
    fn files_that_are_missing_or_not_needed_are_named() {
        let files = |more: &[&str]| {
            let all = NEEDED.iter().chain(&["src"]).chain(more);
            all.map(ToString::to_string).collect::<BTreeSet<_>>()
        };
        check_files("a", &files(&["build.rs"])).unwrap();
        let other = check_files("a", &files(&["tests"]))
            .unwrap_err()
            .to_string();
        assert!(other.contains("contains tests"), "{other}");
        let mut few = files(&[]);
        few.remove("README.md");
        let missing = check_files("a", &few).unwrap_err().to_string();
        assert!(missing.contains("does not contain README.md"), "{missing}");
    }

    #[test]
    fn only_own_packages_of_registries_in_folders_are_forgotten() {
        let package = Package {
            name: "parts".to_owned(),
            version: "0.1.0".to_owned(),
            ..Package::default()
        };
        let sources = env::temp_dir().join(format!("garrick-unpacked-{}", process::id()));
        let paths = ["-1f/parts-0.1.0", "-1f/others-0.1.0", "host-1f/parts-0.1.0"];
        let paths = paths.map(|path| sources.join(path));
        for path in &paths {
            fs::create_dir_all(path).unwrap();
        }
        forget_unpacked(&sources, &[&package]).unwrap();
        assert_eq!(paths.map(|path| path.exists()), [false, true, true]);
        fs::remove_dir_all(&sources).unwrap();
        forget_unpacked(&sources, &[&package]).unwrap();
    }

    #[test]
    fn the_project_takes_all_packages_from_folders() {
        let workspace = Workspace::load().unwrap();
        let text = manifest(&workspace.public(), Path::new("/unpacked"));
        assert!(text.contains("garrick-core = { path = \"/unpacked/garrick-core-"));
        // Cargo warns about what the project does not need.
        for other in ["garrick-testkit", "garrick-measure", "garrick-cli"] {
            assert!(!text.contains(other), "{text}");
        }
    }
}
