//! Panics that are part of a scenario.

use std::panic;
use std::sync::Once;

/// Payload of panics that are part of a scenario.
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

/// Panics on purpose.
///
/// # Panics
///
/// Always.
pub fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
}
