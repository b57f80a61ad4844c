//! Builds the programs that contain the mutants, and selects the models and tests with which a
//! mutant is run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use cargo_metadata::TargetKind;

use super::copied::VARIABLE;
use super::plan::{Mutant, PACKAGES, short};
use crate::process::{Executable, Job};

/// Name that stands for the unit tests of a crate.
const UNIT: &str = "lib";

/// Models that run the code of a part, in addition to the models in its own module. An entry
/// consists of the part, and of the package and the module of the models.
const REACHED_BY: &[(&str, &str, &str)] = &[
    ("core/fence", "garrick-steal", "deque"),
    ("core/fence", "garrick-steal", "steal"),
    ("core/park", "garrick-steal", "queue"),
    ("core/park", "garrick-steal", "steal"),
    ("steal/deque", "garrick-steal", "steal"),
];

/// Modules whose models use a whole crate. Every mutant of the crate is run with them.
const OF_THE_CRATE: &[&str] = &["loom_tests", "models"];

/// Tests that should notice a missing fence of `garrick-sched` on a processor that reorders
/// accesses.
const FENCE_TESTS: &[&str] = &["stress", "sponsors", "idle", "asks"];

/// A run of a program that should kill a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Trial {
    /// Name in tables.
    pub(super) name: String,
    /// True for a model, false for a test.
    pub(super) is_model: bool,
    /// True if the trial is a model or test of the mutant's module.
    pub(super) is_own: bool,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Trial {
    /// Returns the job that runs the program with this mutant. 0 stands for no mutant.
    pub(super) fn job(&self, mutant: usize, preemptions: u32, limit: Duration) -> Job {
        Job::new(&self.program)
            .arguments(&self.arguments)
            .environment(VARIABLE, mutant.to_string())
            .environment("LOOM_MAX_PREEMPTIONS", preemptions.to_string())
            .environment("GARRICK_LONG_MODELS", "1")
            .environment("RUST_BACKTRACE", "0")
            .limit(limit)
    }
}

/// The built programs, by their packages.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Models of each package: the program and the paths of the models.
    models: HashMap<&'static str, (PathBuf, Vec<String>)>,
    /// Test programs.
    tests: HashMap<(&'static str, String), PathBuf>,
    /// Paths of unit tests.
    units: HashMap<&'static str, Vec<String>>,
}

impl Programs {
    /// Builds the programs that `mutants` need, from the workspace at `src`, in the same way as
    /// `cargo xtask loom` and `cargo test`.
    pub(super) fn build(folder: &Path, src: &Path, mutants: &[&Mutant]) -> Result<Self> {
        let mut programs = Self::default();
        let is_mutated = |package: &str| mutants.iter().any(|mutant| mutant.package == package);
        let has_models = |package: &str| {
            let mut reaching = mutants.iter().map(|mutant| mutant.part());
            is_mutated(package) || reaching.any(|part| reaches(package, &part))
        };
        let manifest = src.join("Cargo.toml");
        let cargo = |arguments: &[&str], target: &str, is_needed: &dyn Fn(&str) -> bool| {
            let mut job = Job::cargo(&["test", "--no-run", "--manifest-path"])
                .arguments(&[&manifest])
                .arguments(arguments)
                .environment("CARGO_TARGET_DIR", folder.join(target));
            for package in PACKAGES.iter().filter(|package| is_needed(package)) {
                job = job.arguments(&["-p", package]);
            }
            job
        };
        let loom = cargo(&["--lib"], "loom", &has_models)
            .models()
            // The mutants leave some code unused, so warnings are disabled.
            .environment("RUSTFLAGS", "--cfg garrick_loom --cap-lints allow");
        for program in loom.build()? {
            let paths = list(&program.path)?;
            programs
                .models
                .insert(package_of(&program)?, (program.path, paths));
        }
        if mutants.iter().all(|mutant| tests_of(mutant).is_empty()) {
            return Ok(programs);
        }
        let plain =
            cargo(&["--tests"], "tests", &is_mutated).environment("RUSTFLAGS", "--cap-lints allow");
        for program in plain.build()? {
            let package = package_of(&program)?;
            let mut name = program.name;
            if program.kind.contains(&TargetKind::Lib) {
                programs.units.insert(package, list(&program.path)?);
                name = UNIT.to_owned();
            }
            programs.tests.insert((package, name), program.path);
        }
        Ok(programs)
    }

    /// Returns the models with which a mutant is run.
    pub(super) fn models(&self, mutant: &Mutant) -> Vec<Trial> {
        let part = mutant.part();
        let own = format!("{}::", mutant.module());
        let mut trials = Vec::new();
        for package in PACKAGES {
            let Some((program, paths)) = self.models.get(package) else {
                continue;
            };
            let mut driving = paths.clone();
            driving.retain(|path| path.contains("loom") && drives(package, path, &part));
            trials.extend(driving.into_iter().map(|path| Trial {
                name: path.replace("loom_tests::", ""),
                is_model: true,
                is_own: *package == mutant.package && path.starts_with(&own),
                program: program.clone(),
                arguments: vec!["--exact".to_owned(), path],
            }));
        }
        trials
    }

    /// Returns the tests with which a mutant is run.
    pub(super) fn tests(&self, mutant: &Mutant) -> Result<Vec<Trial>> {
        let mut trials = Vec::new();
        for shown in tests_of(mutant) {
            let (name, test) = shown
                .split_once("::")
                .map_or((*shown, None), |(name, test)| (name, Some(test.to_owned())));
            let program = self.tests.get(&(mutant.package, name.to_owned()));
            let program = program.with_context(|| format!("there is no test program `{name}`"))?;
            let mut arguments = Vec::from_iter(test);
            let mut shown = (*shown).to_owned();
            if name == UNIT {
                let module = format!("{}::", mutant.module());
                let mut units = self.units.get(mutant.package).into_iter().flatten();
                if !units.any(|path| path.starts_with(&module)) {
                    continue;
                }
                shown = format!("unit tests of {}", mutant.module());
                arguments.push(module);
            }
            trials.push(Trial {
                name: shown,
                is_model: false,
                is_own: true,
                program: program.clone(),
                arguments,
            });
        }
        Ok(trials)
    }
}

/// Returns the names of the test programs with which a mutant is run.
fn tests_of(mutant: &Mutant) -> &'static [&'static str] {
    match mutant.logic {
        Some(logic) => logic.tests,
        None if mutant.is_no_fence && mutant.package == "garrick-sched" => FENCE_TESTS,
        None => &[],
    }
}

/// Returns true if the model at `path` in `package` may notice a mutant of `part`.
fn drives(package: &str, path: &str, part: &str) -> bool {
    let driven = path.split("::").next().unwrap_or_default();
    let (owner, module) = part.split_once('/').unwrap_or_default();
    let is_own = short(package) == owner && (driven == module || OF_THE_CRATE.contains(&driven));
    is_own || REACHED_BY.contains(&(part, package, driven))
}

/// Returns true if `package` has models that run the code of `part`.
fn reaches(package: &str, part: &str) -> bool {
    let mut reached = REACHED_BY.iter();
    reached.any(|(reached, by, _)| (*reached, *by) == (part, package))
}

/// Returns the package of a program.
fn package_of(program: &Executable) -> Result<&'static str> {
    let is_its = |package: &&&str| program.folder.ends_with(package);
    let package = PACKAGES.iter().find(is_its);
    package
        .copied()
        .with_context(|| format!("no package has a program `{}`", program.name))
}

/// Returns the paths of the tests in a program.
fn list(program: &Path) -> Result<Vec<String>> {
    let listed = Job::new(program)
        .arguments(&["--list", "--format", "terse"])
        .watch()?;
    let lines = listed.output.lines();
    let paths = lines.filter_map(|line| line.strip_suffix(": test"));
    Ok(paths.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHED: &str = "garrick-sched";
    const STEAL: &str = "garrick-steal";

    #[test]
    fn a_module_is_driven_by_its_own_models_and_by_those_that_reach_it() {
        assert!(drives("garrick-core", "ring::loom_tests::a", "core/ring"));
        assert!(!drives("garrick-core", "ring::loom_tests::a", "core/gate"));
        assert!(drives(STEAL, "steal::loom_tests::a", "steal/deque"));
    }

    #[test]
    fn a_module_is_driven_by_models_of_a_crate_above_that_reach_it() {
        assert!(drives(STEAL, "deque::loom_tests::a", "core/fence"));
        assert!(!drives(STEAL, "deque::loom_tests::a", "core/park"));
        assert!(reaches(STEAL, "core/park"));
        assert!(!reaches(STEAL, "core/ring"));
        assert!(!drives(SCHED, "gate::loom_tests::a", "core/gate"));
    }

    #[test]
    fn the_models_of_a_crate_drive_all_of_it() {
        assert!(drives(SCHED, "loom_tests::cells::a", "sched/room"));
        assert!(!drives(SCHED, "loom_tests::cells::a", "core/ring"));
        assert!(!drives(SCHED, "reply::loom_tests::a", "sched/room"));
    }
}
