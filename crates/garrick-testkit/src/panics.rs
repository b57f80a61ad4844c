//! Panics that a test causes on purpose.

use std::panic;
use std::sync::Once;

/// The payload of panics that a scenario causes on purpose.
pub const ON_PURPOSE: &str = "on purpose";

/// Suppresses the output of panics whose payload is [`ON_PURPOSE`].
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

/// Panics with the payload [`ON_PURPOSE`].
///
/// # Panics
///
/// Always.
pub fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
}
