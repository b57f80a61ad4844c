//! How large a batch is.

/// What a batch takes of the second-level cache at most, unless the user has it otherwise. A stage touches
/// two batches, its input and its output, and some cores have no more than 256 KiB.
pub(crate) const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Half of the channel, so that both ends have something to do, but no more than stays in the cache.
pub(super) fn batch_for<T>(capacity: usize) -> usize {
    (capacity / 2).min(BATCH_BYTES_MAX / size_of::<T>().max(1))
}
