//! A pipeline that is watched by telemetry. The program starts telemetry on a free port, fetches
//! one snapshot, and exits.
//!
//! To see the pipeline live, remove the end of the program, and open the printed address in a
//! browser.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use garrick::flow::{Graph, stages};
use garrick::telemetry::{Snapshot, Telemetry};

fn main() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u64>(65_536)?;
    let (squares, squares_in) = graph.channel::<u64>(65_536)?;
    graph.source("numbers", stages::produce(numbers, 0..20_000_000));
    graph.stage("square", stages::map(numbers_in, squares, |n| n * n));
    graph.stage("drop", stages::consume(squares_in, |_| ()));

    // Port 0 is any free port. `Telemetry::start()` uses 127.0.0.1:9900, or the next free port.
    let telemetry = Telemetry::builder()
        .address(([127, 0, 0, 1], 0).into())
        .start()?;
    let running = graph.start()?;
    telemetry.watch(running.monitor());
    println!("watched at {}", telemetry.url());

    running.join();
    telemetry.look();
    let snapshot = fetch(&telemetry)?;
    for edge in &snapshot.edges {
        println!(
            "channel {}: {} messages, 80 % of the time at most {:.0} % full",
            edge.id,
            edge.total,
            edge.fill_p80 * 100.0
        );
    }
    Ok(())
}

/// Fetches the newest snapshot, as any program can.
fn fetch(telemetry: &Telemetry) -> Result<Snapshot, Box<dyn Error>> {
    let mut stream = TcpStream::connect(telemetry.address())?;
    write!(
        stream,
        "GET /graph.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    Ok(serde_json::from_str(body)?)
}
