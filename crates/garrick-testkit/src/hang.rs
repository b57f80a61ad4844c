//! An end for scenarios that hang, and one scenario at a time.

use std::panic;
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Says what a scenario that hangs may take. Nothing is measured by it.
pub const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Receives, or gives up when the scenario hangs.
///
/// # Panics
///
/// When nothing comes within [`HANGS_AFTER`], or nobody is left to send.
#[track_caller]
pub fn wait<T>(channel: &mpsc::Receiver<T>) -> T {
    channel.recv_timeout(HANGS_AFTER).expect("it never comes")
}

/// Runs `scenario` on a thread of its own, whose spare blocks are back when it ends.
///
/// # Panics
///
/// When it does not end within [`HANGS_AFTER`], or as it does.
#[track_caller]
pub fn ends(scenario: impl FnOnce() + Send + 'static) {
    ends_or(scenario, || {});
}

/// Runs `scenario` as [`ends`] does, and calls `hangs` first if it does not end.
///
/// # Panics
///
/// When it does not end within [`HANGS_AFTER`], or as it does.
#[track_caller]
pub fn ends_or(scenario: impl FnOnce() + Send + 'static, hangs: impl FnOnce()) {
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

/// Keeps all others of the program out that ask for the same, for counts that are of the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `scenario` as [`ends`] does, while it is [`alone`].
///
/// # Panics
///
/// When it does not end within [`HANGS_AFTER`], or as it does.
#[track_caller]
pub fn ends_alone(scenario: impl FnOnce() + Send + 'static) {
    let _alone = alone();
    ends(scenario);
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_scenario_that_ends_is_waited_for() {
        let (told, heard) = mpsc::channel();
        ends(move || told.send(7).unwrap());
        assert_eq!(wait(&heard), 7);
    }

    #[test]
    fn a_panic_is_that_of_the_scenario_and_the_next_one_is_not_kept_out() {
        let panic = catch_unwind(|| ends_alone(|| panic::resume_unwind(Box::new(7)))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&7));
        drop(alone());
    }
}
