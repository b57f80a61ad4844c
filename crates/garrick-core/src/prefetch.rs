//! A hint that memory will be needed soon.
//!
//! If a program knows which memory it will access in about a microsecond, it can start to load the
//! memory now. The hint changes only the caches. The program itself reads nothing, so any address
//! is allowed. A hint that comes too early or too late, or that is not needed, only costs time.
//! [`prefetch`] is wait-free, and any thread may call it.

/// Starts to load `bytes` bytes of memory, beginning at address `at`, into the caches of this core.
/// Does not wait until the bytes are loaded.
///
/// Does nothing on architectures other than x86-64, where stable Rust has no prefetch instruction.
///
/// # Examples
/// ```
/// use garrick_core::prefetch::prefetch;
///
/// let rarely_used = Box::new([1_u64; 16]);
/// prefetch(&raw const *rarely_used, size_of_val(&*rarely_used));
/// assert_eq!(rarely_used.iter().sum::<u64>(), 16);
/// ```
#[inline(always)]
pub fn prefetch<T>(at: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(garrick_portable)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        for offset in (0..bytes).step_by(LINE_BYTES) {
            let line = at.cast::<i8>().wrapping_add(offset);
            // SAFETY: the instruction reads nothing, and no address makes it fault; baseline x86-64
            // has it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), garrick_portable))]
    let _ = (at, bytes);
}

/// Size of a cache line in bytes.
#[cfg(all(target_arch = "x86_64", not(garrick_portable)))]
const LINE_BYTES: usize = 64;
