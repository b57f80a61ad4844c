//! Tests of errors: each error is one line. The exit code is 2 for wrong usage, and 1 for other
//! failures.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::server::{Server, answer};
use super::{stdout, top};

/// Asserts that `garrick top ADDRESS FLAGS` ends with `code` and one line that contains all of
/// `words`.
#[track_caller]
fn assert_says(address: &str, flags: &[&str], code: i32, words: &[&str]) {
    let output = top(address).args(flags).output().unwrap();
    let said = str::from_utf8(&output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{address} {flags:?}: {said}"
    );
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.trim_end().chars().any(char::is_control), "{said:?}");
    for word in words {
        assert!(
            said.contains(word),
            "{address} {flags:?}: {word} is missing: {said}"
        );
    }
}

#[test]
fn impossible_words_are_refused() {
    for (address, flags, word) in [
        ("host:0", &[][..], "'0' is not a port"),
        ("http://host/page", &[], "is not a host"),
        ("https://host", &[], "https"),
        ("", &["--token", "a b"], "--token"),
        ("", &["--interval", "0"], "--interval"),
        ("", &["--interval=nan"], "--interval"),
        ("", &["--onec"], "--onec"),
        ("", &["another"], "another"),
    ] {
        assert_says(address, flags, 2, &[word]);
    }
}

#[test]
fn without_a_terminal_the_way_out_is_named() {
    assert_says("", &[], 2, &["not a terminal", "--once", "--json"]);
}

#[test]
fn where_nothing_listens_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    assert_says(&address, &["--once"], 1, &["nothing listens", &address]);
}

#[test]
fn what_is_no_garrick_is_said_to_be_none() {
    let answers: [(&str, &str, &str, &[&str]); 6] = [
        (
            "404 Not Found",
            "text/html",
            "<h1>no</h1>",
            &["404 Not Found, which no Garrick"],
        ),
        (
            "302 Found\r\nlocation: /elsewhere",
            "text/html",
            "",
            &["302 Found"],
        ),
        (
            "503 Service Unavailable",
            "text/plain",
            "too\u{1b} many\nlines",
            &["503", "too\\u{1b} many"],
        ),
        (
            "200 OK",
            "text/html",
            "<h1>Welcome</h1>",
            &["this is not a Garrick process"],
        ),
        (
            "200 OK",
            "application/json",
            "{\"sequence\":1}",
            &["missing field"],
        ),
        (
            "200 OK",
            "application/json",
            "",
            &["this is not a Garrick process"],
        ),
    ];
    for (status, kind, body, words) in answers {
        let server = Server::start(move |_, stream| answer(stream, status, kind, body));
        let address = server.address();
        let words: Vec<_> = words.iter().copied().chain([&*address]).collect();
        assert_says(&address, &["--once"], 1, &words);
    }
}

#[test]
fn what_is_no_web_server_is_said_to_be_none() {
    let bad: [(&[u8], &str); 4] = [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
        (b"\xff\x00\x1b[2J\r\n\r\n", "does not speak HTTP"),
        (b"", "ended the connection"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"sequ",
            "ended the connection",
        ),
    ];
    for (bytes, words) in bad {
        let server = Server::start(move |_, stream| {
            let _ = stream.write_all(bytes);
            let _ = TcpStream::shutdown(stream, std::net::Shutdown::Both);
        });
        assert_says(&server.address(), &["--once"], 1, &[words]);
    }
}

#[test]
fn who_never_answers_is_not_waited_for_forever() {
    let server = Server::start(|_, _| ());
    assert_says(&server.address(), &["--once"], 1, &["no answer"]);
}
