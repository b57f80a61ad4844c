//! Rows with a NATS server. Compares nodes with the NATS client without Garrick, in the same run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use futures_util::StreamExt;
use garrick_cluster::nats::NatsNet;
use tokio::runtime::{Builder, Runtime};

use crate::{SIZES, asks, median, median_time, tells};
use raw::subscribe;
use server::Server;

#[path = "../../tests/nats/client.rs"]
mod raw;

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/nats/server.rs"]
pub(crate) mod server;

/// Size of a frame in bytes, as in the links of nodes.
const FRAME: usize = 32 << 10;

/// Maximum number of bytes under way.
const WINDOW: u64 = 4 << 20;

/// Prints the rows.
pub(crate) fn rows(divisor: u64, rounds: usize) {
    let Some(server) = Server::start("max_payload: 8MB") else {
        return;
    };
    println!(
        "\n{:<20}{:>14}{:>14}{:>14}",
        "on NATS", "messages/s", "raw", "ratio"
    );
    let net = || NatsNet::builder(server.address()).start().unwrap();
    for (bytes, count) in SIZES {
        let count = count / divisor;
        // Alternately, because other programs may use the machine.
        let both = (0..rounds).map(|_| {
            let [rate, ..] = tells(net, bytes, count);
            (rate, raw_tells(&server, bytes, count))
        });
        let (own, raw): (Vec<_>, Vec<_>) = both.unzip();
        let middle = |rates: Vec<f64>| median(rates.into_iter().map(|rate| [rate; 3]).collect())[0];
        let (own, raw) = (middle(own), middle(raw));
        let row = format!("tell, {bytes} bytes");
        println!("{row:<20}{own:>14.0}{raw:>14.0}{:>14.2}", own / raw);
    }
    let count = 5_000 / divisor as u32;
    let (own, raw) = (asks(net, count), raw_asks(&server, count));
    let ratio = own.as_secs_f64() / raw.as_secs_f64();
    println!("{:<20}{own:>14.1?}{raw:>14.1?}{ratio:>14.2}", "ask, median");
}

pub(crate) fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

pub(crate) async fn client(server: &Server) -> Client {
    let options = ConnectOptions::new().subscription_capacity(1 << 20);
    options.connect(server.address()).await.unwrap()
}

/// Returns messages per second if their bytes are sent in frames, and the receiver reports how many
/// messages have arrived.
fn raw_tells(server: &Server, bytes: usize, count: u64) -> f64 {
    let frames = (count * bytes as u64).div_ceil(FRAME as u64);
    let taken = Arc::new(AtomicU64::new(0));
    runtime().block_on(async {
        let (from, to) = (client(server).await, client(server).await);
        let mut credits = subscribe(&from, "raw.credit").await;
        let mut incoming = subscribe(&to, "raw.to").await;
        let counted = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Some(frame) = incoming.next().await {
                let more = frame.payload.len() as u64;
                let before = counted.fetch_add(more, Relaxed);
                if before / (WINDOW / 8) != (before + more) / (WINDOW / 8) {
                    to.publish("raw.credit", Bytes::new()).await.unwrap();
                }
            }
        });
        let messages = vec![7; FRAME];
        let began = Instant::now();
        let mut sent = 0;
        for _ in 0..frames {
            while sent - taken.load(Relaxed) > WINDOW {
                credits.next().await.unwrap();
            }
            let frame = Bytes::copy_from_slice(&messages);
            sent += frame.len() as u64;
            from.publish("raw.to", frame).await.unwrap();
        }
        while taken.load(Relaxed) < sent {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        sent as f64 / bytes as f64 / began.elapsed().as_secs_f64()
    })
}

/// Returns the median time of a request and its reply.
fn raw_asks(server: &Server, count: u32) -> Duration {
    let runtime = runtime();
    let (from, to) = runtime.block_on(async { (client(server).await, client(server).await) });
    let mut requests = runtime.block_on(subscribe(&to, "raw.echo"));
    runtime.spawn(async move {
        while let Some(request) = requests.next().await {
            let reply = request.reply.unwrap();
            to.publish(reply, request.payload).await.unwrap();
        }
    });
    median_time(count, || {
        let answer = from.request("raw.echo", Bytes::from_static(&[7; 16]));
        runtime.block_on(answer).unwrap();
    })
}
