//! Entries of an attacker in frames whose heads are right.
#![no_main]
#![allow(
    dead_code,
    reason = "what the tests share with this is more than it needs"
)]

#[path = "../../tests/trials/attacks.rs"]
mod attacks;
#[path = "../../tests/trials/forged.rs"]
mod forged;
#[path = "../../tests/trials/pair.rs"]
mod pair;
#[path = "../../tests/trials/spy.rs"]
mod spy;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| attacks::send_entries(bytes));
