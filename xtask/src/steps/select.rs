//! Builds of selected programs.
//!
//! The packages in a command of cargo decide which features a library gets, and cargo builds a
//! library again for each set of features. So several steps of `ci` build their programs for the
//! same packages, with the same features: then they share all libraries.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::FEATURES;
use crate::process::{Executable, Job};
use crate::tidy;
use crate::workspace::{Kind, Package, Target, Workspace};

/// Call by which a test program gets the number of seeds of its simulations.
const SEEDS: &str = "seeds(\"GARRICK_";

/// Test programs that search so many orders of events that they belong to the programs with
/// simulations, each with its package. They have no variable for the number of seeds.
const SEARCHES: &[(&str, &str)] = &[("garrick-sim", "planted"), ("garrick-sim", "raft")];

/// Test programs that the checks do not build, because they need a feature that is not in
/// [`FEATURES`]. The step `journal` runs the only one.
const OF_OTHER_STEPS: &[(&str, &str)] = &[("garrick-journal", "synced")];

/// A target with its package.
pub(super) type Selected<'a> = (&'a Package, &'a Target);

/// Returns a command of cargo for all members except this program, with the features of the checks.
pub(super) fn of_members(command: &str) -> Job {
    Job::cargo(&[command, "--workspace", "--exclude", env!("CARGO_PKG_NAME")]).arguments(FEATURES)
}

/// Returns the command [`of_members`] that builds the programs of the step `test`: the unit tests,
/// and all test programs except those with simulations. With `--tests`, cargo would also build the
/// simulations, which have their own step.
pub(super) fn without_simulations(workspace: &Workspace, simulated: &[Selected<'_>]) -> Job {
    let is_left_out = |(package, target): &Selected<'_>| {
        let name = (&*package.name, &*target.name);
        simulated.iter().any(|(p, t)| (&*p.name, &*t.name) == name)
            || OF_OTHER_STEPS.contains(&name)
            || package.name == env!("CARGO_PKG_NAME")
    };
    let programs = workspace.targets(Kind::Test);
    let programs = programs.filter(|selected| !is_left_out(selected));
    let names: BTreeSet<&str> = programs.map(|(_, target)| &*target.name).collect();
    let job = of_members("test").arguments(&["--lib", "--bins"]);
    let add = |job: Job, name| job.arguments(&["--test", name]);
    names.into_iter().fold(job, add).arguments(&["--no-run"])
}

/// Returns the programs with simulations: those of clusters and journals, and the [`SEARCHES`].
pub(super) fn simulated(workspace: &Workspace) -> Result<Vec<Selected<'_>>> {
    let mut programs = tidy::targets_that_mention(workspace, &[Kind::Lib, Kind::Test], SEEDS);
    if let Some((package, _)) = programs.iter().find(|(_, of)| of.kind == Kind::Lib) {
        bail!(
            "a unit test of {} calls `{SEEDS}..`: only programs in folders `tests` can",
            package.name
        );
    }
    if programs.is_empty() {
        bail!("no test program calls `{SEEDS}..`");
    }
    let is_search = |(package, target): &Selected<'_>| {
        SEARCHES.contains(&(package.name.as_str(), target.name.as_str()))
    };
    let searches: Vec<_> = workspace.targets(Kind::Test).filter(is_search).collect();
    if searches.len() != SEARCHES.len() {
        bail!("a test program in the list `SEARCHES` does not exist");
    }
    programs.extend(searches);
    Ok(programs)
}

/// Removes the programs with simulations, which have their own step.
pub(super) fn without_simulated(simulated: &[Selected<'_>], programs: &mut Vec<Executable>) {
    programs.retain(|program| !simulated.iter().any(|one| is_test_of(program, one)));
}

/// Returns the command `job` for the packages of `targets`.
pub(super) fn of_packages(job: Job, targets: &[Selected<'_>]) -> Job {
    let packages: BTreeSet<&str> = targets.iter().map(|(package, _)| &*package.name).collect();
    packages
        .into_iter()
        .fold(job, |job, package| job.arguments(&["-p", package]))
}

/// Builds the tests of `targets` by `job`, a command `cargo test` for their packages, or for all
/// members. Returns the test programs.
///
/// # Errors
/// Returns an error if the build fails, or a target has no test program.
pub(super) fn build_tests(job: Job, targets: &[Selected<'_>]) -> Result<Vec<Executable>> {
    let flags: BTreeSet<Vec<&str>> = targets.iter().map(|(_, target)| flags(target)).collect();
    let job = flags.iter().fold(job, |job, flags| job.arguments(flags));
    let mut programs = job.arguments(&["--no-run"]).build()?;
    // Other packages may have targets with the same names.
    programs.retain(|program| targets.iter().any(|selected| is_test_of(program, selected)));
    let is_built = |selected| programs.iter().any(|program| is_test_of(program, selected));
    if let Some((package, target)) = targets.iter().find(|selected| !is_built(selected)) {
        bail!("{} of {} was not built", target.name, package.name);
    }
    Ok(programs)
}

/// Returns the arguments by which cargo selects a target.
fn flags(target: &Target) -> Vec<&str> {
    match target.kind {
        Kind::Lib => vec!["--lib"],
        Kind::Bin => vec!["--bin", &target.name],
        Kind::Test => vec!["--test", &target.name],
        Kind::Example => vec!["--example", &target.name],
        Kind::Bench => vec!["--bench", &target.name],
        Kind::Build => Vec::new(),
    }
}

/// Returns true if `program` contains the tests of the target.
fn is_test_of(program: &Executable, (package, target): &Selected<'_>) -> bool {
    program.is_test
        && program.package == package.name
        && program.name == target.name
        && Kind::from_metadata(&program.kind) == target.kind
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cargo_metadata::TargetKind;

    use super::*;

    #[test]
    fn programs_with_simulations_are_built_only_for_their_own_step() {
        let workspace = Workspace::load().unwrap();
        let simulated = simulated(&workspace).unwrap();
        let command = without_simulations(&workspace, &simulated).to_string();
        let names = |(package, target): &Selected<'_>| format!("{} {}", package.name, target.name);
        let simulated: Vec<String> = simulated.iter().map(names).collect();
        for name in [
            "garrick-cluster entities",
            "garrick-cluster trials",
            "garrick-journal crashes",
            "garrick-sim raft",
        ] {
            assert!(simulated.iter().any(|one| one == name), "{simulated:?}");
        }
        for name in ["entities", "crashes", "raft"] {
            assert!(!command.contains(&format!("--test {name} ")), "{command}");
        }
        assert!(command.contains("--test mixed "), "{command}");
        let all: Vec<String> = workspace.targets(Kind::Test).map(|s| names(&s)).collect();
        for (package, target) in OF_OTHER_STEPS {
            assert!(all.contains(&format!("{package} {target}")), "{target}");
        }
    }

    #[test]
    fn only_the_tests_of_a_target_are_selected() {
        let package = Package {
            name: "parts".to_owned(),
            ..Package::default()
        };
        let target = Target {
            name: "chaos".to_owned(),
            kind: Kind::Test,
            path: PathBuf::new(),
        };
        assert_eq!(flags(&target), ["--test", "chaos"]);
        let selected = (&package, &target);
        let program = Executable {
            name: "chaos".to_owned(),
            package: "parts".to_owned(),
            folder: PathBuf::new(),
            kind: vec![TargetKind::Test],
            is_test: true,
            path: PathBuf::new(),
        };
        assert!(is_test_of(&program, &selected));
        for other in [
            Executable {
                package: "others".to_owned(),
                ..program.clone()
            },
            Executable {
                kind: vec![TargetKind::Bin],
                ..program.clone()
            },
            Executable {
                is_test: false,
                ..program.clone()
            },
        ] {
            assert!(!is_test_of(&other, &selected), "{other:?}");
        }
    }
}
