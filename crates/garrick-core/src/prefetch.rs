//! A hint that something will be needed soon.
//!
//! Where a program knows what it will touch a microsecond from now, the memory can be on its way meanwhile. The hint reads
//! nothing, so it may come too early, too late or in vain without any other effect than on time. Wait-free, on any thread.

/// Has what lies in so many bytes from `at` on brought near to this core.
///
/// Does nothing where stable Rust has no such instruction, that is on anything but x86-64.
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
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        for offset in (0..bytes).step_by(LINE_BYTES) {
            let line = at.cast::<i8>().wrapping_add(offset);
            // SAFETY: the instruction reads nothing, and no address makes it fault; baseline x86-64 has it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, bytes);
}

/// A cache line.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;
