//! The study of latency: late messages, starved actors, unequal shares of time, work that stays on
//! one core, and questions from threads outside of the framework.
//!
//! The roles are written once, for the frameworks of `actors`. The driver is a plain thread outside
//! of the framework. So the `workers` threads run only actors:
//!
//! ```text
//!   this thread --- place, tell, ask ---> workers [ actors ]
//! ```
//!
//! The contenders run alternately, round by round. Each round starts new threads. Each figure is
//! the median of the rounds.

mod work;

mod turns;

mod peers;

mod garrick;

mod busy;

mod ask_tokio;
mod asks;
mod equal;
mod late;

mod blocking;
mod pair;
mod radix;
mod spread;
mod starve;
mod tail;

use std::time::Duration;

pub(super) use ask_tokio::ASK_TOKIO;
use comfy_table::{Table, presets::UTF8_FULL};
use garrick_measure::{Section, Study};

/// Time limit for waits that might never end.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The study of latency, which is run by the subcommand `latency`.
pub(super) const LATENCY: Study = Study {
    name: "latency",
    about: "Late messages, starved actors, unequal shares of time, idle cores and asks from \
            outside, compared with other libraries",
    sections: &[
        Section {
            name: "tail",
            run: tail::section,
        },
        Section {
            name: "blocking",
            run: blocking::section,
        },
        Section {
            name: "starve",
            run: starve::section,
        },
        Section {
            name: "equal",
            run: equal::section,
        },
        Section {
            name: "spread",
            run: spread::section,
        },
        Section {
            name: "pair",
            run: pair::section,
        },
        Section {
            name: "radix",
            run: radix::section,
        },
        Section {
            name: "asks",
            run: asks::section,
        },
    ],
};

/// Returns a table, with a sentence above it that describes the measurement.
fn told<const N: usize>(sentence: &str, header: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL).set_header(header);
    table.add_rows(rows);
    format!("{sentence}\n{table}")
}
