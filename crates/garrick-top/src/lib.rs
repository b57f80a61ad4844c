//! `garrick top`: what goes on in another process, live in a terminal.
//!
//! ```text
//!   process == HTTP ==> client, events
//!                             |
//!                           feed  (a thread: waits on the network)
//!                             |  Word
//!                             v
//!   News: a bounded channel ====> State ----> draw ----> terminal
//!                             ^
//!                             |  keys, resizes
//!                          terminal  (a thread: waits on the keyboard)
//! ```
//!
//! Nothing polls: each thread sleeps until something comes. `state` and `draw` know neither clock nor terminal
//! nor network, so that tests see the very screens that people see. Whatever a process says is made safe to print
//! where it comes in, in `text`.
#![forbid(unsafe_code)]

mod text;

mod target;

mod events;

mod client;

mod feed;

mod history;
mod values;

mod tables;

mod keys;
mod state;

mod detail;

mod theme;

mod draw;
mod plain;

mod live;

#[cfg(test)]
mod sample;

use std::time::Duration;

use garrick_measure::Result;

pub use client::Client;
pub use target::Target;

/// Returns one look at a process, as plain text.
///
/// # Errors
///
/// If the process cannot be asked.
pub fn page(client: &Client) -> Result<String> {
    let mut snapshot = client.snapshot()?;
    text::clean(&mut snapshot);
    Ok(plain::page(&snapshot))
}

/// Returns one look at a process, as JSON in one line.
///
/// # Errors
///
/// If the process cannot be asked.
pub fn json(client: &Client) -> Result<String> {
    let snapshot = client.snapshot()?;
    Ok(text::safe_json(&serde_json::to_string(&snapshot)?))
}

/// Shows a process in this terminal until the user quits, anew every `interval`.
///
/// # Errors
///
/// If the process cannot be asked, or there is no terminal. Failures that come later are shown.
pub fn watch(client: Client, interval: Duration) -> Result<()> {
    // Better said in the terminal as it is than on a screen that is gone in a moment.
    client.snapshot()?;
    live::run(client, interval)
}
