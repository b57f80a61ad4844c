//! The `garrick` command: the pipeline demonstration, and the benchmarks.
#![forbid(unsafe_code)]

mod clock;
mod machine;
mod statistics;
mod units;

mod pipeline;

mod scenario;
mod yardstick;

mod harness;
mod report;
mod scenarios;

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run()
}
