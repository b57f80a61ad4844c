//! Tests of actors in tokio's driver, and of addresses in tokio's tasks.
#![forbid(unsafe_code)]

mod blocking;
mod drivers;
mod ends;
#[cfg(target_os = "linux")]
mod idle;
mod mains;
#[cfg(target_os = "linux")]
mod signals;
mod sockets;
mod time;

use std::time::Duration;

use garrick_actor::System;
use garrick_tokio::Tokio;

/// Starts a system of `workers` workers that sleep in tokio's driver.
fn system(workers: usize) -> System {
    let builder = System::builder().name("driven").workers(workers);
    builder.driver(Tokio::new()).start().unwrap()
}

/// Returns a future that waits by one of tokio's own timers.
fn later(delay: Duration) -> tokio::time::Sleep {
    tokio::time::sleep_until(tokio::time::Instant::now() + delay)
}
