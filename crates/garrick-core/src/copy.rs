//! Copying of long slices at full speed, regardless of their alignment.
//!
//! The GNU C library copies more than about 2 KiB by `rep movsb` if the processor reports that this
//! instruction is fast. On Zen 3 and 4, this instruction is slow if the target begins less than 32
//! bytes after the source, modulo 4 KiB. Copying a batch of 32 KiB out of a ring then takes 11 us
//! instead of 0.8 us (Zen 3, glibc 2.36, distances of 8, 16 and 24 bytes). Earlier allocations
//! determine which rings and buffers are affected. This module therefore copies pieces of 2 KiB.
//! The C library copies such a piece by vector loads and stores, which are at least as fast as `rep
//! movsb` at its best.
//!
//! Sources: [bug 30994 of glibc](https://sourceware.org/bugzilla/show_bug.cgi?id=30994) and our own
//! measurements.

use std::mem::MaybeUninit;
use std::ptr;

/// Size in bytes of the pieces in which slices are copied. The C library does not use `rep movsb`
/// for so few bytes.
const PIECE_BYTES: usize = 2048;

/// Returns the number of values that are copied at a time, which is at least 1.
const fn piece<T>() -> usize {
    let bytes = if size_of::<T>() == 0 {
        1
    } else {
        size_of::<T>()
    };
    if bytes < PIECE_BYTES {
        PIECE_BYTES / bytes
    } else {
        1
    }
}

/// Copies `from` to `to`. Both must have the same length.
///
/// # Panics
/// Panics if the lengths differ.
#[inline]
pub fn overwrite<T: Copy>(to: &mut [T], from: &[T]) {
    assert_eq!(
        to.len(),
        from.len(),
        "the two slices must have the same length"
    );
    let pieces = to.chunks_mut(piece::<T>()).zip(from.chunks(piece::<T>()));
    pieces.for_each(|(to, from)| to.copy_from_slice(from));
}

/// Copies `from` into `to`, which need not be initialized. Both must have the same length.
///
/// # Panics
/// Panics if the lengths differ.
#[inline]
pub fn fill<T: Copy>(to: &mut [MaybeUninit<T>], from: &[T]) {
    assert_eq!(
        to.len(),
        from.len(),
        "the two slices must have the same length"
    );
    let pieces = to.chunks_mut(piece::<T>()).zip(from.chunks(piece::<T>()));
    pieces.for_each(|(to, from)| {
        // SAFETY: both types have the same layout, and a value that is initialized is a valid
        // `MaybeUninit`.
        let from = unsafe { &*(ptr::from_ref(from) as *const [MaybeUninit<T>]) };
        to.copy_from_slice(from);
    });
}

/// Appends a copy of `from` to `to`.
#[inline]
pub fn append<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    to.reserve(from.len());
    let pieces = from.chunks(piece::<T>());
    pieces.for_each(|from| to.extend_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug + Default>(values: &[T]) {
        let mut copied = vec![T::default(); values.len()];
        overwrite(&mut copied, values);
        assert_eq!(copied, values);

        let mut filled = vec![MaybeUninit::uninit(); values.len()];
        fill(&mut filled, values);
        // SAFETY: `fill` has written all of them.
        let filled: Vec<T> = filled
            .iter()
            .map(|value| unsafe { value.assume_init() })
            .collect();
        assert_eq!(filled, values);

        let mut appended = values[..values.len().min(3)].to_vec();
        append(&mut appended, values);
        assert_eq!(appended[values.len().min(3)..], *values);
    }

    #[test]
    fn all_is_copied_whatever_the_length() {
        for len in [0, 1, 255, 256, 257, 511, 512, 1000, 5000] {
            check(&(0..len).collect::<Vec<_>>());
            check(&vec![[7_u8; 3]; len]);
            check(&vec![(); len]);
        }
    }

    #[test]
    fn what_is_larger_than_a_piece_is_copied_one_by_one() {
        let values: Vec<[u64; 300]> = (0..5).map(|n| [n; 300]).collect();
        let mut copied = vec![[0; 300]; 5];
        overwrite(&mut copied, &values);
        assert_eq!(copied, values);
    }

    #[test]
    #[should_panic(expected = "the two slices must have the same length")]
    fn lengths_that_differ_are_refused() {
        overwrite(&mut [0, 0], &[1]);
    }
}
