//! The steps of `ci --quick`, for the time between two edits.

use std::path::Path;

use anyhow::Result;

use super::{verify, wire};
use crate::process::Job;
use crate::workspace::{Kind, Package, Workspace};

/// Packages whose unit tests always run: the runtime.
const ALWAYS: &[&str] = &[
    "garrick-actor",
    "garrick-core",
    "garrick-flow",
    "garrick-sched",
    "garrick-steal",
];

/// Packages that take long to build, and that no other package uses.
const LEFT_OUT: &[&str] = &["garrick-examples", "garrick-rivals", "garrick-tests"];

/// Text about the checks that `ci` runs, but `ci --quick` omits.
pub(crate) const OMITTED: &str = "Not run: clippy of tests, of optional features, and of \
    garrick-rivals and the examples; tests in folders `tests`; unit tests of other unchanged \
    packages; stress tests; simulations with many seeds; models; fallbacks for other systems; doc \
    tests; rustdoc; examples; benchmarks; lock files of messages. `cargo xtask ci` runs them.";

/// Runs clippy on libraries and programs, with warnings denied.
pub(super) fn lint(_: &Workspace) -> Result<String> {
    let mut job = Job::cargo(&["clippy", "--workspace", "--lib", "--bins"]);
    for package in LEFT_OUT {
        job = job.arguments(&["--exclude", package]);
    }
    job.arguments(&["--", "-D", "warnings"]).run()?;
    Ok(String::new())
}

/// Runs the unit tests of the runtime, and of the packages that differ from the main branch, except
/// for the stress tests.
pub(super) fn units(workspace: &Workspace) -> Result<String> {
    let changed = wire::changed_files()?;
    let names = chosen(&workspace.packages, &changed);
    let mut job = Job::cargo(&["test", "--lib"]);
    for name in &names {
        job = job.arguments(&["-p", name]);
    }
    let tests = verify::counted(&[job.arguments(&["--", "--skip", "stress"])])?;
    Ok(format!("{tests} of {}", names.join(", ")))
}

/// Returns the names of the packages whose unit tests run.
fn chosen<'a>(packages: &'a [Package], changed: &[String]) -> Vec<&'a str> {
    let is_changed = |package: &Package| {
        let has_library = package
            .targets
            .iter()
            .any(|target| target.kind == Kind::Lib);
        let mut files = changed.iter();
        has_library && files.any(|file| Path::new(file).starts_with(&package.dir))
    };
    packages
        .iter()
        .filter(|package| ALWAYS.contains(&&*package.name) || is_changed(package))
        .map(|package| &*package.name)
        .filter(|name| !LEFT_OUT.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_and_what_has_changed_is_tested() {
        let workspace = Workspace::load().unwrap();
        let chosen = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            chosen(&workspace.packages, &files).len()
        };
        let usual = ALWAYS.len();
        assert_eq!(chosen(&[]), usual);
        assert_eq!(chosen(&["crates/garrick-wire/src/lib.rs"]), usual + 1);
        assert_eq!(
            chosen(&["crates/garrick-core/src/lib.rs", "README.md"]),
            usual
        );
        // The facade is not meant by the folders of other crates.
        assert_eq!(chosen(&["crates/garrick/src/lib.rs"]), usual + 1);
        // Without a library, and left out.
        assert_eq!(chosen(&["xtask/src/main.rs", "examples/src/lib.rs"]), usual);
    }
}
