//! Assertions about checks of programs with and without a mistake.

use std::env;
use std::process::Command;
use std::thread;

use garrick_sim::{Check, Failed, Report, Sim};

/// Asserts that a search finds a mistake that breaks one of `properties`, and that the shortened
/// run has at most `steps_max` steps. A second search, and a search with only the failing seed in
/// another process, must find the same run. `find` searches the seeds from a given number on.
/// Returns the failure.
#[track_caller]
pub(crate) fn assert_found(
    properties: &[&str],
    steps_max: usize,
    find: impl Fn(u64) -> Box<Failed>,
) -> Box<Failed> {
    let failed = find(0);
    println!("{failed}");
    let broken = failed.broken().property.as_str();
    assert!(properties.contains(&broken), "{failed}");
    assert!(failed.steps() <= steps_max, "{failed}");
    let trace = failed.trace().to_string();
    if env::var_os(REPEATS).is_some() {
        println!("{BEGINS}{trace}{ENDS}");
        return failed;
    }
    match name_of_test() {
        Some(test) => assert_eq!(of_other_process(&test, failed.seed()), trace),
        None => println!("not repeated in another process: there is only one thread for tests"),
    }
    let again = find(failed.seed());
    assert_eq!(again.seed(), failed.seed());
    assert_eq!(again.moves(), failed.moves());
    assert_eq!(again.trace().to_string(), trace);
    failed
}

/// Environment variable that is set in a process that repeats a test with one seed.
const REPEATS: &str = "GARRICK_SIM_REPEATS";
/// Lines before and after the trace in the output of a process that repeats a test.
const BEGINS: &str = "trace begins\n";
const ENDS: &str = "trace ends\n";

/// Returns the name of the calling test. Returns `None` if the test runs on the main thread, which
/// does not have the name of the test.
fn name_of_test() -> Option<String> {
    let thread = thread::current();
    let name = thread.name().filter(|name| *name != "main");
    name.map(str::to_owned)
}

/// Runs a test with one seed in another process. Returns the trace.
fn of_other_process(test: &str, seed: u64) -> String {
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args([test, "--exact", "--nocapture", "--test-threads=2"])
        .env("GARRICK_SIM_SEED", seed.to_string())
        .env(REPEATS, "1")
        .output()
        .expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    let trace = (text.split_once(BEGINS)).and_then(|(_, rest)| rest.split_once(ENDS));
    let errors = String::from_utf8_lossy(&output.stderr);
    let (trace, _) = trace.unwrap_or_else(|| panic!("no trace of {test}: {text}{errors}"));
    trace.to_owned()
}

/// Asserts that no property of a program is broken, and returns the report. The environment
/// variable `GARRICK_SIM_RIGHT` sets the number of seeds. Without it, the number is `seeds`.
#[track_caller]
pub(crate) fn assert_right(
    name: &str,
    check: Check,
    seeds: u64,
    setup: impl Fn(&mut Sim),
) -> Report {
    let wanted = env::var("GARRICK_SIM_RIGHT").ok();
    let wanted = wanted.and_then(|seeds| seeds.parse().ok());
    match check.seeds(wanted.unwrap_or(seeds)).run(setup) {
        Ok(report) => {
            println!("{name}: {report}");
            report
        }
        Err(failed) => panic!("{failed}"),
    }
}
