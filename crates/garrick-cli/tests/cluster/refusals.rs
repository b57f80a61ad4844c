//! Tests of errors in one line: exit code 2 for wrong usage, 1 for failures.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use super::{assert_says, cluster, said};

#[test]
fn a_server_must_be_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    for command in [
        &["status", "--cluster", "bank"][..],
        &["shards", "account", "--cluster", "bank"],
        &["drain", "bank-1", "--cluster", "bank"],
        &["demo"],
    ] {
        let mut command = cluster(command);
        let command = command.args(["--nats", &format!("nats://{address}")]);
        let output = command.output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let last = said.lines().last().unwrap();
        assert!(last.contains("no NATS server can be reached"), "{said}");
        assert!(last.contains(&address), "{said}");
    }
}

#[test]
fn an_old_server_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let info = "INFO {\"server_id\":\"x\",\"server_name\":\"old\",\"version\":\"2.9.10\",\
                    \"host\":\"127.0.0.1\",\"port\":1,\"max_payload\":1048576,\"headers\":true,\
                    \"proto\":1,\"jetstream\":true}\r\n";
        stream.write_all(info.as_bytes()).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if line.starts_with("PING") {
                stream.write_all(b"PONG\r\n").unwrap();
            }
        }
    });
    let address = format!("nats://{address}");
    let mut command = cluster(&["status", "--cluster", "bank", "--nats", &address]);
    assert_says(&mut command, 1, &["2.9.10", "2.12 or a later one"]);
}

#[test]
fn impossible_words_are_refused() {
    for (arguments, words) in [
        (
            &[
                "status",
                "--cluster",
                "bank",
                "--nats",
                "nats://example.org",
            ][..],
            &["not be encrypted", "--plain-text-on-purpose"][..],
        ),
        (
            &["status", "--cluster", "a b"],
            &["\"a b\" is not a valid name"],
        ),
        (
            &["status", "--cluster", "bank", "--as", "a.b"],
            &["\"a.b\" is not a valid name"],
        ),
        (
            &["status", "--cluster", "bank", "--user", "a"],
            &["--password"],
        ),
        (&["status"], &["--cluster"]),
        (&["drian", "a"], &["did you mean 'drain'?"]),
        (&["demo", "--kill-every", "5"], &["--kill-every", "5s"]),
        (&["demo", "--nodes", "0"], &["--nodes"]),
        (
            &["permissions", "--cluster", "a.b", "--node", "a"],
            &["\"a.b\" is not a valid name"],
        ),
    ] {
        assert_says(&mut cluster(arguments), 2, words);
    }
}
