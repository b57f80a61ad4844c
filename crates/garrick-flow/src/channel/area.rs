//! The number of slots that a channel's values cycle through when its ends are on different
//! threads.
//!
//! If the reader's core still has a cache line in its second-level cache, the writer must wait
//! before it can write this line again. In an area larger than the second-level caches, both cores
//! have already evicted the line when the writer reuses it
//! ([`Producer::spread`](garrick_core::ring::Producer::spread)). The table shows the cost of a
//! message for each capacity of a channel and each size of the area. The costs were measured with
//! two threads, messages of 8 bytes and 1 MiB of second-level cache:
//!
//! | capacity | no extra | 256 KiB | 1 MiB | 2 MiB | 4 MiB |
//! | --- | --- | --- | --- | --- | --- |
//! | 1 KiB | 1.6 ns | 1.8 | 1.8 | 1.8 | 1.8 |
//! | 8 KiB | 0.5 ns | 0.9 | 0.9 | 0.9 | 0.9 |
//! | 32 KiB | 0.9 ns | 1.0 | 0.6 | 0.5 | 0.5 |
//! | 128 KiB | 1.0 ns | 1.0 | 0.6 | 0.4 | 0.4 |
//! | 512 KiB | 0.9 ns | | 0.6 | 0.4 | 0.4 |
//! | 1 MiB | | | 0.6 ns | 0.4 | 0.4 |
//!
//! So an area of twice the second-level cache is enough. A channel that fits into the first-level
//! cache should stay there, so it uses no more slots than its capacity. A channel between stages on
//! one thread does not use more slots either, because the large area makes each message of such a
//! channel up to 50 % more expensive. The numbers are medians of five runs of a bare loop over such
//! a ring. They were measured on two shared cores of an AMD EPYC Zen 4, with rustc 1.95.

use crate::cache;

/// Size of the memory area that a channel's values cycle through, divided by the size of the
/// second-level cache.
const CACHES: usize = 2;
/// Divisor of the size of the second-level cache. If the values of a channel need at least the
/// resulting number of bytes, the channel gets more memory than its values need. Smaller channels
/// do not always become faster with more memory, and their memory would grow by a large factor.
const CACHE_PART: usize = 8;

/// Returns the minimum number of slots that a channel for `capacity` values must allocate.
pub(super) fn slots_for<T>(capacity: usize) -> usize {
    slots_on(cache::second_level_bytes(), size_of::<T>(), capacity)
}

/// Computes [`slots_for`] for a machine with `cache` bytes of second-level cache and values of
/// `size` bytes.
fn slots_on(cache: usize, size: usize, capacity: usize) -> usize {
    // The ring rounds the capacity up to this number.
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
