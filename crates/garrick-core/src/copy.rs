//! Copies of long slices that are fast wherever the two lie.
//!
//! From a little over 2 KiB on, the C library of GNU copies with `rep movsb` where the processor says that this is fast. On Zen 3
//! and 4 it is not if the target begins less than 32 bytes behind the source, counted within pages of 4 KiB: a
//! batch of 32 KiB out of a ring takes 11 us instead of 0.8 then (Zen 3, glibc 2.36, distances of 8, 16 and 24 bytes). Whether
//! that is so for a ring and a buffer depends on what the allocator has done before. Pieces of 2 KiB are copied by
//! vector loads and stores, and nowhere slower than the best of the other way.
//!
//! Source: [glibc's bug 30994](https://sourceware.org/bugzilla/show_bug.cgi?id=30994), and our own measurements.

use std::mem::MaybeUninit;

/// The bytes of a piece: less than what `rep movsb` is taken for.
const PIECE_BYTES: usize = 2048;

/// The values of a piece.
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

/// Copies `from` over `to`, which is as long.
///
/// # Panics
/// If it is not.
#[inline]
pub fn overwrite<T: Copy>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len(), "as long as what is copied");
    let pieces = to.chunks_mut(piece::<T>()).zip(from.chunks(piece::<T>()));
    pieces.for_each(|(to, from)| to.copy_from_slice(from));
}

/// Copies `from` into `to`, which is as long and need not hold values yet.
///
/// # Panics
/// If it is not.
#[inline]
pub fn fill<T: Copy>(to: &mut [MaybeUninit<T>], from: &[T]) {
    assert_eq!(to.len(), from.len(), "as long as what is copied");
    let pieces = to.chunks_mut(piece::<T>()).zip(from.chunks(piece::<T>()));
    pieces.for_each(|(to, from)| {
        to.write_copy_of_slice(from);
    });
}

/// Copies `from` behind what is in `to`.
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
    #[should_panic(expected = "as long as what is copied")]
    fn lengths_that_differ_are_refused() {
        overwrite(&mut [0, 0], &[1]);
    }
}
