//! Runs steps one after another and prints a summary.
//!
//! All steps run, even after one has failed, so that one call shows all problems. `--fail-fast`
//! stops at the first failure instead.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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

/// Runs `steps` and prints a summary. The exit code is a success if all steps passed.
pub(crate) fn run(workspace: &Workspace, steps: &[Step], fail_fast: bool) -> ExitCode {
    let mut outcomes = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n== {} ({} of {})", step.name, index + 1, steps.len());
        let outcome = run_one(workspace, *step);
        let failed = outcome.result.is_err();
        if steps.len() > 1 {
            println!("{}", row(&outcome));
        }
        outcomes.push(outcome);
        if failed && fail_fast {
            break;
        }
    }
    println!("\n{}", summary(&outcomes));
    if outcomes.iter().all(|outcome| outcome.result.is_ok()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
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
fn summary(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let _ = writeln!(text, "{}", row(outcome));
    }
    let total: Duration = outcomes.iter().map(|outcome| outcome.time).sum();
    let failed = outcomes.iter().filter(|o| o.result.is_err()).count();
    let passed = outcomes.len() - failed;
    let _ = writeln!(text, "{:<17} {:>7.1} s", "total", total.as_secs_f64());
    let _ = write!(text, "{passed} passed, {failed} failed");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, result: Result<&str, &str>) -> Outcome {
        Outcome {
            name,
            time: Duration::from_millis(1500),
            result: result.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn the_last_line_counts_steps() {
        let summary = summary(&[outcome("fmt", Ok("")), outcome("test", Err("no"))]);
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(lines[0], "fmt        passed     1.5 s");
        assert_eq!(lines[1], "test       FAILED     1.5 s  no");
        assert_eq!(lines[2], "total                 3.0 s");
        assert_eq!(lines[3], "1 passed, 1 failed");
    }
}
