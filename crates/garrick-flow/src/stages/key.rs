//! Maps the key of a value to a channel.

use std::hash::{Hash, Hasher};

/// An odd number whose bits look random, derived from the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A multiplicative hash function. The function takes a few instructions per word, and returns the
/// same results in every run. It gives no protection against keys that are chosen to collide in one
/// channel.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.add(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.add(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The multiplication leaves the low bits of the word in the low bits. Fold the well-mixed
        // high bits into the low bits, and multiply again.
        (self.0 ^ (self.0 >> 32)).wrapping_mul(MULTIPLIER)
    }
}

/// Returns the index of the channel for values with the key `key`. The index is less than
/// `channels`, the number of channels.
#[inline]
pub(super) fn channel_of(key: &impl Hash, channels: usize) -> usize {
    let mut hasher = KeyHasher::default();
    key.hash(&mut hasher);
    // The high bits choose, by a multiplication in place of a division.
    ((u128::from(hasher.finish()) * channels as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of keys that each channel gets.
    fn spread<K: Hash>(keys: impl Iterator<Item = K>, channels: usize) -> Vec<u32> {
        let mut counts = vec![0; channels];
        keys.for_each(|key| counts[channel_of(&key, channels)] += 1);
        counts
    }

    #[test]
    fn keys_are_spread_evenly() {
        for channels in [1, 2, 3, 7, 16] {
            let fair = 10_000 / channels as u32;
            let even = |counts: &[u32]| {
                counts
                    .iter()
                    .all(|count| (fair / 2..=fair * 2).contains(count))
            };
            let numbers = spread(0..10_000u64, channels);
            let strides = spread((0..10_000u64).map(|key| key << 20), channels);
            let texts = spread((0..10_000).map(|key| format!("customer {key}")), channels);
            assert!(even(&numbers), "{numbers:?}");
            assert!(even(&strides), "{strides:?}");
            assert!(even(&texts), "{texts:?}");
        }
    }

    #[test]
    fn a_key_has_one_channel_in_every_run() {
        assert_eq!(channel_of(&7u64, 16), channel_of(&7u64, 16));
        let channels = [7u64, 8, 9].map(|key| channel_of(&key, 1000));
        assert_eq!(channels, [334, 211, 841]);
    }
}
