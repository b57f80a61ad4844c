//! Bytes of an attacker as frames and as their entries, without nodes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| garrick_cluster::fuzzing::decode(bytes));
