//! Steps that run tests.

use anyhow::{Result, bail};

use super::FEATURES;
use crate::process::Job;
use crate::tidy;
use crate::tools;
use crate::workspace::{Kind, Workspace};

/// Part of a test's path that makes it a stress test.
const STRESS: &str = "stress";

/// Part of a test's path that makes it a loom test.
const LOOM: &str = "loom";

/// Maximum number of preemptions in every schedule that loom explores, unless the environment sets
/// another one. Without a bound, models of three threads do not end in reasonable time.
const LOOM_PREEMPTIONS_MAX: &str = "3";

/// Only target whose sanitizer runtime comes with the toolchain.
const SANITIZED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Environment variable that makes a missing tool a failure of a test.
const TOOLS_VARIABLE: &str = "GARRICK_TOOLS";

/// Installs the missing outside tools that tests call.
pub(super) fn tools(_: &Workspace) -> Result<String> {
    tools::install_missing(tools::FOR_TESTS)
}

/// Runs unit tests and scenarios, with overflow checks and debug assertions.
pub(super) fn test(_: &Workspace) -> Result<String> {
    tools::install_missing(tools::FOR_TESTS)?;
    // Run all tests, even after one has failed, so that one call shows all failures.
    let workspace = Job::cargo(&["test", "--workspace", "--exclude", "xtask", "--tests"])
        .arguments(FEATURES)
        .arguments(&["--no-fail-fast"])
        .environment(TOOLS_VARIABLE, "1");
    // Tests behind features that no member of the workspace enables.
    let optional = Job::cargo(&["test", "-p", "garrick-actor", "-p", "garrick-telemetry"])
        .arguments(&["--all-features", "--test", "spans", "--test", "exports"]);
    // Use the profile in which `cargo xtask` has just built itself, so that nothing is compiled
    // twice.
    let own = Job::cargo(&["test", "--package", "xtask", "--profile", "dev"]);
    let passed = [
        workspace.run_tests()?,
        optional.run_tests()?,
        own.run_tests()?,
    ]
    .concat();
    Ok(format!("{} tests", passed.iter().sum::<usize>()))
}

/// Runs the examples in the documentation.
pub(super) fn doctest(_: &Workspace) -> Result<String> {
    counted(&Job::cargo(&["test", "--workspace", "--doc"]))
}

/// Runs the stress tests once more, optimized, so that the compiler reorders as much as the code
/// allows.
pub(super) fn stress(workspace: &Workspace) -> Result<String> {
    counted(&stress_job(workspace, Job::cargo(&["test"]).optimized())?)
}

/// Makes `job` run the stress tests, and build no test program without any.
fn stress_job(workspace: &Workspace, mut job: Job) -> Result<Job> {
    let targets = tidy::targets_that_mention(workspace, STRESS);
    if targets.is_empty() {
        bail!("no stress tests: `{STRESS}` must be part of their name, or of their module's");
    }
    // Cargo takes the flag once, for the libraries of all packages.
    if targets.iter().any(|(_, target)| target.kind == Kind::Lib) {
        job = job.arguments(&["--lib"]);
    }
    for (package, target) in targets {
        job = job.arguments(&["-p", &package.name]);
        if target.kind == Kind::Test {
            job = job.arguments(&["--test", &target.name]);
        }
    }
    Ok(job.arguments(&[STRESS]))
}

/// Runs the models of every crate that has any. One call for all crates, so that cargo builds loom
/// once.
pub(super) fn loom(workspace: &Workspace) -> Result<String> {
    let packages = tidy::packages_with_loom_tests(workspace);
    if packages.is_empty() {
        return Ok("no loom tests yet".to_owned());
    }
    let mut job = Job::cargo(&["test", "--lib", LOOM]).optimized();
    for package in &packages {
        job = job.arguments(&["-p", &package.name]);
    }
    let passed = job
        // Invariants stated by debug assertions are part of what a model checks.
        .environment("CARGO_PROFILE_CI_DEBUG_ASSERTIONS", "true")
        .environment("CARGO_TARGET_DIR", workspace.target.join("loom"))
        .environment("RUSTFLAGS", "--cfg garrick_loom")
        .default_environment("LOOM_MAX_PREEMPTIONS", LOOM_PREEMPTIONS_MAX)
        .run_tests()?;
    check_each_ran(&passed, packages.len())?;
    let tests: usize = passed.iter().sum();
    Ok(format!("{tests} tests in {} crates", packages.len()))
}

/// Fails unless each of `crates` test programs ran a test.
fn check_each_ran(passed: &[usize], crates: usize) -> Result<()> {
    if passed.len() == crates && !passed.contains(&0) {
        return Ok(());
    }
    bail!(
        "a crate has loom tests, yet ran none (see `running 0 tests` above): \
         `{LOOM}` must be part of their module's name"
    )
}

/// Runs the stress tests under AddressSanitizer and LeakSanitizer.
pub(super) fn sanitize(workspace: &Workspace) -> Result<String> {
    let test = Job::cargo(&["test", "--target", SANITIZED_TARGET]);
    let job = stress_job(workspace, test)?
        .environment("CARGO_TARGET_DIR", workspace.target.join("sanitize"))
        // The flag is unstable, but this variable enables it in the stable compiler.
        .environment("RUSTC_BOOTSTRAP", "1")
        .environment(
            "RUSTFLAGS",
            // Without a pool, each use of a freed block is found.
            "-Zsanitizer=address -Cforce-frame-pointers=yes --cfg garrick_no_pool",
        )
        .environment("ASAN_OPTIONS", "detect_leaks=1");
    counted(&job)
}

fn counted(job: &Job) -> Result<String> {
    let passed: usize = job.run_tests()?.iter().sum();
    Ok(format!("{passed} tests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_with_models_must_run_some() {
        assert!(check_each_ran(&[3, 1], 2).is_ok());
        assert!(check_each_ran(&[3, 0], 2).is_err());
        assert!(check_each_ran(&[3], 2).is_err());
    }
}
