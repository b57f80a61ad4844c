//! Keeps the panics of simulated turns off standard error.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A guard that keeps the panics of this thread from being printed. A search makes thousands of
/// turns panic, but its report prints the one failure that matters.
pub(crate) struct Quiet {
    before: bool,
}

impl Quiet {
    pub(crate) fn begin() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let next = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !IS_QUIET.get() {
                    next(info);
                }
            }));
        });
        Self {
            before: IS_QUIET.replace(true),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(self.before);
    }
}
