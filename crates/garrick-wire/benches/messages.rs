//! Measures encoding and decoding, in comparison with postcard and with a plain copy of the bytes.
//!
//! `cargo bench -p garrick-wire` prints a table with the nanoseconds for each message. Each figure
//! is the median of several rounds. The compared functions run alternately. To shorten the run, add
//! `--bench messages -- --quick`.

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use garrick_wire::{Limits, Wire};
use serde::{Deserialize, Serialize};

/// Number of rounds in a full run.
const ROUNDS: usize = 21;

/// Duration of a round in a full run.
const ROUND: Duration = Duration::from_millis(50);

/// Number of calls between two readings of the clock.
const BATCH: u32 = 1_000;

/// A message with two numbers, which take 16 bytes in memory.
#[derive(Wire, Serialize, Deserialize, Clone)]
struct Small {
    account: u64,
    cents: u64,
}

/// A message with fields of several types, which take about 256 bytes when encoded.
#[derive(Wire, Serialize, Deserialize, Clone)]
struct Medium {
    from: u64,
    to: u64,
    cents: u64,
    is_urgent: bool,
    currency: Option<String>,
    note: String,
    tags: Vec<u32>,
}

/// A list of 16 messages of 256 bytes.
#[derive(Wire, Serialize, Deserialize, Clone)]
struct Large {
    parts: Vec<Medium>,
}

/// A message with a text of 4,000 bytes.
#[derive(Wire, Serialize, Deserialize, Clone)]
struct Text {
    id: u64,
    text: String,
}

fn medium() -> Medium {
    Medium {
        from: 1 << 40,
        to: 1 << 41,
        cents: 12_345,
        is_urgent: true,
        currency: Some("EUR".to_owned()),
        note: "x".repeat(196),
        tags: (0..16).map(|tag| tag * 1_000).collect(),
    }
}

/// Measures the functions in `calls` alternately. Returns the duration of a call of each function
/// in nanoseconds.
fn measure<const N: usize>(is_quick: bool, calls: [&mut dyn FnMut(); N]) -> [f64; N] {
    let (rounds, round) = if is_quick {
        (1, Duration::from_millis(2))
    } else {
        (ROUNDS, ROUND)
    };
    let mut times = [const { Vec::new() }; N];
    let mut calls = calls;
    for _ in 0..rounds {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let (start, mut count) = (Instant::now(), 0);
            while start.elapsed() < round {
                for _ in 0..BATCH {
                    call();
                }
                count += BATCH;
            }
            times.push(start.elapsed().as_nanos() as f64 / f64::from(count));
        }
    }
    times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// Measures a message, and prints its row.
fn row<T>(is_quick: bool, name: &str, message: &T)
where
    T: Wire + Serialize + for<'de> Deserialize<'de> + Clone,
{
    let limits = Limits::new();
    let mut ours = Vec::new();
    limits
        .encode(message.clone(), &mut ours)
        .expect("a small message");
    let theirs = postcard::to_allocvec(message).expect("a simple message");
    let (mut out, mut buffer, mut place) = (
        Vec::with_capacity(1 << 16),
        vec![0; 1 << 16],
        vec![0; ours.len()],
    );
    let [clone, encode, decode, their_encode, their_decode, copy] = measure(
        is_quick,
        [
            &mut || drop(black_box(message.clone())),
            &mut || {
                out.clear();
                let encoded = limits.encode(black_box(message).clone(), &mut out);
                encoded.expect("a small message");
                black_box(&out);
            },
            &mut || {
                let decoded = limits.decode::<T>(black_box(&ours));
                drop(black_box(decoded.expect("our bytes")));
            },
            &mut || {
                let message = black_box(message).clone();
                let written = postcard::to_slice(&message, &mut buffer);
                black_box(written.expect("a large buffer"));
            },
            &mut || {
                let decoded: T = postcard::from_bytes(black_box(&theirs)).expect("their bytes");
                drop(black_box(decoded));
            },
            &mut || {
                place.copy_from_slice(black_box(&ours));
                black_box(&place);
            },
        ],
    );
    // A message is moved into the encoder, so that each call needs one of its own. The time of the
    // clone and of its drop is not part of the encoding.
    println!(
        "| {name} | {} | {} | {:.1} | {decode:.1} | {:.1} | {their_decode:.1} | {copy:.1} |",
        ours.len(),
        theirs.len(),
        encode - clone,
        their_encode - clone,
    );
}

fn main() {
    let is_quick = env::args().any(|argument| argument == "--quick")
        || env::var_os("GARRICK_BENCH_QUICK").is_some();
    println!(
        "| message | bytes | postcard | encode, ns | decode, ns | encode, postcard | decode, postcard | copy |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let small = Small {
        account: 7,
        cents: 12_345,
    };
    row(is_quick, "16 B, small numbers", &small);
    let random = Small {
        account: 0x9e37_79b9_7f4a_7c15,
        cents: 0xbf58_476d_1ce4_e5b9,
    };
    row(is_quick, "16 B, large numbers", &random);
    row(is_quick, "256 B, seven fields", &medium());
    let parts = vec![medium(); 16];
    row(is_quick, "4 KiB, 16 messages", &Large { parts });
    let text = Text {
        id: 7,
        text: "x".repeat(4_000),
    };
    row(is_quick, "4 KiB, a text", &text);
}
