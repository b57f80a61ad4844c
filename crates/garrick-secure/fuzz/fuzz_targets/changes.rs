//! Fuzz target: an attacker in the middle changes streams, and the fuzzer selects the changes that
//! reach new code.
#![no_main]
#![allow(dead_code, reason = "what the tests share with this is more than it needs")]

#[path = "../../tests/secure/changes.rs"]
mod changes;
#[path = "../../tests/secure/stand.rs"]
mod stand;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| changes::try_everything(bytes));
