//! Fuzz target: messages that are encoded and decoded again, and messages whose bytes an attacker
//! has changed.
#![no_main]
#![allow(
    dead_code,
    reason = "what the tests share with this is more than it needs"
)]

#[path = "../../tests/hostile/kinds.rs"]
mod kinds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kinds::change_something(bytes));
