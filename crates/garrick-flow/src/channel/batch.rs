//! The default size of a batch.
//!
//! The messages of a batch share the cost of one fence, one read of the other end's position, and
//! one step. A batch has to stay in the second-level cache until it is read. The cache also holds
//! the batches that the writer and the reader currently use, and the other data of these stages.
//! The table shows the cost of a message for each batch size in bytes. The costs were measured with
//! three stages and messages of 8 and 16 bytes. The core had 32 KiB of first-level and 512 KiB of
//! second-level cache:
//!
//! | | 4 KiB | 8 KiB | 16 KiB | 32 KiB | 64 KiB | 128 KiB | 256 KiB | 512 KiB |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | a team, 65,536 slots | 3.6 ns | 2.7 | 2.2 | 2.0 | 1.8 | 1.7 | 1.7 | 1.6 |
//! | a team, 1,048,576 slots | 4.0 ns | 3.3 | 2.8 | 2.2 | 2.3 | 2.2 | 2.3 | 2.5 |
//! | three threads, 65,536 slots | 2.9 ns | 2.6 | 2.1 | 2.2 | 2.2 | 2.1 | 2.2 | 1.9 |
//! | three threads, 1,048,576 slots | 3.1 ns | 2.8 | 2.0 | 1.9 | 1.7 | 2.2 | 2.2 | 2.8 |
//!
//! A batch of more than an eighth of the second-level cache is not faster. Its first value also
//! waits longer, because the batch is sent only when its last value is written. With much smaller
//! batches, the fixed cost of a batch is paid too often. The numbers are medians of five
//! alternating runs on two shared cores, with rustc 1.95. Differences of less than a quarter are
//! not significant.

use crate::cache;

/// Size of the second-level cache, divided by the size of a batch.
const CACHE_PART: usize = 8;
/// Minimum size of a batch in bytes. In the measurements, no smaller batch was faster.
const BATCH_BYTES_MIN: usize = 16 * 1024;
/// Maximum size of a batch in bytes. In the measurements, no larger batch was faster.
const BATCH_BYTES_MAX: usize = 256 * 1024;

/// Returns the default number of values in a batch: half of the channel's capacity, but at most as
/// many values as stay in the cache. With half of the capacity, both ends can work at the same
/// time.
pub(super) fn batch_for<T>(capacity: usize) -> usize {
    (capacity / 2).min(batch_bytes() / size_of::<T>().max(1))
}

/// Returns the maximum size of a batch on this machine, in bytes.
fn batch_bytes() -> usize {
    bytes_for(cache::second_level_bytes())
}

fn bytes_for(cache: usize) -> usize {
    (cache / CACHE_PART).clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_an_eighth_of_the_cache_within_bounds() {
        let bytes = [0, 128 << 10, 512 << 10, 2 << 20, 1 << 30].map(bytes_for);
        let expected = [16 << 10, 16 << 10, 64 << 10, 256 << 10, 256 << 10];
        assert_eq!(bytes, expected);
    }
}
