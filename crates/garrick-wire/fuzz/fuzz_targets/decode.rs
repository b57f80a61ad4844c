//! Bytes of an attacker: they are refused or come back, and never need more memory than they may.
#![no_main]
#![allow(
    dead_code,
    reason = "what the tests share with this is more than it needs"
)]

#[path = "../../tests/hostile/kinds.rs"]
mod kinds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kinds::decode_everything(bytes));
