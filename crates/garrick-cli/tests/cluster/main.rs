//! Tests of `garrick cluster` from outside, with a NATS server.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod server;

mod bank;

mod demo;
mod operator;
mod refusals;

use std::process::{Command, Output};

/// Returns the command `garrick cluster` without the settings of the user.
fn cluster(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_garrick"));
    command.arg("cluster").args(arguments);
    for name in [
        "NATS",
        "NATS_USER",
        "NATS_PASSWORD",
        "NATS_TOKEN",
        "CLUSTER",
    ] {
        command.env_remove(format!("GARRICK_{name}"));
    }
    command
}

/// Returns the text that a command has printed to its two outputs.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

/// Asserts that a command exits with `code`, and prints one line that contains all of `words`.
#[track_caller]
fn assert_says(command: &mut Command, code: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for word in words {
        assert!(
            said.contains(word),
            "{command:?}: {word} is missing: {said}"
        );
    }
}
