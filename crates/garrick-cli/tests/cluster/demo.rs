//! The demonstration: processes are killed, and the history is checked.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::server::{self, Server};
use super::{cluster, said};

#[test]
fn killed_processes_lose_nothing() {
    let Some(server) = Server::start("") else {
        return;
    };
    let arguments = [
        "demo",
        "--nodes",
        "3",
        "--seconds",
        "3",
        "--kill-every",
        "1s",
        "--nats",
        server.address(),
    ];
    let output = cluster(&arguments).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for words in [
        "All nodes have joined",
        "is killed, which owns",
        "is linearizable",
        "stay on the NATS server",
    ] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
    assert!(!said.contains(" 0 kills"), "{said}");
}

#[test]
fn a_wrong_history_is_found() {
    // The command finds the program in the same place.
    if server::program().is_none() {
        return;
    }
    let arguments = [
        "demo",
        "--nodes",
        "1",
        "--seconds",
        "1",
        "--kill-every",
        "0s",
        "--forget",
        "3",
    ];
    let output = cluster(&arguments).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in ["which was started at", "not linearizable", "0 kills"] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
}

#[test]
fn an_interrupted_demonstration_checks_what_was_done() {
    let Some(server) = Server::start("") else {
        return;
    };
    let arguments = [
        "demo",
        "--nodes",
        "1",
        "--seconds",
        "3600",
        "--nats",
        server.address(),
    ];
    let mut command = cluster(&arguments);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("have joined")));
    let kill = format!("kill -INT {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    assert!(lines.any(|line| line.unwrap().contains("is linearizable")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
