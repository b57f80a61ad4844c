//! Steps that run programs: the examples, a short run of every benchmark, and the count of shared
//! cache lines.

use std::time::Duration;

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;

use super::select::of_members;
use crate::process::{Executable, Job};
use crate::workspace::{Kind, Workspace};

/// Time limit of an example without arguments.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of a quick run of a benchmark program, which takes about a second for each
/// measurement.
const BENCH_LIMIT: Duration = Duration::from_secs(300);

/// Name of the command that measures.
const COMMAND: &str = "garrick";

/// Flag that requests a short run of a benchmark.
const QUICK: &str = "--quick";

/// Environment variable that requests a short run, for benchmarks that do not read their arguments.
const QUICK_VARIABLE: &str = "GARRICK_BENCH_QUICK";

/// Builds every example of the workspace and runs each.
pub(super) fn examples(workspace: &Workspace) -> Result<String> {
    if workspace.targets(Kind::Example).next().is_none() {
        return Ok("no examples yet".to_owned());
    }
    let examples = of_kind(programs()?, &TargetKind::Example);
    run_each(workspace, &examples, EXAMPLE_LIMIT, |job| job)?;
    Ok(format!("{} examples", examples.len()))
}

/// Builds the examples and the command, with overflow checks and debug assertions. Uses the profile
/// of the tests, and all members together, because all dependencies have already been built in this
/// way.
fn programs() -> Result<Vec<Executable>> {
    of_members("build")
        .arguments(&["--examples", "--bin", COMMAND, "--profile", "test"])
        .build()
}

/// Builds every benchmark with little optimization, and runs each briefly. Real measurements use
/// the profile `measure`. This profile would only cost time here, because every dependency would
/// have to be built again.
pub(super) fn benches(workspace: &Workspace) -> Result<String> {
    let mut benches = Vec::new();
    if workspace.targets(Kind::Bench).next().is_some() {
        let build = of_members("bench")
            .arguments(&["--bench", "*", "--no-run", "--profile", "test"])
            .faster();
        benches = of_kind(build.build()?, &TargetKind::Bench);
        run_each(workspace, &benches, BENCH_LIMIT, |job| {
            job.arguments(&["--bench", QUICK])
                .environment(QUICK_VARIABLE, "1")
        })?;
    }
    Ok(format!("{} benches", benches.len()))
}

/// Runs the benchmarks and all scenarios of the command briefly.
pub(super) fn bench(workspace: &Workspace) -> Result<String> {
    let benches = benches(workspace)?;
    let command = of_kind(programs()?, &TargetKind::Bin);
    run_each(workspace, &command, BENCH_LIMIT, |job| {
        job.arguments(&["bench", QUICK])
    })?;
    Ok(format!("{benches}, and the command"))
}

/// Does all kinds of work at once for ten minutes, and checks the results and the memory.
pub(super) fn soak(_: &Workspace) -> Result<String> {
    Job::cargo(&["run", "-p", "garrick-cli", "--features", "bench"])
        .optimized()
        .arguments(&["--", "soak"])
        .run()?;
    Ok(String::new())
}

/// Counts the cache lines that more than one thread writes, and prints the table.
pub(super) fn lines(workspace: &Workspace) -> Result<String> {
    let passed = Job::cargo(&["test", "-p", "garrick-sched", "--test", "lines"])
        .optimized()
        .arguments(&["--", "--nocapture"])
        .environment("CARGO_TARGET_DIR", workspace.target.join("lines"))
        .environment("RUSTFLAGS", "--cfg garrick_count")
        .run_tests()?;
    Ok(format!("{} tests", passed.iter().sum::<usize>()))
}

fn of_kind(executables: Vec<Executable>, kind: &TargetKind) -> Vec<Executable> {
    let mut chosen: Vec<Executable> = executables
        .into_iter()
        .filter(|executable| executable.kind.contains(kind))
        .collect();
    chosen.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    chosen
}

/// Runs all programs, even after one has failed, and fails at the end with the names of the failed
/// ones.
fn run_each(
    workspace: &Workspace,
    executables: &[Executable],
    limit: Duration,
    prepare: impl Fn(Job) -> Job,
) -> Result<()> {
    let logs = workspace.log_folder()?;
    let mut failed = Vec::new();
    for executable in executables {
        let name = &executable.name;
        let job = prepare(Job::new(&executable.path).limit(limit));
        match job.run_logged(&logs.join(format!("{name}.log"))) {
            Ok(time) => println!("{name}: passed in {:.1} s", time.as_secs_f64()),
            Err(error) => {
                println!("{name}: {error:#}");
                failed.push(name.as_str());
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}
