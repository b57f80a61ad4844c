//! In how many slots a channel's values go round when its ends are on different threads.
//!
//! A writer that comes back to a line which the other core still has in its second-level cache waits for that core to give it
//! up. In an area that is more than the second-level caches keep, both have given it up before
//! ([`Producer::spread`](garrick_core::ring::Producer::spread)). Measured with two threads, messages of 8 bytes and
//! 1 MiB of second-level cache, a message costs, by the bytes that it goes round in:
//!
//! | capacity | as much | 256 KiB | 1 MiB | 2 MiB | 4 MiB |
//! | --- | --- | --- | --- | --- | --- |
//! | 1 KiB | 1.6 ns | 1.8 | 1.8 | 1.8 | 1.8 |
//! | 8 KiB | 0.5 ns | 0.9 | 0.9 | 0.9 | 0.9 |
//! | 32 KiB | 0.9 ns | 1.0 | 0.6 | 0.5 | 0.5 |
//! | 128 KiB | 1.0 ns | 1.0 | 0.6 | 0.4 | 0.4 |
//! | 512 KiB | 0.9 ns | | 0.6 | 0.4 | 0.4 |
//! | 1 MiB | | | 0.6 ns | 0.4 | 0.4 |
//!
//! So twice the second-level cache is enough, and what stays in the first-level caches had better stay there. Between stages on one
//! thread a message costs up to half as much again in the large area: they keep to the capacity. (Medians of five runs of a bare loop over
//! such a ring, AMD EPYC of the Zen 4 kind, rustc 1.95, two shared cores.)

use crate::cache;

/// How often the second-level cache fits into an area.
const CACHES: usize = 2;
/// The part of the second-level cache that a capacity must have for an area larger than that: what is less does not gain everywhere, and
/// would cost too many times its memory.
const CACHE_PART: usize = 8;

/// How many slots a channel of at least `capacity` values has at least.
pub(super) fn slots_for<T>(capacity: usize) -> usize {
    slots_on(cache::second_level_bytes(), size_of::<T>(), capacity)
}

/// The same on a machine with `cache` bytes of second-level cache, for values of `size` bytes.
fn slots_on(cache: usize, size: usize, capacity: usize) -> usize {
    // What it will be.
    let capacity = capacity.checked_next_power_of_two().unwrap_or(capacity);
    let bytes = capacity.saturating_mul(size);
    if bytes >= cache / CACHE_PART && size > 0 && capacity > 1 {
        capacity.max((CACHES * cache).div_ceil(size))
    } else {
        capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_second_level_keeps_gets_an_area_that_it_does_not() {
        let slots = |size, capacity| slots_on(1 << 20, size, capacity);
        assert_eq!(slots(8, 1 << 16), 1 << 18);
        assert_eq!(slots(16, 1 << 13), 1 << 17);
        assert_eq!(slots(24, 1 << 16), 87_382);
        assert_eq!(slots(8, 9_000), 1 << 18);
    }

    #[test]
    fn what_is_small_or_large_enough_stays_as_it_is() {
        let slots = |size, capacity| slots_on(1 << 20, size, capacity);
        assert_eq!(slots(8, 1 << 13), 1 << 13);
        assert_eq!(slots(8, 1 << 20), 1 << 20);
        assert_eq!(slots(1 << 20, 1), 1);
        assert_eq!(slots(0, usize::MAX), usize::MAX);
        assert_eq!(slots(8, usize::MAX), usize::MAX);
    }
}
