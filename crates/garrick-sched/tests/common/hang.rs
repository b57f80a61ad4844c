//! A timeout for scenarios that hang.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::panic;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Time after which a scenario counts as hanging. Nothing is measured by it.
pub(crate) const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Receives a message, and fails if the scenario hangs.
#[track_caller]
pub(crate) fn wait<T>(channel: &mpsc::Receiver<T>) -> T {
    channel.recv_timeout(HANGS_AFTER).expect("it never comes")
}

/// Runs `scenario` on a separate thread, and fails if it does not end.
#[track_caller]
pub(crate) fn ends(scenario: impl FnOnce() + Send + 'static) {
    ends_or(scenario, || {});
}

/// Runs `scenario` on a separate thread. Calls `hangs` and fails if it does not
/// end.
#[track_caller]
pub(crate) fn ends_or(scenario: impl FnOnce() + Send + 'static, hangs: impl FnOnce()) {
    let (ended, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        scenario();
        let _ = ended.send(());
    });
    if end.recv_timeout(HANGS_AFTER) == Err(mpsc::RecvTimeoutError::Timeout) {
        hangs();
        panic!("the scenario hangs");
    }
    if let Err(panic) = thread.join() {
        panic::resume_unwind(panic);
    }
}
