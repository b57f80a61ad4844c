//! Steps that run tests.

use anyhow::{Result, bail};

use crate::process::Job;
use crate::tidy;
use crate::workspace::Workspace;

/// The part of a test's path that makes it a stress test.
const STRESS: &str = "stress";

/// The programs, which take long to build and have no stress tests.
const NOT_STRESSED: &[&str] = &["--exclude", "xtask", "--exclude", "garrick-bench"];

/// The part of a test's path that makes it a loom test.
const LOOM: &str = "loom";

/// Loom explores every schedule with at most this many preemptions, unless the environment says
/// otherwise. Without a bound, models of three threads do not end in reasonable time.
const LOOM_PREEMPTIONS_MAX: &str = "3";

/// The only target whose sanitizer runtime the toolchain brings along.
const SANITIZED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Unit tests and scenarios, with overflow checks and debug assertions.
pub(super) fn test(_: &Workspace) -> Result<String> {
    let workspace = Job::cargo(&["test", "--workspace", "--exclude", "xtask", "--tests"]);
    // The profile in which `cargo xtask` has just built itself: nothing is compiled twice.
    let own = Job::cargo(&["test", "--package", "xtask", "--profile", "dev"]);
    let passed = workspace.run_tests()? + own.run_tests()?;
    Ok(format!("{passed} tests"))
}

/// The examples in the documentation.
pub(super) fn doctest(_: &Workspace) -> Result<String> {
    counted(&Job::cargo(&["test", "--workspace", "--doc"]))
}

/// The stress tests once more, optimized: the compiler then reorders what the code lets it.
pub(super) fn stress(_: &Workspace) -> Result<String> {
    let job = Job::cargo(&["test", "--release", "--tests", STRESS, "--workspace"])
        .arguments(NOT_STRESSED)
        .without_lto();
    counted(&job)
}

/// The models of every crate that has any.
pub(super) fn loom(workspace: &Workspace) -> Result<String> {
    let mut passed = Vec::new();
    for package in tidy::packages_with_loom_tests(workspace) {
        let tests = Job::cargo(&["test", "--release", "--lib", "-p", &package.name, LOOM])
            .without_lto()
            // Invariants stated by debug assertions are part of what a model checks.
            .environment("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
            .environment("CARGO_TARGET_DIR", workspace.target.join("loom"))
            .environment("RUSTFLAGS", "--cfg garrick_loom")
            .default_environment("LOOM_MAX_PREEMPTIONS", LOOM_PREEMPTIONS_MAX)
            .run_tests()?;
        if tests == 0 {
            bail!(
                "`{}` has loom tests, yet none ran: `{LOOM}` must be part of their module's name",
                package.name
            );
        }
        passed.push(format!("{} {tests}", package.name));
    }
    Ok(match passed.as_slice() {
        [] => "no loom tests yet".to_owned(),
        passed => format!("tests: {}", passed.join(", ")),
    })
}

/// The stress tests under AddressSanitizer and LeakSanitizer.
pub(super) fn sanitize(workspace: &Workspace) -> Result<String> {
    let job = Job::cargo(&["test", "--tests", STRESS, "--workspace"])
        .arguments(NOT_STRESSED)
        .arguments(&["--target", SANITIZED_TARGET])
        .environment("CARGO_TARGET_DIR", workspace.target.join("sanitize"))
        // The flag is unstable; the stable compiler has it all the same.
        .environment("RUSTC_BOOTSTRAP", "1")
        .environment(
            "RUSTFLAGS",
            "-Zsanitizer=address -Cforce-frame-pointers=yes",
        )
        .environment("ASAN_OPTIONS", "detect_leaks=1");
    counted(&job)
}

fn counted(job: &Job) -> Result<String> {
    let passed = job.run_tests()?;
    Ok(format!("{passed} tests"))
}
