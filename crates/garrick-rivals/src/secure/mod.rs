//! The secure socket over a TCP connection on this machine, compared with the same cipher and HMAC
//! over bytes in memory.
//!
//! ```text
//!   memory:     thread: seal seal seal          thread: open open open         nothing between them
//!   loopback:   worker: seal, write ----- TCP ----- worker: read, open, hand over
//! ```
//!
//! Both measurements use two cores, and alternate round by round. A ratio is the median of the
//! ratios of the rounds. The workers sleep in tokio's driver, so no third thread waits for the
//! sockets. Times are wall time from the first frame to the last.

mod memory;
mod wire;

use garrick::secure::Suite;
use garrick_measure::{Result, Section, Study};

use comfy_table::{Table, presets};
use wire::Wire;

/// The study of the secure socket, which is run by the subcommand `secure`.
pub(super) const SECURE: Study = Study {
    name: "secure",
    about: "Frames through the secure socket, compared with the same cipher and HMAC in memory",
    sections: &[Section {
        name: "secure",
        run,
    }],
};

/// The number of rounds, and the number of payload bytes in each.
#[derive(Clone, Copy)]
struct Sizes {
    rounds: usize,
    /// Number of payload bytes in a round.
    round_bytes: usize,
}

const FULL: Sizes = Sizes {
    rounds: 15,
    round_bytes: 32 << 20,
};

const QUICK: Sizes = Sizes {
    rounds: 5,
    round_bytes: 8 << 20,
};

const SUITES: [(&str, Suite); 2] = [
    ("SHA-256", Suite::Aes256CtrHmacSha256),
    ("SHA3-256", Suite::Aes256CtrHmacSha3),
];

/// Sizes of the payloads, in bytes.
const PAYLOADS: [usize; 3] = [1 << 10, 16 << 10, 256 << 10];

/// The medians of all rounds with one hash function and one payload size.
struct Row {
    suite: &'static str,
    payload_bytes: usize,
    /// Throughput in memory, in megabytes per second.
    memory: f64,
    loopback: f64,
    /// Throughput over TCP divided by the throughput in memory.
    ratio: f64,
}

fn run(quick: bool) -> Result<String> {
    let sizes = if quick { QUICK } else { FULL };
    let mut rows = Vec::new();
    for suite in SUITES {
        for payload_bytes in PAYLOADS {
            rows.push(measure(suite, payload_bytes, sizes)?);
        }
    }
    Ok(format!(
        "{} MiB per round, median of {} rounds\n\n{}",
        sizes.round_bytes >> 20,
        sizes.rounds,
        table(&rows)
    ))
}

fn measure(
    (name, suite): (&'static str, Suite),
    payload_bytes: usize,
    sizes: Sizes,
) -> Result<Row> {
    let payload = bytes::Bytes::from(vec![7; payload_bytes]);
    let frames = sizes.round_bytes / payload_bytes;
    let megabytes = (frames * payload_bytes) as f64 / 1e6;
    let wire = Wire::new(suite)?;
    wire.round(&payload, frames)?;
    let (mut memories, mut loopbacks, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let memory = memory::round(suite, &payload, frames)?.as_secs_f64();
        let loopback = wire.round(&payload, frames)?.as_secs_f64();
        memories.push(megabytes / memory);
        loopbacks.push(megabytes / loopback);
        ratios.push(memory / loopback);
    }
    Ok(Row {
        suite: name,
        payload_bytes,
        memory: median(memories),
        loopback: median(loopbacks),
        ratio: median(ratios),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["HMAC", "payload", "in memory", "over TCP", "ratio"]);
    for row in rows {
        table.add_row([
            row.suite.to_owned(),
            format!("{} KiB", row.payload_bytes >> 10),
            format!("{:.0} MB/s", row.memory),
            format!("{:.0} MB/s", row.loopback),
            format!("{:.0} %", 100.0 * row.ratio),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_whatever_the_suite() {
        let sizes = Sizes {
            rounds: 1,
            round_bytes: 64 << 10,
        };
        for suite in SUITES {
            let row = measure(suite, 1 << 10, sizes).unwrap();
            assert!(row.ratio > 0.0 && row.memory > 0.0 && row.loopback > 0.0);
        }
    }
}
