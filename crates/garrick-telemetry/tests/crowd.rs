//! Tests five hundred clients at once. The test of memory runs only on Linux, because telemetry
//! knows the memory only there.
#![cfg(all(target_os = "linux", not(garrick_portable)))]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{Events, PATIENCE, anywhere, connect, get, start};
use garrick_telemetry::Telemetry;
use garrick_testkit::alone;

const CROWD: usize = 500;

/// Maximum growth of the process's memory by five hundred streams: 40 KB for each stream. Both ends
/// of each stream are in this process.
const GROWTH_MAX: u64 = 20 << 20;

/// Returns the resident memory of this process.
fn resident(telemetry: &Telemetry) -> u64 {
    telemetry.look();
    let bytes = telemetry.latest().process.resident_bytes;
    bytes.expect("the tests run on Linux")
}

fn open_raw(telemetry: &Telemetry) -> TcpStream {
    let mut stream = connect(telemetry.address());
    let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).expect("it is open");
    stream
}

fn wait_for_streams(telemetry: &Telemetry, count: usize) {
    let end = std::time::Instant::now() + PATIENCE;
    let line = format!("streams {count}\n");
    while !get(telemetry.address(), "/health").text().contains(&line) {
        assert!(std::time::Instant::now() < end, "never {line}");
    }
}

#[test]
fn five_hundred_streams_are_served_and_released() {
    // Memory is the whole process's.
    let _alone = alone();
    let telemetry = start(anywhere());
    telemetry.watch(common::many_channels(20));
    let before = resident(&telemetry);
    let mut streams: Vec<_> = (0..CROWD)
        .map(|_| Events::open(telemetry.address(), "/events"))
        .collect();
    wait_for_streams(&telemetry, CROWD);
    for round in 0..3 {
        for stream in &mut streams {
            let event = stream.next().expect("the stream goes on");
            assert!(round > 0 || event.retry.is_some(), "{event:?}");
        }
    }
    let grown = resident(&telemetry).saturating_sub(before);
    println!("{CROWD} streams take {grown} bytes");
    assert!(grown < GROWTH_MAX, "{CROWD} streams take {grown} bytes");
    drop(streams);
    wait_for_streams(&telemetry, 0);
}

#[test]
fn streams_that_come_and_go_leave_nothing_behind() {
    // Memory is the whole process's.
    let _alone = alone();
    let telemetry = start(anywhere());
    telemetry.watch(common::many_channels(20));
    let round = || {
        let streams: Vec<_> = (0..200).map(|_| open_raw(&telemetry)).collect();
        for mut stream in streams {
            stream.read_exact(&mut [0; 100]).expect("it begins");
        }
        wait_for_streams(&telemetry, 0);
    };
    round();
    let before = resident(&telemetry);
    for _ in 0..10 {
        round();
    }
    let grown = resident(&telemetry).saturating_sub(before);
    println!("2,000 streams leave {grown} bytes");
    assert!(grown < GROWTH_MAX / 4, "2,000 streams leave {grown} bytes");
}
