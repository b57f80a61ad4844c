//! Who waits how long for whom: late messages, starved actors, unequal shares, work that stays on one core, and asks from outside.
//!
//! The roles are written once, on the frameworks of `actors`. The driver is a plain thread that is none of the framework's, so
//! that `workers` threads run actors and nothing else:
//!
//! ```text
//!   this thread --- place, tell, ask ---> workers [ actors ]
//! ```
//!
//! Contenders take turns, round by round, each time with threads of their own that begin and end with the round; a figure is
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

/// For how long anybody is waited for who may never come.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The subcommand.
pub(super) const LATENCY: Study = Study {
    name: "latency",
    about: "Late messages, starved actors, unequal shares, idle cores and asks from outside, beside other actor libraries",
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

/// A table under the sentence that says what is measured.
fn told<const N: usize>(sentence: &str, header: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL).set_header(header);
    table.add_rows(rows);
    format!("{sentence}\n{table}")
}
