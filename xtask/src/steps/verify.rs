//! Steps that run tests.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::select::{
    Selected, build_tests, of_members, of_packages, simulated, without_simulated,
    without_simulations,
};
use crate::parallel;
use crate::process::Job;
use crate::tidy;
use crate::tools;
use crate::workspace::{Kind, Workspace};

/// Word that marks a test as a stress test if it is part of the test's path.
const STRESS: &str = "stress";

/// Word that marks a test as a loom test if it is part of the test's path.
const LOOM: &str = "loom";

/// Default for the maximum number of preemptions in a schedule that loom explores. The environment
/// can set another number. Without a bound, models with three threads do not end in reasonable
/// time.
const LOOM_PREEMPTIONS_MAX: &str = "3";

/// Number of seeds with which the step `sim` runs each correct program.
const SIM_RIGHT: &str = "100000";

/// Number of seeds with which the step `sim` runs the program that uses all features.
const SIM_MIXED: &str = "10000";

/// Number of seeds with which the step `journal` runs each simulated program. Each run has several
/// crashes.
const JOURNAL_SEEDS: &str = "50000";

/// Number of seeds with which the step `cluster` runs each simulated program.
const CLUSTER_SEEDS: &str = "1000";

/// Number of seconds for which processes are killed and stopped in the step `cluster`.
const CLUSTER_SECONDS: &str = "60";

/// Time limit for the build of `garrick cluster soak`, and for its start and end.
const SOAK_BUILT_WITHIN: Duration = Duration::from_secs(30 * 60);

/// Time limit of a program with stress tests, simulations or models. Environment variables can
/// request more seeds, more preemptions, or a longer time, than usual.
const LIMIT_OF_SEEDS: Duration = Duration::from_secs(45 * 60);

/// Time limit of the step `journal`, which kills processes many times. Each kill waits for the
/// disk.
const LIMIT_OF_KILLS: Duration = Duration::from_secs(90 * 60);

/// Number of times that the processes of each test are killed in the step `journal`.
const JOURNAL_KILLS: &str = "10000";

/// The only target whose sanitizer runtime is part of the toolchain.
const SANITIZED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Environment variable that makes a test fail if a tool is missing.
pub(super) const TOOLS_VARIABLE: &str = "GARRICK_TOOLS";

/// Screenshots that the dashboard's tests take, each with its name in `docs/images`.
const PICTURES: &[(&str, &str)] = &[
    ("scale-45-1440.png", "dashboard.png"),
    ("scale-sheet.png", "dashboard-phone.png"),
    ("operations-long-handler.png", "operations-long-handler.png"),
    ("operations-crash-loop.png", "operations-crash-loop.png"),
    (
        "operations-growing-mailbox.png",
        "operations-growing-mailbox.png",
    ),
    ("operations-full-channel.png", "operations-full-channel.png"),
];

/// Installs the external tools that tests and the step `docs` call, if they are missing.
pub(super) fn tools(workspace: &Workspace) -> Result<String> {
    let for_tests = tools_for_tests(workspace)?;
    tools::install_mdbook(&workspace.target)?;
    Ok(format!("{for_tests}, mdBook"))
}

/// Installs the external tools that tests call, if they are missing.
pub(super) fn tools_for_tests(workspace: &Workspace) -> Result<String> {
    let installed = tools::install_missing(tools::FOR_TESTS)?;
    let axe = tools::install_axe(&workspace.target)?;
    let nats = tools::install_nats(&workspace.target)?;
    Ok(format!("{installed}, {axe}, {nats}"))
}

/// Environment variable that makes an unoptimized test run all its seeds: see `seeds` of
/// `garrick-testkit`.
const ALL_SEEDS: &str = "GARRICK_ALL_SEEDS";

/// Runs unit tests and scenarios, with overflow checks and debug assertions. Does not run the
/// programs with simulations, which have their own step.
pub(super) fn test(workspace: &Workspace) -> Result<String> {
    tools_for_tests(workspace)?;
    let simulated = simulated(workspace)?;
    let members = without_simulations(workspace, &simulated);
    // Use the profile in which `cargo xtask` has just built itself, so that nothing is compiled
    // twice.
    let own = Job::cargo(&["test", "--package", "xtask", "--profile", "dev", "--no-run"]);
    let mut programs = [members.build()?, own.build()?].concat();
    programs.retain(|program| program.is_test);
    // Another package may have a test program of the same name, which cargo builds by this name.
    without_simulated(&simulated, &mut programs);
    let passed = parallel::run_tests(&programs, |job| job.environment(TOOLS_VARIABLE, "1"))?;
    Ok(summary(&passed))
}

/// Returns a text with the numbers of tests and test programs.
fn summary(passed: &[usize]) -> String {
    let tests: usize = passed.iter().sum();
    format!("{tests} tests in {} programs", passed.len())
}

/// Tests the dashboard in a browser, and copies the screenshots of these tests to `docs/images`.
pub(super) fn pictures(workspace: &Workspace) -> Result<String> {
    tools_for_tests(workspace)?;
    Job::cargo(&["test", "-p", "garrick-tests", "--test", "dashboard"])
        .environment(TOOLS_VARIABLE, "1")
        .run()?;
    let (from, to) = (
        workspace.target.join("screenshots"),
        workspace.root.join("docs/images"),
    );
    for (screenshot, picture) in PICTURES {
        let from = from.join(screenshot);
        fs::copy(&from, to.join(picture))
            .with_context(|| format!("no screenshot {}", from.display()))?;
    }
    Ok(format!("{} pictures in {}", PICTURES.len(), to.display()))
}

/// Runs the examples in the documentation.
pub(super) fn doctest(_: &Workspace) -> Result<String> {
    // With the features of the step `test`, so that no library is built again.
    counted(&[of_members("test").arguments(&["--doc"])])
}

/// Runs the stress tests again with optimization, so that the compiler reorders as much as the code
/// allows.
pub(super) fn stress(workspace: &Workspace) -> Result<String> {
    run_stress(workspace, || Job::cargo(&["test"]).released(), |job| job)
}

/// Builds the stress tests by two commands `cargo test` that `call` returns, one for libraries and
/// one for test programs. A single command would also build the unit tests of all packages that
/// have such a test program. Then runs the tests. `prepare` can add to the command of each program.
///
/// The tests are built for their own packages, because other packages enable the hooks of
/// simulations in the scheduler.
pub(super) fn run_stress(
    workspace: &Workspace,
    call: impl Fn() -> Job,
    prepare: impl Fn(Job) -> Job + Sync,
) -> Result<String> {
    let mut built = Vec::new();
    for kind in [Kind::Lib, Kind::Test] {
        let targets = tidy::targets_that_mention(workspace, &[kind], STRESS);
        if targets.is_empty() {
            bail!(
                "there are no stress tests in libraries, or none in test programs: the name of a \
                 stress test or of its module must contain `{STRESS}`"
            );
        }
        built.extend(build_tests(of_packages(call(), &targets), &targets)?);
    }
    let passed = parallel::run_tests(&built, |job| {
        prepare(job).limit(LIMIT_OF_SEEDS).arguments(&[STRESS])
    })?;
    Ok(summary(&passed))
}

/// Runs the programs with simulations, optimized a little, with overflow checks and debug
/// assertions. Without optimization, a simulation takes 10 to 20 times as long.
pub(super) fn simulations(workspace: &Workspace) -> Result<String> {
    // For all members, because the step `test` has built the crates of others in this way.
    simulations_with(&simulated(workspace)?, of_members("test"))
}

/// Builds the programs with simulations by `job`, a command `cargo test`. Runs them.
pub(super) fn simulations_with(programs: &[Selected<'_>], job: Job) -> Result<String> {
    let built = build_tests(job.faster(), programs)?;
    let passed = parallel::run_tests(&built, |job| {
        job.environment(ALL_SEEDS, "1").limit(LIMIT_OF_SEEDS)
    })?;
    if !each_ran(&passed, programs.len()) {
        bail!("a program with simulations ran no test");
    }
    Ok(summary(&passed))
}

/// Runs the models of every crate that has any. There is one call for all crates, so that cargo
/// builds loom only once.
pub(super) fn loom(workspace: &Workspace) -> Result<String> {
    loom_with(workspace, "loom", "--cfg garrick_loom")
}

/// Runs the models of every crate, which are compiled with `flags`. `folder` is the folder of the
/// builds in the target folder.
pub(super) fn loom_with(workspace: &Workspace, folder: &str, flags: &str) -> Result<String> {
    let packages = tidy::packages_with_loom_tests(workspace);
    if packages.is_empty() {
        return Ok("no loom tests yet".to_owned());
    }
    let mut build = Job::cargo(&["test", "--lib", "--no-run"]).models();
    for package in &packages {
        build = build.arguments(&["-p", &package.name]);
    }
    let programs = build
        .environment("CARGO_TARGET_DIR", workspace.target.join(folder))
        .environment("RUSTFLAGS", flags)
        .build()?;
    // Loom maps and unmaps the stacks of its threads all the time, which takes longer in a process
    // with several real threads. So each program has one.
    let passed = parallel::run_tests(&programs, |job| {
        job.arguments(&[LOOM, "--test-threads=1"])
            .limit(LIMIT_OF_SEEDS)
            .default_environment("LOOM_MAX_PREEMPTIONS", LOOM_PREEMPTIONS_MAX)
    })?;
    if !each_ran(&passed, packages.len()) {
        bail!(
            "a crate has loom tests, but none of them ran: the name of their module must contain \
             `{LOOM}`"
        )
    }
    let tests: usize = passed.iter().sum();
    Ok(format!("{tests} tests in {} crates", packages.len()))
}

/// Returns true if there are `programs` test programs, and each of them ran a test.
fn each_ran(passed: &[usize], programs: usize) -> bool {
    passed.len() == programs && !passed.contains(&0)
}

/// Searches the simulated programs for a long time: each correct program with [`SIM_RIGHT`] seeds,
/// and the program `mixed` with [`SIM_MIXED`] seeds. The runs of `mixed` must be the same in every
/// process. So the step then runs `mixed` again without optimization, and compares the runs.
pub(super) fn sim(workspace: &Workspace) -> Result<String> {
    let hash = workspace.target.join("garrick-sim-mixed");
    if hash.exists() {
        fs::remove_file(&hash)?;
    }
    let job = |job: Job| {
        job.environment("GARRICK_SIM_RIGHT", SIM_RIGHT)
            .environment("GARRICK_SIM_MIXED", SIM_MIXED)
            .environment("GARRICK_SIM_MIXED_FILE", &hash)
            .arguments(&["--", "--nocapture"])
    };
    counted(&[
        job(Job::cargo(&["test", "-p", "garrick-sim", "--tests"]).optimized()),
        job(Job::cargo(&[
            "test",
            "-p",
            "garrick-sim",
            "--test",
            "mixed",
        ])),
    ])
}

/// Runs the tests of journals with many more crashes and kills, and the test that traces system
/// calls. Then measures journals, and compares them with plain writes to the disk.
pub(super) fn journal(_: &Workspace) -> Result<String> {
    tools::install_missing(tools::FOR_JOURNALS)?;
    let journal = |command, flags: &[&str]| {
        Job::cargo(&[command, "-p", "garrick-journal", "--all-features"]).arguments(flags)
    };
    let tests = counted(&[journal("test", &["--tests"])
        .optimized()
        .environment("GARRICK_JOURNAL_SEEDS", JOURNAL_SEEDS)
        .environment("GARRICK_JOURNAL_KILLS", JOURNAL_KILLS)
        .limit(LIMIT_OF_KILLS)
        .arguments(&["--", "--nocapture"])])?;
    journal("bench", &[]).run()?;
    Ok(tests)
}

/// The parameters of the step `cluster`.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {
    /// Only run three nodes and three NATS servers for this number of minutes, and kill and pause
    /// them at random.
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u64>,
}

/// Runs the simulations of clusters with many seeds. Also runs the test that kills and stops the
/// processes of a cluster for [`CLUSTER_SECONDS`]. With the option `soak`, runs `garrick cluster
/// soak` instead.
pub(crate) fn cluster(workspace: &Workspace, options: &ClusterOptions) -> Result<String> {
    tools::install_nats(&workspace.target)?;
    if let Some(minutes) = options.soak {
        let work = Duration::from_secs(minutes * 60);
        Job::cargo(&["run", "-p", "garrick-cli", "--features", "cluster"])
            .optimized()
            .arguments(&["--", "cluster", "soak", "--minutes", &minutes.to_string()])
            .limit(work + SOAK_BUILT_WITHIN)
            .run()?;
        return Ok(format!("{minutes} minutes"));
    }
    counted(&[
        Job::cargo(&["test", "-p", "garrick-cluster", "--all-features"])
            .arguments(&["--test", "simulated", "--test", "entities"])
            .arguments(&["--test", "directory", "--test", "upgrade"])
            .arguments(&["--test", "processes"])
            .optimized()
            .limit(LIMIT_OF_SEEDS)
            .environment("GARRICK_CLUSTER_SEEDS", CLUSTER_SEEDS)
            .environment("GARRICK_CLUSTER_SECONDS", CLUSTER_SECONDS)
            .environment(TOOLS_VARIABLE, "1")
            .arguments(&["--", "--nocapture"]),
    ])
}

/// Runs the stress tests under AddressSanitizer and LeakSanitizer.
pub(super) fn sanitize(workspace: &Workspace) -> Result<String> {
    let call = || {
        Job::cargo(&["test", "--target", SANITIZED_TARGET])
            .environment("CARGO_TARGET_DIR", workspace.target.join("sanitize"))
            // The sanitizer flag is unstable. This variable enables it in the stable compiler.
            .environment("RUSTC_BOOTSTRAP", "1")
            .environment(
                "RUSTFLAGS",
                // Without a memory pool, every use of a freed block is found.
                "-Zsanitizer=address -Cforce-frame-pointers=yes --cfg garrick_no_pool",
            )
    };
    run_stress(workspace, call, |job| {
        job.environment("ASAN_OPTIONS", "detect_leaks=1")
    })
}

pub(super) fn counted(jobs: &[Job]) -> Result<String> {
    let mut passed = 0;
    for job in jobs {
        passed += job.run_tests()?.iter().sum::<usize>();
    }
    Ok(format!("{passed} tests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_with_models_must_run_some() {
        assert!(each_ran(&[3, 1], 2));
        assert!(!each_ran(&[3, 0], 2));
        assert!(!each_ran(&[3], 2));
    }
}
