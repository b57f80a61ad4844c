//! Fuzz target: decodes arbitrary bytes. The decoder must never exceed its memory limit, and each
//! decoded value must stay the same when it is encoded and decoded again.
#![no_main]
#![allow(
    dead_code,
    reason = "what the tests share with this is more than it needs"
)]

#[path = "../../tests/hostile/kinds.rs"]
mod kinds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kinds::decode_everything(bytes));
