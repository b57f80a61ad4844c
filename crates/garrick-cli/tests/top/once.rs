//! Tests of a single snapshot, as text and as JSON.

use garrick_telemetry::Snapshot;

use super::server::{Server, answer, answer_in_chunks, asks_for};
use super::{EVIL, snapshot, stdout, top};

/// Starts a server that answers with `snapshot`, in chunks.
fn serving(snapshot: &Snapshot) -> Server {
    let json = serde_json::to_string(snapshot).unwrap();
    Server::start(move |head, stream| {
        assert!(asks_for(head, "/graph.json"), "{head:?}");
        answer_in_chunks(stream, "application/json", &json);
    })
}

#[test]
fn a_look_shows_stages_and_channels() {
    let server = serving(&snapshot("first", 3));
    let output = top(&server.address()).arg("--once").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(output.stderr.is_empty());
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("pipeline (pid 7)  up 0:03"), "{text}");
    for begin in [
        "NAME ",
        "first ",
        "second ",
        "CHANNEL ",
        "first -> second  u64 ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(begin)),
            "{begin}: {text}"
        );
    }
}

#[test]
fn a_look_as_json_is_the_snapshot() {
    let seen = snapshot(EVIL, 3);
    let server = serving(&seen);
    for flags in [&["--json"][..], &["--once", "--json"]] {
        let output = top(&server.address()).args(flags).output().unwrap();
        let text = stdout(&output);
        assert_eq!(
            (output.status.code(), text.lines().count()),
            (Some(0), 1),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Snapshot>(text).unwrap(), seen);
        assert!(
            text.trim_end().chars().all(|char| !char.is_control()),
            "{text:?}"
        );
    }
}

#[test]
fn names_cannot_reach_the_terminal() {
    let server = serving(&snapshot(EVIL, 3));
    let output = top(&server.address()).arg("--once").output().unwrap();
    let text = stdout(&output);
    let acts = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
    assert!(!text.chars().any(acts), "{text:?}");
    assert!(
        text.contains("\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{202e}x"),
        "{text}"
    );
}

#[test]
fn a_token_opens_what_is_closed() {
    let json = serde_json::to_string(&snapshot("first", 3)).unwrap();
    let server = Server::start(move |head, stream| {
        let has_token = |line: &String| line.eq_ignore_ascii_case("authorization: Bearer s3cret");
        if head.iter().any(has_token) {
            answer(stream, "200 OK", "application/json", &json);
        } else {
            answer(stream, "401 Unauthorized", "text/plain", "no");
        }
    });
    let look = |flags: &[&str], token: Option<&str>| {
        let mut command = top(&server.address());
        command
            .arg("--once")
            .args(flags)
            .envs(token.map(|token| ("GARRICK_TOKEN", token)));
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = look(&[], None);
    assert_eq!(code, Some(1));
    assert!(said.contains("requires a token: use --token"), "{said}");
    let (code, said) = look(&["--token", "wrong"], None);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("has rejected the token") && !said.contains("wrong"),
        "{said}"
    );
    assert_eq!(look(&["--token", "s3cret"], None), (Some(0), String::new()));
    assert_eq!(look(&[], Some("s3cret")), (Some(0), String::new()));
    assert_eq!(
        look(&["--token=s3cret"], Some("other")),
        (Some(0), String::new())
    );
}

#[test]
fn nobody_reads_on_and_that_is_no_error() {
    let server = serving(&snapshot("first", 3));
    let mut command = top(&server.address());
    let mut child = command
        .arg("--once")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
