//! Tests of the lines that Garrick prints on standard error. A test reads the lines from a child
//! process.

use std::env;
use std::process::Command;
use std::time::Duration;

use garrick_actor::{Local, System};
use garrick_testkit::ByHand;

use crate::stand::{Do, Teller, supervisor};

/// Name of the environment variable that is set in the child process. There, the test runs its
/// scenario.
const SCENARIO: &str = "GARRICK_TEST_SCENARIO";

/// Runs the test `name` in a child process, where the test calls `scenario`. Returns the lines that
/// Garrick prints, without the numbers in paths.
fn lines_of(name: &str, scenario: fn()) -> Vec<String> {
    if env::var_os(SCENARIO).is_some() {
        scenario();
        return Vec::new();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(SCENARIO, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("garrick: "));
    lines.map(without_numbers).collect()
}

fn without_numbers(line: &str) -> String {
    let mut parts = line.split('#');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('#');
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text.replace("failures::stand::", "")
}

fn run(local: &Local) {
    (0..16).for_each(|_| local.run());
}

fn restart_often() {
    let world = ByHand::new();
    let local = System::builder().name("shop").world(world.clone()).local();
    let local = local.unwrap();
    let tree = supervisor("bank").spawn(&local.handle()).unwrap();
    let teller = local.actor(|| Teller).named("teller");
    let teller = teller.supervised_by(&tree).spawn().unwrap();
    let fail = |times: u32| {
        for _ in 0..times {
            teller.send(Do::Fail).unwrap();
            run(&local);
        }
    };
    fail(38);
    world.advance(Duration::from_millis(900));
    run(&local);
    world.advance(Duration::from_millis(200));
    run(&local);
    // The line about the others counts, too. A timer fires up to a tick late.
    fail(1);
    world.advance(Duration::from_millis(1100));
    run(&local);
    world.advance(Duration::from_millis(1100));
    fail(1);
    // The last reports are told at the latest when the supervisor ends.
    fail(2);
}

#[test]
fn a_supervisor_prints_a_line_a_second_and_then_the_number_of_the_others() {
    let lines = lines_of(
        "lines::a_supervisor_prints_a_line_a_second_and_then_the_number_of_the_others",
        restart_often,
    );
    if lines.is_empty() {
        assert!(env::var_os(SCENARIO).is_some(), "nothing was printed");
        return;
    }
    let restart = |number: u32| {
        format!(
            "the actor /user/bank#/teller# (Teller) is restarted (restart {number}): there is no account: an error occurred when formatting an argument"
        )
    };
    let more = |more: &str, last| {
        let last = restart(last);
        format!("in system `shop`, supervisor /user/bank#: and {more}; the last report: {last}")
    };
    let expected = [
        format!("in system `shop`, {}", restart(1)),
        more("37 more restarts", 38),
        more("1 more restart", 39),
        format!("in system `shop`, {}", restart(40)),
        more("2 more restarts", 42),
    ];
    assert_eq!(lines, expected);
}

fn be_quiet() {
    let local = System::builder().report_restarts(false).local().unwrap();
    let tree = supervisor("bank").spawn(&local.handle()).unwrap();
    let teller = local.actor(|| Teller).supervised_by(&tree).spawn();
    teller.unwrap().send(Do::Fail).unwrap();
    run(&local);
    local.spawn(Teller).send(Do::Fail).unwrap();
    run(&local);
}

#[test]
fn only_failures_without_a_supervisor_are_printed_if_the_user_wants_it_so() {
    let lines = lines_of(
        "lines::only_failures_without_a_supervisor_are_printed_if_the_user_wants_it_so",
        be_quiet,
    );
    if env::var_os(SCENARIO).is_none() {
        let reason = "there is no account: an error occurred when formatting an argument";
        let line = format!("in system `system`, the actor Teller failed: {reason}");
        assert_eq!(lines, [line]);
    }
}
