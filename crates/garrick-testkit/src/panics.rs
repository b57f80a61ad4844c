//! Panics that are part of a scenario.

use std::panic;
use std::sync::Once;

/// Tells panics that are part of a scenario from others: they say this.
pub const ON_PURPOSE: &str = "on purpose";

/// Keeps panics on purpose from being printed.
pub fn silence_panics() {
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
///
/// # Panics
///
/// Always.
pub fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
}
