//! A hint that something will be needed soon.
//!
//! Where a program knows what it will touch a microsecond from now, the memory can be on its way meanwhile. The hint reads
//! nothing, so it may come too early, too late or in vain without any other effect than on time. Wait-free, on any thread.

/// Has the first bytes of `it` brought near to this core, up to two cache lines of 64 bytes.
///
/// Does nothing where stable Rust has no such instruction, that is on anything but x86-64.
///
/// # Examples
/// ```
/// use garrick_core::prefetch::prefetch;
///
/// let rarely_used = Box::new([1_u64; 16]);
/// prefetch(&*rarely_used);
/// assert_eq!(rarely_used.iter().sum::<u64>(), 16);
/// ```
#[inline(always)]
pub fn prefetch<T>(it: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let at = std::ptr::from_ref(it).cast::<i8>();
        // SAFETY: the instruction reads nothing, and no address makes it fault; baseline x86-64 has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
        if size_of::<T>() > LINE_BYTES {
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(LINE_BYTES)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = it;
}

/// A cache line.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;
