//! Actors in tokio's driver, and addresses in tokio's tasks, by scenario.
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
mod stress;
mod time;

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use garrick_actor::System;
use garrick_tokio::Tokio;

/// Longer than anything takes, to guard against hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A system of so many workers that sleep in tokio's driver.
fn system(workers: usize) -> System {
    let builder = System::builder().name("driven").workers(workers);
    builder.driver(Tokio::new()).start().unwrap()
}

/// One of tokio's own timers.
fn later(delay: Duration) -> tokio::time::Sleep {
    tokio::time::sleep_until(tokio::time::Instant::now() + delay)
}

/// What comes next, if anything ever does.
#[track_caller]
fn wait<T>(heard: &Receiver<T>) -> T {
    heard.recv_timeout(PATIENCE).expect("it hangs")
}

/// Fails if `body` does not end.
#[track_caller]
fn ends(body: impl FnOnce() + Send + 'static) {
    let (over, heard) = channel();
    let thread = thread::spawn(move || {
        body();
        let _ = over.send(());
    });
    let heard = heard.recv_timeout(PATIENCE);
    if thread.is_finished() || heard.is_ok() {
        thread.join().unwrap();
    }
    heard.expect("it hangs");
}
