//! Tests of `garrick top` from outside: its output, its screen in a terminal, its end.

#[cfg(unix)]
mod live;
mod once;
mod refusals;
mod server;
#[cfg(unix)]
mod terminal;

use std::process::{Command, Output};

use garrick_telemetry::{Edge, Node, Process, Snapshot};

/// Returns `garrick top` for the process at `address`, as a user without a token.
fn top(address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_garrick"));
    command.args(["top", address]).env_remove("GARRICK_TOKEN");
    command.env_remove("NO_COLOR");
    command
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).expect("it prints UTF-8")
}

/// Returns snapshot number `sequence` of a stage called `name` that sends to another stage.
fn snapshot(name: &str, sequence: u64) -> Snapshot {
    let node = |id: &str, name: &str| Node {
        id: id.to_owned(),
        name: name.to_owned(),
        place: "team".to_owned(),
        rate: 1000.0,
        busy: Some(0.5),
        ..Node::default()
    };
    Snapshot {
        sequence,
        uptime: sequence as f64,
        process: Process {
            name: "pipeline".to_owned(),
            pid: 7,
            ..Process::default()
        },
        nodes: vec![node("n0", name), node("n1", "second")],
        edges: vec![Edge {
            id: "e0".to_owned(),
            from: Some("n0".to_owned()),
            to: Some("n1".to_owned()),
            message: "u64".to_owned(),
            capacity: 64,
            fill: 32,
            ..Edge::default()
        }],
        ..Snapshot::default()
    }
}

/// A name with escape sequences that would control the terminal if they were printed without
/// escaping.
const EVIL: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}x";
