//! Functions that limit the duration of a test scenario, or that run a scenario alone.

use std::panic;
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The time limit of a scenario. A scenario that takes longer counts as hanging.
pub const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Waits for a value from `channel`, and returns the value.
///
/// # Panics
///
/// Panics if nothing arrives within [`HANGS_AFTER`], or if all senders are gone.
#[track_caller]
pub fn wait<T>(channel: &mpsc::Receiver<T>) -> T {
    channel
        .recv_timeout(HANGS_AFTER)
        .expect("the scenario sends no value")
}

/// Runs `scenario` on a new thread, and waits until it has ended. When the thread exits, its unused
/// memory blocks are returned to the scheduler, so that other threads can use them.
///
/// # Panics
///
/// Panics if the scenario does not end within [`HANGS_AFTER`], or if it panics.
#[track_caller]
pub fn ends(scenario: impl FnOnce() + Send + 'static) {
    ends_or(scenario, || {});
}

/// Runs `scenario` like [`ends`]. If the scenario does not end in time, calls `hangs` and then
/// panics.
///
/// # Panics
///
/// Panics if the scenario does not end within [`HANGS_AFTER`], or if it panics.
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

/// Locks a mutex that all threads of this process share, and returns its guard. Scenarios that
/// check counters of the whole process hold this guard, so that no two of them run at the same
/// time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `scenario` like [`ends`], and holds the guard of [`alone`] until the scenario has ended.
///
/// # Panics
///
/// Panics if the scenario does not end within [`HANGS_AFTER`], or if it panics.
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
