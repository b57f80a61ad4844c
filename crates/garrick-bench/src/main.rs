//! The `garrick` command: the pipeline demonstration, and the benchmarks.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    garrick_bench::run()
}
