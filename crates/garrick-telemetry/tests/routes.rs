//! Tests the answers of each route of the server, and the access to the routes.

mod common;

use std::io::{BufReader, Write};

use common::{Events, anywhere, connect, exchange, get, get_with, pipeline, read_answer, start};
use garrick_telemetry::{HistoryReport, Snapshot, StartError, Telemetry};

const PATHS: &[&str] = &[
    "/",
    "/graph.json",
    "/graph.dot",
    "/history.json",
    "/metrics",
    "/health",
];

#[test]
fn every_address_answers_in_its_own_kind() {
    let telemetry = start(anywhere());
    telemetry.watch(pipeline);
    telemetry.look();
    let kinds = [
        "text/html",
        "application/json",
        "text/vnd.graphviz",
        "application/json",
        "text/plain",
        "text/plain",
    ];
    for (path, kind) in PATHS.iter().zip(kinds) {
        let answer = get(telemetry.address(), path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(
            answer.header("content-type").starts_with(kind),
            "{path}: {answer:?}"
        );
        assert!(!answer.body.is_empty(), "{path}");
    }
}

#[test]
fn the_graph_is_the_newest_snapshot() {
    let telemetry = start(anywhere().name("a process"));
    telemetry.watch(pipeline);
    telemetry.look();
    let before = telemetry.latest().sequence;
    let answer = get(telemetry.address(), "/graph.json");
    let snapshot: Snapshot = serde_json::from_slice(&answer.body).expect("a snapshot");
    assert!(snapshot.sequence >= before);
    assert_eq!(snapshot.process.name, "a process");
    assert_eq!(
        snapshot.nodes[1].name,
        "line\nbreak <b>&amp;</b> {x} \u{1F3AD}"
    );
    assert_eq!(snapshot.edges[0].from.as_ref(), Some(&snapshot.nodes[0].id));
    let answer = get(telemetry.address(), "/history.json");
    let history: HistoryReport = serde_json::from_slice(&answer.body).expect("a history");
    assert_eq!(history, telemetry.history());
}

#[test]
fn a_connection_can_be_used_again() {
    let telemetry = start(anywhere());
    let mut stream = connect(telemetry.address());
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    for path in PATHS {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is open");
        assert_eq!(
            read_answer(&mut reader, false).expect("an answer").status,
            200
        );
    }
}

#[test]
fn a_head_has_the_headers_alone() {
    let telemetry = start(anywhere());
    let request = "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = exchange(telemetry.address(), request.as_bytes()).expect("an answer");
    let whole = get(telemetry.address(), "/");
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(
        answer.header("content-length"),
        whole.header("content-length")
    );
}

#[test]
fn what_is_not_there_or_not_done_is_said() {
    let telemetry = start(anywhere());
    let answer = get(telemetry.address(), "/nothing/here");
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("/graph.json"), "{answer:?}");
    for path in PATHS {
        let request =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        let answer = exchange(telemetry.address(), request.as_bytes()).expect("an answer");
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, "GET,HEAD"),
            "{path}"
        );
        assert!(answer.text().contains("only GET and HEAD"));
    }
    for every in ["0", "x", "-5", "70000", ""] {
        let answer = get(telemetry.address(), &format!("/events?every={every}"));
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("50 to 60000"), "{answer:?}");
    }
}

#[test]
fn every_answer_forbids_the_browser_what_it_does_not_need() {
    let telemetry = start(anywhere().token("t"));
    for path in PATHS.iter().chain(&["/nothing", "/events"]) {
        let answer = get(telemetry.address(), path);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'self'"), "{path}: {answer:?}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
    }
}

#[test]
fn the_page_asks_no_other_host() {
    let telemetry = start(anywhere());
    let page = get(telemetry.address(), "/");
    for outside in ["http://", "https://", "src=\"//", "href=\"//"] {
        assert!(!page.text().contains(outside), "{outside}");
    }
}

#[test]
fn a_token_keeps_the_data_and_not_the_page() {
    let telemetry = start(anywhere().token("open-sesame"));
    let address = telemetry.address();
    for path in [
        "/graph.json",
        "/graph.dot",
        "/history.json",
        "/metrics",
        "/events",
    ] {
        for wrong in [
            "",
            "Authorization: Bearer open-sesamE\r\n",
            "Authorization: Basic open-sesame\r\n",
            "Authorization: open-sesame\r\n",
        ] {
            let answer = get_with(address, path, wrong);
            assert_eq!(answer.status, 401, "{path} {wrong}");
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
            assert!(answer.text().contains("?token="));
        }
        assert_eq!(get(address, &format!("{path}?token=open")).status, 401);
    }
    assert_eq!(
        get_with(address, "/metrics", "Authorization: bearer open-sesame\r\n").status,
        200
    );
    assert_eq!(
        get(address, "/graph.json?x=1&token=open-sesame").status,
        200
    );
    assert!(
        Events::open(address, "/events?token=open-sesame")
            .next()
            .is_some()
    );
    // A wrong header is not outweighed by a right address.
    let answer = get_with(
        address,
        "/metrics?token=open-sesame",
        "Authorization: Bearer no\r\n",
    );
    assert_eq!(answer.status, 401);
    assert_eq!(get(address, "/").status, 200);
    assert_eq!(get(address, "/health").status, 200);
}

#[test]
fn a_request_for_another_host_is_not_answered() {
    let telemetry = start(anywhere());
    for (host, status) in [
        ("evil.example", 403),
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:9900", 200),
    ] {
        let request =
            format!("GET /graph.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = exchange(telemetry.address(), request.as_bytes()).expect("an answer");
        assert_eq!(answer.status, status, "{host}");
    }
    // With a token no foreign page can send a valid request, so behind a proxy any host name is
    // allowed.
    let telemetry = start(anywhere().token("t"));
    let request =
        "GET /graph.json?token=t HTTP/1.1\r\nHost: proxy.example\r\nConnection: close\r\n\r\n";
    let answer = exchange(telemetry.address(), request.as_bytes()).expect("an answer");
    assert_eq!(answer.status, 200);
}

#[test]
fn a_named_port_in_use_is_an_error_and_another_is_found_if_allowed() {
    let first = start(anywhere());
    let again = Telemetry::builder().address(first.address());
    let error = again.start().expect_err("the port is in use");
    assert!(
        matches!(error, StartError::PortInUse { tried: 1, .. }),
        "{error}"
    );
    let port = first.address().port();
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    let next = Telemetry::builder()
        .address(first.address())
        .next_free_port(true);
    let next = next.start().expect("one of a hundred is free");
    assert!(next.address().port() > port);
    assert_eq!(get(next.address(), "/health").status, 200);
}

#[test]
fn what_cannot_be_set_is_told() {
    let interval = anywhere()
        .interval(std::time::Duration::from_millis(9))
        .start();
    let error = interval.expect_err("too short").to_string();
    assert_eq!(
        error,
        "the telemetry interval is 9ms, but must be from 10ms to 10s"
    );
    let window = anywhere()
        .window(std::time::Duration::from_secs(3600))
        .start();
    let error = window.expect_err("too long").to_string();
    assert_eq!(
        error,
        "the telemetry window is 3600s, but must be from 100ms to 600s"
    );
    let error = anywhere()
        .token("no good")
        .start()
        .expect_err("a blank")
        .to_string();
    assert!(error.contains("' '"), "{error}");
}

#[test]
fn dropping_it_ends_streams_and_frees_the_port() {
    let telemetry = start(anywhere());
    let address = telemetry.address();
    let mut events = Events::open(address, "/events");
    let idle = connect(address);
    assert!(events.next().is_some());
    drop(telemetry);
    while events.next().is_some() {}
    assert_eq!(common::drain(idle), 0);
    let again = Telemetry::builder().address(address).start();
    assert_eq!(again.expect("the port is free").address(), address);
}
