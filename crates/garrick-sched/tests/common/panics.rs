//! Panics that are part of a scenario.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::panic;
use std::sync::Once;

/// The message of panics that are part of a scenario.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Keeps panics on purpose from being printed.
pub(crate) fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&ON_PURPOSE) {
                print(info);
            }
        }));
    });
}

/// Panics on purpose.
pub(crate) fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
}
