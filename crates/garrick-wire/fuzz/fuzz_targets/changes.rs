//! Messages that come back, and messages in which an attacker has changed something.
#![no_main]
#![allow(
    dead_code,
    reason = "what the tests share with this is more than it needs"
)]

#[path = "../../tests/hostile/kinds.rs"]
mod kinds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kinds::change_something(bytes));
