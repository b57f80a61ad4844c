//! `garrick top`: a live view of another process in a terminal.
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
//! No thread polls. Each thread sleeps until there is something to do. `state` and `draw` do not
//! use a clock, a terminal or a network, so tests see the same screens as users. As soon as text
//! from the process arrives, the module `text` makes it safe to print.
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

/// Requests the current snapshot of a process, and returns it as plain text.
///
/// # Errors
///
/// Returns an error if the request fails.
pub fn page(client: &Client) -> Result<String> {
    let mut snapshot = client.snapshot()?;
    text::clean(&mut snapshot);
    Ok(plain::page(&snapshot))
}

/// Requests the current snapshot of a process, and returns it as one line of JSON.
///
/// # Errors
///
/// Returns an error if the request fails.
pub fn json(client: &Client) -> Result<String> {
    let snapshot = client.snapshot()?;
    Ok(text::safe_json(&serde_json::to_string(&snapshot)?))
}

/// Shows the telemetry of a process in this terminal until the user quits. Refreshes the screen
/// every `interval`.
///
/// # Errors
///
/// Returns an error if the first request fails, or if there is no terminal. Later failures are
/// shown on the screen.
pub fn watch(client: Client, interval: Duration) -> Result<()> {
    // Reports a failure before the screen is taken over, so that the message stays on the terminal.
    client.snapshot()?;
    live::run(client, interval)
}
