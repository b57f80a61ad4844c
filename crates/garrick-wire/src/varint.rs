//! Numbers of 1 to 9 bytes. The trailing zeros of the first byte are the number of further bytes,
//! so no byte has to be read to find the end of the number.
//!
//! ```text
//!   xxxxxxx1                      7 bits
//!   xxxxxx10 xxxxxxxx            14 bits
//!   ...
//!   10000000 7 bytes             56 bits
//!   00000000 8 bytes             64 bits
//! ```
//!
//! The lowest bits come first. A number has the fewest bytes that it fits into.

/// Largest length of a number.
pub(crate) const LEN_MAX: usize = 9;

/// First number that needs all [`LEN_MAX`] bytes.
pub(crate) const LONG: u64 = 1 << 56;

/// Returns the length of `value`.
#[inline]
pub(crate) const fn len(value: u64) -> usize {
    if value >= LONG {
        return LEN_MAX;
    }
    let bits = u64::BITS - (value | 1).leading_zeros();
    // A seventh, rounded up, for all numbers of bits up to 56.
    ((bits * 9 + 64) / 64) as usize
}

/// Returns the bytes of `value`, of which the first `len(value)` count. `value` is below [`LONG`].
#[inline]
pub(crate) const fn word(value: u64) -> [u8; 8] {
    let len = len(value);
    ((value << len) | (1 << (len - 1))).to_le_bytes()
}

/// Returns the length of the number whose first byte is `first`.
#[inline]
pub(crate) const fn len_of(first: u8) -> usize {
    first.trailing_zeros() as usize + 1
}

/// Returns the number of `len` bytes, at most 8, that begins at the first byte of `word`.
#[inline]
pub(crate) const fn value(word: [u8; 8], len: usize) -> u64 {
    let len = len as u32;
    (u64::from_le_bytes(word) << (64 - 8 * len)) >> (64 - 7 * len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_values_agree() {
        for bits in 0..56 {
            for number in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1] {
                let n = len(number);
                assert!(n == 1 || number >> (7 * (n - 1)) != 0, "{number}");
                assert_eq!(number >> (7 * n), 0, "{number}");
                let bytes = word(number);
                assert_eq!(len_of(bytes[0]), n);
                assert_eq!(value(bytes, n), number);
            }
        }
        assert_eq!(len(LONG - 1), 8);
        assert_eq!(len(LONG), 9);
        assert_eq!(len(u64::MAX), 9);
        assert_eq!(len_of(0), 9);
    }
}
