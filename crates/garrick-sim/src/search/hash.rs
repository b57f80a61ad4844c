//! A fast hash for numbers that are already irregular.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes a number by one multiplication. Nothing depends on the order of a map with it.
pub(super) type ByNumber = BuildHasherDefault<NumberHasher>;

/// Hasher of [`ByNumber`].
#[derive(Debug, Default, Clone)]
pub(super) struct NumberHasher(u64);

/// Odd number with irregular bits: the fractional part of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(FACTOR);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
