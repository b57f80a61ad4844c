//! Tests of the errors of `#[garrick::actor]`.
//!
//! The expected messages are beside each case, in `.stderr`. After an intended change, run with
//! `TRYBUILD=overwrite` and read the difference.

use std::env;
use std::process::Command;

/// Environment variable with flags of the compiler, which cargo prefers to the flags in its
/// arguments.
const VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// Flags with which trybuild compiles the cases. It checks their dependencies without the last
/// flag, and then again with it. With the variable, the flags are always the same, and cargo checks
/// the dependencies only once.
const FLAGS: &str = "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-A\u{1f}dead_code\u{1f}\
                     --diagnostic-width=140";

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    if env::var(VARIABLE).is_ok_and(|flags| flags == FLAGS) {
        let cases = trybuild::TestCases::new();
        cases.compile_fail("tests/errors/*.rs");
        return;
    }
    // The variable must not change while other threads run, so it is set for another process.
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(env::args_os().skip(1))
        .env(VARIABLE, FLAGS)
        .output()
        .expect("the program runs");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    print!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}", output.status);
}
