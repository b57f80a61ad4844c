//! Tests of the service in one process, without NATS.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::client::Client;
use crate::process::{Folder, Service};

#[test]
fn a_node_without_a_server_keeps_its_accounts() {
    let (folder, client) = (Folder::new(), Client::new());
    let start = || Service::start(["--folder", folder.path().to_str().unwrap()]);
    let mut service = start();
    let url = service.url.clone();
    let post = |path: &str, body| client.post(&url, path, &body);
    assert_eq!(
        post("/accounts/alice/deposit", json!({"cents": 100})).cents(),
        100
    );
    assert_eq!(
        post("/accounts/alice/withdraw", json!({"cents": 30})).cents(),
        70
    );
    let error = post("/accounts/alice/withdraw", json!({"cents": 80})).error(409);
    assert_eq!(error, "there is not enough money: the account has 70 cents");
    let transfer = json!({"to": "bob", "cents": 50});
    assert_eq!(post("/accounts/alice/transfer", transfer).cents(), 20);
    assert_eq!(client.settled(&url, "alice"), 20);
    assert_eq!(client.settled(&url, "bob"), 50);
    // A repetition has no effect.
    for _ in 0..2 {
        let path = "/accounts/bob/deposit";
        let response = client.try_post(&url, path, Some("first"), r#"{"cents": 5}"#);
        assert_eq!(response.unwrap().cents(), 55);
    }

    let health = client.get(&url, "/healthz");
    assert_eq!(
        (health.status, &health.json()["members"]),
        (200, &json!(["bank"]))
    );
    // Telemetry looks ten times a second.
    let text = r#"bank_requests_total{action="transfer",outcome="done"} 1"#;
    let member = r#"garrick_cluster_member_up{local="bank",peer="bank"} 1"#;
    let metrics = || client.get(&url, "/metrics").text;
    while !(metrics().contains(text) && metrics().contains(member)) {
        std::thread::yield_now();
    }
    assert!(metrics().contains(r#"garrick_journal_turns_total{journal="bank"}"#));

    // After a crash, and after an orderly end.
    service.process.kill();
    let mut service = start();
    assert_eq!(client.settled(&service.url, "alice"), 20);
    assert!(service.process.end().success());
    service
        .process
        .waits_for("bank has ended")
        .expect("it tells its end");
    let service = start();
    assert_eq!(client.settled(&service.url, "bob"), 55);
}

#[test]
fn bad_requests_are_refused_with_a_sentence() {
    let (folder, client) = (Folder::new(), Client::new());
    let service = Service::start(["--folder", folder.path().to_str().unwrap()]);
    let url = &service.url;
    let long = format!("/accounts/{}/withdraw", "a".repeat(33));
    let (deposit, transfer) = ("/accounts/alice/deposit", "/accounts/alice/transfer");
    for (path, body, text) in [
        (deposit, "{", r#"the body must be like {"cents": 100}: EOF"#),
        (deposit, r#"{"cents": -1}"#, "invalid value"),
        (deposit, r#"{"cents": 0}"#, "an amount is from 1 to"),
        (deposit, r#"{"cents": 1, "x": 1}"#, "unknown field `x`"),
        ("/accounts/a.b/withdraw", r#"{"cents": 1}"#, "`a.b`"),
        (&long, r#"{"cents": 1}"#, "has 1 to 32 letters"),
        (transfer, r#"{"cents": 1}"#, "missing field `to`"),
        (
            transfer,
            r#"{"to": "alice", "cents": 1}"#,
            "another account",
        ),
        (
            transfer,
            r#"{"to": "ä", "cents": 1}"#,
            "has 1 to 32 letters",
        ),
    ] {
        let error = client.try_post(url, path, None, body).unwrap().error(400);
        assert!(error.contains(text), "{error}");
    }
    let keyed = client.try_post(url, "/accounts/a/deposit", Some("a b"), r#"{"cents": 1}"#);
    assert!(keyed.unwrap().error(400).contains("the key of a request"));
    for (path, status) in [("/account", 404), ("/accounts/a/deposit", 405)] {
        let error = client.get(url, path).error(status);
        assert!(error.starts_with("there are: GET"), "{error}");
    }
    let long = client.try_post(url, "/accounts/a/deposit", None, &"1".repeat(5_000));
    assert_eq!(long.unwrap().status, 413);
    assert_eq!(client.get(url, "/accounts/a").cents(), 0);
}

#[test]
fn a_request_whose_body_does_not_come_ends() {
    let folder = Folder::new();
    let folder = folder.path().to_str().unwrap();
    let mut service = Service::start(["--folder", folder, "--timeout-ms", "100"]);
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "POST /accounts/a/deposit HTTP/1.1\r\nHost: bank\r\nContent-Length: 20\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 408 Request Timeout\r\n");
    // A connection that asks for nothing does not hold up the end.
    let _idle = TcpStream::connect(address).unwrap();
    assert!(service.process.end().success());
}
