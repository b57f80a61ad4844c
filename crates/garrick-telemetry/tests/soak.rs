//! Compares the speed of a pipeline while many clients watch it with the speed of the same pipeline
//! without clients.
//!
//! `GARRICK_SOAK_SECONDS=60 cargo test --release -p garrick-telemetry --test soak -- --nocapture`
//! measures for 60 seconds: one second with clients, one second without, and so on. The test fails
//! if the clients slow the pipeline by more than 5 %. Without the variable, the test runs briefly,
//! does not measure the speed, and only checks that all parts work together.

mod common;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use common::{Events, anywhere, connect, get, start};
use garrick_flow::{Graph, Monitor, Running, stages};
use garrick_testkit::setting;

const CROWD: usize = 500;

/// Number of clients that request events and never read them.
const DEAF: usize = 20;

/// Time between two malformed requests.
const STRANGE_EVERY: Duration = Duration::from_millis(10);

/// Maximum share of its speed that the pipeline may lose.
const SLOWED_MAX: f64 = 0.05;

/// Starts a pipeline of three stages on one thread. The other core is left to the clients.
fn pipeline() -> Running {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u64>(1 << 14).expect("slots");
    let (odd, odd_in) = graph.channel::<bool>(1 << 14).expect("slots");
    graph
        .team("all")
        .source("numbers", stages::produce(numbers, 0..))
        .stage(
            "odd",
            stages::map(numbers_in, odd, |n| n % 2 == 1).wait_for(4096),
        )
        .stage("check", stages::consume(odd_in, |_| ()).wait_for(4096));
    graph.start().expect("a thread")
}

/// Returns the messages per second of the pipeline during `slice`. If `stop` receives a message,
/// the measurement ends early.
fn speed(monitor: &Monitor, stop: &Receiver<()>, slice: Duration) -> f64 {
    let taken = || monitor.sample().channels[1].taken;
    let (before, began) = (taken(), Instant::now());
    let _ = stop.recv_timeout(slice);
    (taken() - before) as f64 / began.elapsed().as_secs_f64()
}

/// Opens many event streams, and reads them in turn until one of them ends.
fn crowd(address: SocketAddr) {
    let mut streams: Vec<_> = (0..CROWD)
        .map(|_| Events::open(address, "/events"))
        .collect();
    while streams.iter_mut().all(|stream| stream.next().is_some()) {}
}

/// Sends malformed requests until the test stops. Some more clients open streams and never read
/// them.
fn strangers(address: SocketAddr, stop: &Receiver<()>) {
    let deaf: Vec<_> = (0..DEAF)
        .map(|_| {
            let mut stream = connect(address);
            let _ = stream.write_all(b"GET /events?every=50 HTTP/1.1\r\nHost: localhost\r\n\r\n");
            stream
        })
        .collect();
    let strange: [&[u8]; 4] = [
        b"GET",
        b"\0\xff\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PUT /events HTTP/9.9\r\n\r\n",
    ];
    let mut turn = 0;
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(STRANGE_EVERY) {
        // The server may just have ended.
        if let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.write_all(strange[turn % strange.len()]);
        }
        turn += 1;
    }
    drop(deaf);
}

/// Returns the speed of the pipeline while all clients watch it.
fn watched_speed(monitor: &Monitor, stop: &Receiver<()>, slice: Duration) -> f64 {
    let telemetry = start(anywhere());
    telemetry.watch(monitor.clone());
    let address = telemetry.address();
    let (end, is_end) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| crowd(address));
        scope.spawn(move || strangers(address, &is_end));
        let all = format!("streams {}\n", CROWD + DEAF);
        while !get(address, "/health").text().contains(&all) {
            thread::yield_now();
        }
        let speed = speed(monitor, stop, slice);
        drop(end);
        drop(telemetry);
        speed
    })
}

#[test]
fn a_crowd_does_not_slow_the_pipeline() {
    let seconds: Option<u64> = setting("GARRICK_SOAK_SECONDS");
    let slice = Duration::from_millis(if seconds.is_some() { 1_000 } else { 50 });
    let turns = seconds.map_or(1, |seconds| (seconds / 2).max(1));
    let running = pipeline();
    let monitor = running.monitor();
    let (_never, stop) = mpsc::channel();
    let mut ratios: Vec<f64> = (0..turns)
        .map(|_| {
            let alone = speed(&monitor, &stop, slice);
            let watched = watched_speed(&monitor, &stop, slice);
            println!(
                "{:.1} M/s alone, {:.1} M/s watched",
                alone / 1e6,
                watched / 1e6
            );
            watched / alone
        })
        .collect();
    running.stop();
    let report = running.join();
    assert!(report.failures().is_empty());
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    println!(
        "median of {turns}: {:.1} % of the speed alone",
        median * 100.0
    );
    assert!(
        seconds.is_none() || median >= 1.0 - SLOWED_MAX,
        "slowed to {median}"
    );
}
