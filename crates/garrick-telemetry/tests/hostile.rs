//! Tests that the server continues to answer while clients are hostile or faulty.

mod common;

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use common::{Answer, Events, anywhere, connect, drain, exchange, get, read_answer, start};
use garrick_telemetry::Telemetry;
use garrick_testkit::setting;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Returns the number of requests to generate: the value of `GARRICK_FUZZ_REQUESTS`, or 400.
fn cases() -> u32 {
    setting("GARRICK_FUZZ_REQUESTS").unwrap_or(400)
}

const VALID: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /graph.json?token=x HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nConnection: close\r\n\r\n",
    "HEAD /metrics HTTP/1.1\r\nHost: [::1]:9900\r\nAccept: application/openmetrics-text;q=0.5\r\n\r\n",
    "POST /graph.dot HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    "GET /events?every=50 HTTP/1.0\r\nAuthorization: Bearer x\r\n\r\n",
    "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
];

/// Generates a request with some bytes changed, removed or inserted.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (0..3u8, any::<prop::sample::Index>(), any::<u8>());
    let changes = prop::collection::vec(change, 0..8);
    (prop::sample::select(VALID), changes).prop_map(|(request, changes)| {
        let mut bytes = request.as_bytes().to_vec();
        for (kind, index, byte) in changes {
            let at = index.index(bytes.len().max(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

/// Sends `bytes`, and closes the sending half of the connection, so that the server sees the end.
/// Then reads a part of the answer.
fn poke(address: SocketAddr, bytes: &[u8]) {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read(&mut [0; 256]);
}

fn is_well(telemetry: &Telemetry) -> bool {
    get(telemetry.address(), "/graph.json").status == 200
}

#[test]
fn made_up_requests_do_it_no_harm() {
    let telemetry = start(anywhere().head_timeout(Duration::from_secs(1)));
    let noise = prop::collection::vec(any::<u8>(), 0..2000);
    let mut runner = TestRunner::new(Config::with_cases(cases()));
    let run = runner.run(&prop_oneof![1 => noise, 4 => mutated()], |bytes| {
        poke(telemetry.address(), &bytes);
        Ok(())
    });
    run.expect("no request fails the client");
    assert!(is_well(&telemetry));
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let telemetry = start(anywhere());
    let long = "x".repeat(100_000);
    let many = "A: b\r\n".repeat(1000);
    let refused = |answer: &Answer| (400..500).contains(&answer.status) && answer.status != 404;
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
    ] {
        // The server may close the connection before everything is sent. Then the answer may be
        // lost.
        let answer = exchange(telemetry.address(), request.as_bytes());
        assert!(answer.as_ref().is_none_or(refused), "{answer:?}");
    }
    assert!(is_well(&telemetry));
}

#[test]
fn a_client_that_drips_is_hung_up_on() {
    let telemetry = start(anywhere().head_timeout(Duration::from_millis(200)));
    let mut stream = connect(telemetry.address());
    // Sends a byte, then waits for an answer. So the head is never complete.
    let short = Some(Duration::from_millis(10));
    stream.set_read_timeout(short).expect("it can be set");
    let mut sent = 0;
    while stream.write_all(b"a").is_ok() {
        sent += 1;
        assert!(sent < 6_000, "a minute has passed");
        match stream.read(&mut [0; 64]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => break,
        }
    }
    assert!(is_well(&telemetry));
}

#[test]
fn clients_that_say_nothing_are_hung_up_on() {
    let telemetry = start(anywhere().head_timeout(Duration::from_millis(100)));
    let silent: Vec<_> = (0..20).map(|_| connect(telemetry.address())).collect();
    for stream in silent {
        drain(stream);
    }
    // A connection that has been answered and stays silent must also end.
    let mut used = connect(telemetry.address());
    used.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("it is open");
    assert!(drain(used) > 0);
}

#[test]
fn beyond_the_limit_clients_are_told_and_later_served() {
    let telemetry = start(anywhere().connections_max(3));
    let address = telemetry.address();
    let mut streams: Vec<_> = (0..3).map(|_| Events::open(address, "/events")).collect();
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = exchange(address, request).expect("an answer");
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert!(answer.text().contains("too many"));
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    drop(streams.pop());
    wait_for(|| exchange(address, request).is_some_and(|answer| answer.status == 200));
}

/// Waits until `is` returns true, and yields the thread between two calls.
fn wait_for(mut is: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + common::PATIENCE;
    while !is() {
        assert!(std::time::Instant::now() < end, "it never came true");
        std::thread::yield_now();
    }
}

#[test]
fn readers_that_never_read_are_hung_up_on() {
    let builder = anywhere().write_timeout(Duration::from_millis(300));
    let telemetry = start(builder.interval(Duration::from_millis(10)));
    // A large amount of data soon fills the system's buffers.
    telemetry.watch(common::many_channels(2_000));
    telemetry.look();
    let deaf: Vec<_> = (0..5)
        .map(|_| {
            let mut stream = connect(telemetry.address());
            let request = b"GET /events?every=50 HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(request).expect("it is open");
            stream
        })
        .collect();
    let streams = || {
        let health = get(telemetry.address(), "/health");
        health.text().contains("streams 0\n")
    };
    wait_for(|| !streams());
    wait_for(streams);
    drop(deaf);
    assert!(is_well(&telemetry));
}

#[test]
fn what_slow_readers_leave_unread_takes_bounded_memory() {
    // A slow client must be disconnected for its memory, and not for its slowness.
    let patient = anywhere().write_timeout(Duration::from_secs(3_600));
    let telemetry = start(patient.interval(Duration::from_secs(10)));
    telemetry.watch(common::many_channels(40_000));
    // Each client asks for another snapshot, and reads only the beginning of the answer.
    let slow: Vec<_> = (0..8)
        .map(|_| {
            telemetry.look();
            let mut stream = connect(telemetry.address());
            let request = b"GET /graph.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(request).expect("it is open");
            let mut reader = BufReader::new(stream);
            let status = common::line(&mut reader);
            assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"));
            reader
        })
        .collect();
    let mut is_whole = slow.into_iter().map(|mut reader| {
        let mut length = 0;
        while let Some(line) = common::line(&mut reader).filter(|line| !line.is_empty()) {
            if let Some((_, value)) = line.split_once("content-length: ") {
                length = value.parse().expect("a number");
            }
        }
        assert!(
            length > 10 << 20,
            "{length} bytes are too few for this test"
        );
        reader.read_exact(&mut vec![0; length]).is_ok()
    });
    assert_eq!(
        is_whole.next(),
        Some(false),
        "the oldest answer is given up"
    );
    assert_eq!(
        is_whole.next_back(),
        Some(true),
        "the newest answer is whole"
    );
    assert!(is_well(&telemetry));
}

#[test]
fn limits_may_be_as_long_as_a_duration_can_be() {
    let builder = anywhere().head_timeout(Duration::MAX);
    let telemetry = start(
        builder
            .write_timeout(Duration::MAX)
            .heartbeat(Duration::MAX),
    );
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let health = exchange(telemetry.address(), request);
    assert_eq!(health.map(|answer| answer.status), Some(200));
}

#[test]
fn a_reader_without_a_limit_may_pause() {
    let builder = anywhere().write_timeout(Duration::MAX);
    let telemetry = start(builder.interval(Duration::from_secs(10)));
    // The answer is larger than the buffers of the system, so that a write has to wait.
    telemetry.watch(common::many_channels(40_000));
    telemetry.look();
    let mut stream = connect(telemetry.address());
    stream
        .write_all(b"GET /graph.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("it is open");
    let mut reader = BufReader::new(stream);
    assert_eq!(
        common::line(&mut reader).as_deref(),
        Some("HTTP/1.1 200 OK")
    );
    // The server serves others while the rest waits.
    assert_eq!(get(telemetry.address(), "/health").status, 200);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).expect("the whole answer");
    assert!(rest.ends_with(b"}"), "{} bytes", rest.len());
}

#[test]
fn a_body_is_never_read() {
    let telemetry = start(anywhere());
    let mut stream = connect(telemetry.address());
    let head = "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it is open");
    let answer = read_answer(&mut BufReader::new(stream), false);
    assert_eq!(answer.expect("an answer before any body").status, 200);
}
