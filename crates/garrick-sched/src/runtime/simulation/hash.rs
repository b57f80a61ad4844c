//! A fast hash for numbers. The hash of a number is the same in every process.

use std::hash::{BuildHasherDefault, Hasher};

/// Builder of hashers for numbers. A hash takes two multiplications.
pub(super) type ByNumber = BuildHasherDefault<NumberHasher>;

/// The hasher that [`ByNumber`] builds. It supports only numbers.
#[derive(Default)]
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
        let product = u128::from(self.0.rotate_left(32) ^ number) * u128::from(FACTOR);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
