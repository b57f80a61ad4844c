//! Four programs, each with a typical trouble, and the results of telemetry for each program. The
//! guide is `docs/operations.md`.
//!
//! ```sh
//! cargo run -p garrick-examples --example operations -- long-handler
//! ```
//!
//! Without arguments, the example runs each of the four programs until telemetry has found its
//! trouble.

use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use garrick::telemetry::Telemetry;
use garrick_examples::operations::Trouble;

/// Time in which telemetry must find each trouble.
const LIMIT: Duration = Duration::from_secs(12);

/// Runs a program in trouble, with telemetry.
#[derive(Parser)]
struct Arguments {
    /// The program: long-handler, crash-loop, growing-mailbox or full-channel. By default, runs all
    /// of them, each until telemetry has found its trouble.
    #[arg(value_name = "PROGRAM")]
    trouble: Option<Trouble>,

    /// Stops the program after this number of seconds, at most 86400. By default, the program runs
    /// until it is interrupted.
    #[arg(long, requires = "trouble", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.trouble {
        Some(trouble) => show(trouble, arguments.seconds.map(Duration::from_secs)),
        None => Trouble::ALL.into_iter().try_for_each(find),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a program for the given time, or forever, and prints the trouble that telemetry has found.
fn show(trouble: Trouble, time: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let telemetry = Telemetry::builder().name(trouble.word()).start()?;
    let program = trouble.start(&telemetry)?;
    println!("{}", trouble.description());
    println!("page:     {}", telemetry.url());
    println!("terminal: cargo top {}", telemetry.address());
    println!("metrics:  curl -s {}metrics", telemetry.url());
    let Some(time) = time else {
        println!("Ctrl-C stops the program.");
        loop {
            thread::park();
        }
    };
    thread::sleep(time);
    telemetry.look();
    let found = trouble.found(&telemetry.latest());
    drop(program);
    println!("{}", found.as_deref().unwrap_or("Nothing found yet."));
    Ok(())
}

/// Runs a program until telemetry has found its trouble, and prints the trouble.
fn find(trouble: Trouble) -> Result<(), Box<dyn Error>> {
    let telemetry = Telemetry::builder().without_server().start()?;
    let _program = trouble.start(&telemetry)?;
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        thread::sleep(Duration::from_millis(100));
        if let Some(found) = trouble.found(&telemetry.latest()) {
            println!("{trouble}: {found}");
            return Ok(());
        }
    }
    Err(format!("telemetry did not find {trouble} in {LIMIT:?}").into())
}
