//! Runs steps in stages, and prints a summary.
//!
//! All steps run, even after one has failed, so that one call shows all problems. With
//! `--fail-fast`, no step begins after the first failure.
//!
//! The steps of a stage run at the same time, as many as the machine has cores. Each of them runs
//! in a separate process. The output of a process is printed when the process has ended. Until
//! then, the output is in `target/xtask-logs`. If a stage has only one step, this process runs it
//! and shows its output.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::parallel::in_parallel;
use crate::steps::Step;
use crate::workspace::Workspace;

/// The result of one step.
#[derive(Debug)]
struct Outcome {
    name: &'static str,
    time: Duration,
    /// Summary of the step, or the reason for its failure.
    result: Result<String, String>,
}

/// Runs the steps of all stages, and prints a summary. Returns the exit code for success if all
/// steps passed.
pub(crate) fn run_stages(
    workspace: &Workspace,
    stages: &[&[Step]],
    fail_fast: bool,
) -> Result<ExitCode> {
    let start = Instant::now();
    let steps: usize = stages.iter().map(|stage| stage.len()).sum();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for stage in stages {
        if fail_fast && outcomes.iter().any(|outcome| outcome.result.is_err()) {
            break;
        }
        if let [step] = stage {
            println!("\n== {} ({} of {steps})", step.name, outcomes.len() + 1);
            let outcome = run_one(workspace, *step);
            if steps > 1 {
                println!("{}", row(&outcome));
            }
            outcomes.push(outcome);
        } else {
            outcomes.extend(run_beside(workspace, stage, fail_fast)?);
        }
    }
    println!("\n{}", summary(&outcomes, start.elapsed()));
    let all_passed = outcomes.iter().all(|outcome| outcome.result.is_ok());
    Ok(if all_passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_one(workspace: &Workspace, step: Step) -> Outcome {
    let start = Instant::now();
    let result = (step.run)(workspace).map_err(|error| format!("{error:#}"));
    Outcome {
        name: step.name,
        time: start.elapsed(),
        result,
    }
}

/// Runs the steps of a stage at the same time.
fn run_beside(workspace: &Workspace, stage: &[Step], fail_fast: bool) -> Result<Vec<Outcome>> {
    let logs = workspace.log_folder()?;
    let names: Vec<&str> = stage.iter().map(|step| step.name).collect();
    println!("\n== {}, at the same time", names.join(", "));
    let has_failed = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let outcomes = in_parallel(stage, cores, |step| {
        if fail_fast && has_failed.load(Relaxed) {
            return Ok(None);
        }
        let outcome = run_in_child(*step, &logs)?;
        has_failed.fetch_or(outcome.result.is_err(), Relaxed);
        Ok(Some(outcome))
    })?;
    Ok(outcomes.into_iter().flatten().collect())
}

/// Runs a step in a separate process, and then prints the output of this process.
fn run_in_child(step: Step, logs: &Path) -> Result<Outcome> {
    let (log, told) = (
        logs.join(format!("{}.log", step.name)),
        logs.join(format!("{}.result", step.name)),
    );
    // The result of an earlier run must not count.
    if told.exists() {
        fs::remove_file(&told).with_context(|| format!("cannot remove {}", told.display()))?;
    }
    let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let start = Instant::now();
    let status = Command::new(env::current_exe()?)
        .args(["step", step.name])
        .arg(&told)
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .with_context(|| format!("cannot run the step `{}`", step.name))?;
    let time = start.elapsed();
    let text = fs::read_to_string(&told).unwrap_or_default();
    let result = if status.success() {
        Ok(text)
    } else if text.is_empty() {
        Err(format!("ended without a result: {status}"))
    } else {
        Err(text)
    };
    let outcome = Outcome {
        name: step.name,
        time,
        result,
    };
    let output = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    // One call, so that the outputs of two steps do not mix.
    println!(
        "\n== {}\n{}{}",
        step.name,
        String::from_utf8_lossy(&output),
        row(&outcome)
    );
    Ok(outcome)
}

/// Runs a step in a process that another process of xtask has started. Writes the summary of the
/// step, or the reason for its failure, to the file `told`.
pub(crate) fn run_for_parent(workspace: &Workspace, step: Step, told: &Path) -> Result<ExitCode> {
    let (text, code) = match run_one(workspace, step).result {
        Ok(summary) => (summary, ExitCode::SUCCESS),
        Err(reason) => (reason, ExitCode::FAILURE),
    };
    fs::write(told, text).with_context(|| format!("cannot write {}", told.display()))?;
    Ok(code)
}

fn row(outcome: &Outcome) -> String {
    let (word, detail) = match &outcome.result {
        Ok(covered) => ("passed", covered),
        Err(reason) => ("FAILED", reason),
    };
    let seconds = outcome.time.as_secs_f64();
    let row = format!("{:<10} {word} {seconds:>7.1} s  {detail}", outcome.name);
    row.trim_end().to_owned()
}

/// Returns the table, the total time, and a last line with the counts.
fn summary(outcomes: &[Outcome], total: Duration) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let _ = writeln!(text, "{}", row(outcome));
    }
    let failed = outcomes.iter().filter(|o| o.result.is_err()).count();
    let passed = outcomes.len() - failed;
    let _ = writeln!(text, "{:<17} {:>7.1} s", "total", total.as_secs_f64());
    let _ = write!(text, "{passed} passed, {failed} failed");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps;

    fn outcome(name: &'static str, result: Result<&str, &str>) -> Outcome {
        Outcome {
            name,
            time: Duration::from_millis(1500),
            result: result.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn a_step_tells_its_result_to_the_process_that_has_started_it() {
        let workspace = Workspace::load().unwrap();
        let told = env::temp_dir().join(format!("garrick-step-{}", std::process::id()));
        let passes = Step {
            name: "passes",
            run: |_| Ok("3 files".to_owned()),
        };
        let code = run_for_parent(&workspace, passes, &told).unwrap();
        assert_eq!(fs::read_to_string(&told).unwrap(), "3 files");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        let fails = Step {
            name: "fails",
            run: |_| anyhow::bail!("two are wrong"),
        };
        let code = run_for_parent(&workspace, fails, &told).unwrap();
        assert_eq!(fs::read_to_string(&told).unwrap(), "two are wrong");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
        fs::remove_file(told).unwrap();
    }

    #[test]
    fn the_steps_of_ci_are_found_by_their_names() {
        for step in steps::CI.iter().copied().flatten() {
            assert_eq!(
                steps::of_ci(step.name).map(|found| found.name),
                Some(step.name)
            );
        }
        assert!(steps::of_ci("no-such-step").is_none());
    }

    #[test]
    fn the_last_line_counts_steps() {
        let outcomes = [outcome("fmt", Ok("")), outcome("test", Err("no"))];
        let summary = summary(&outcomes, Duration::from_millis(2000));
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(lines[0], "fmt        passed     1.5 s");
        assert_eq!(lines[1], "test       FAILED     1.5 s  no");
        assert_eq!(lines[2], "total                 2.0 s");
        assert_eq!(lines[3], "1 passed, 1 failed");
    }
}
