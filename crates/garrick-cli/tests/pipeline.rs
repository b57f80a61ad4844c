//! Tests of `garrick pipeline` on the command line: its totals, the ways in which it ends, and the
//! arguments that it rejects.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

fn pipeline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_garrick"));
    command.arg("pipeline").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    pipeline(arguments).output().expect("the command runs")
}

/// Returns the figure in the line that begins with `stage`.
fn total(text: &str, stage: &str) -> u64 {
    let line = text
        .lines()
        .find(|line| line.starts_with(stage))
        .expect("every stage has a line");
    let figure = line
        .split_whitespace()
        .nth(1)
        .expect("a figure stands behind its name");
    figure
        .replace(',', "")
        .parse()
        .expect("it is a whole number")
}

/// Asserts that the stages' totals are printed and equal.
#[track_caller]
fn assert_totals(text: &str) {
    let generated = total(text, "generator");
    assert!(generated > 0, "{text}");
    assert_eq!(total(text, "worker"), generated, "{text}");
    assert_eq!(total(text, "logger"), generated, "{text}");
    assert!(
        text.contains("messages/s") && text.contains("CPU seconds"),
        "{text}"
    );
}

#[test]
fn both_modes_end_with_equal_totals() {
    for mode in ["zero-copy", "double-buffer"] {
        let output = run(&["--mode", mode, "--seconds", "0.2", "--capacity", "1000"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert_totals(&text);
        assert!(text.contains(mode), "{text}");
        assert!(
            output.stderr.is_empty(),
            "no progress bar where there is no terminal"
        );
    }
}

#[test]
fn it_ends_with_the_last_beat() {
    let output = run(&["--rate", "1", "--beats", "30"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_totals(&text);
    assert_eq!(total(&text, "heartbeat"), 30);
}

#[test]
fn one_slot_is_enough() {
    let output = run(&["--capacity", "1", "--seconds", "0.1"]);
    assert_totals(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn impossible_values_are_refused_in_one_line() {
    for flag in [
        "--capacity=0",
        "--capacity=-1",
        "--capacity=lots",
        "--capacity=18446744073709551615",
        "--capacity=99999999999999999999999",
        "--rate=0",
        "--beats=0",
        "--beats=1.5",
        "--seconds=0",
        "--seconds=nan",
        "--mode=triple-buffer",
        "--speed=9",
    ] {
        let output = run(&[flag]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag}: {said}");
        assert_eq!(said.lines().count(), 1, "{flag}: {said}");
        let (name, _) = flag.split_once('=').unwrap();
        assert!(said.contains(name), "{flag}: {said}");
        assert!(output.stdout.is_empty(), "{flag}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_in_order() {
    // A run of twelve seconds prints a line each second.
    let mut child = pipeline(&["--seconds", "12"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("generated") {
        text.clear();
        assert_ne!(output.read_line(&mut text).unwrap(), 0);
    }
    assert!(text.contains("beats"), "{text}");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    text.clear();
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert_totals(&text);
}
