//! A pipeline of market data with a live web page. The pipeline generates a feed of trades, decodes
//! and checks the packets, and computes a bar for each thousand trades of a share. The README shows
//! how to run the program.
#![forbid(unsafe_code)]

mod trade;

mod bars;
mod feed;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use garrick::flow::{Graph, Slots, stages};
use garrick::telemetry::Telemetry;

use bars::Bars;
use feed::Feed;
use trade::{SHARES, Trade};

/// Number of slots of each channel.
const SLOTS: usize = 8_192;

/// Runs a pipeline of market data with a live web page.
#[derive(Parser)]
struct Arguments {
    /// Address of the web page.
    #[arg(long, default_value = "127.0.0.1:9900")]
    address: SocketAddr,
    /// Number of trades per second. 0 means as many as possible.
    #[arg(long, default_value_t = 200_000)]
    rate: u64,
    /// Number of trades after which the feed ends. By default, the feed ends at the first line or
    /// the end of the standard input, for example after Enter.
    #[arg(long)]
    trades: Option<u64>,
    /// Number of stages that compute bars, each for some of the shares.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    parts: u8,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let telemetry = Telemetry::builder()
        .name("market-data")
        .address(arguments.address)
        .start()?;
    let parts: usize = arguments.parts.into();
    let mut graph = Graph::new();
    let (packets, packets_in) = graph.channel(Slots::of(SLOTS).named("packets").batch(256))?;
    let (trades, trades_in) = graph.channel::<Trade>(Slots::of(SLOTS).named("trades"))?;
    let (shares, shares_in) = graph.bundle(parts, Slots::of(SLOTS))?;

    graph.source(
        "feed",
        stages::produce(packets, Feed::new(arguments.rate, arguments.trades)),
    );
    // A packet that is damaged becomes a trade of no share, which has no bars.
    graph.stage("decode", stages::map(packets_in, trades, Trade::decode));
    graph.stage(
        "by share",
        stages::partition(trades_in, shares, |trade: &Trade| trade.share),
    );
    let results: Vec<_> = (0..parts)
        .map(|_| Arc::new(Mutex::new(Bars::default())))
        .collect();
    for (input, bars) in shares_in.into_iter().zip(&results) {
        let bars = Arc::clone(bars);
        let add = move |batch: &[Trade]| {
            // The lock is free until the end of the pipeline.
            let mut bars = bars.lock().unwrap_or_else(PoisonError::into_inner);
            batch.iter().for_each(|trade| bars.add(trade));
        };
        graph.stage("bars", stages::consume(input, add));
    }
    let running = graph.start()?;
    telemetry.watch(running.monitor());
    println!("the page is at {}", telemetry.url());
    println!("in the terminal: cargo top {}", telemetry.address());
    if arguments.trades.is_none() {
        println!("press Enter to end");
        let _ = std::io::stdin().lines().next();
        running.stop();
    }
    let report = running.join();
    if let Some(failure) = report.failures().first() {
        return Err(failure.message.clone().into());
    }
    let mut all = Bars::default();
    for bars in results {
        all.merge(&bars.lock().unwrap_or_else(PoisonError::into_inner));
    }
    for share in 0..SHARES {
        println!("{}", all.line(share));
    }
    println!("{} trades, {} damaged packets", all.trades(), all.damaged());
    Ok(())
}
