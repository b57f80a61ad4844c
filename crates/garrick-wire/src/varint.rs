//! Numbers with a variable length of 1 to 9 bytes. The number of trailing zero bits in the first
//! byte is the number of bytes that follow it. So a reader knows the length after the first byte.
//!
//! ```text
//!   xxxxxxx1                      7 bits
//!   xxxxxx10 xxxxxxxx            14 bits
//!   ...
//!   10000000 7 bytes             56 bits
//!   00000000 8 bytes             64 bits
//! ```
//!
//! The lowest bits of the number come first. A number is encoded in the fewest bytes that can
//! contain it.

/// Maximum length of an encoded number in bytes.
pub(crate) const LEN_MAX: usize = 9;

/// Smallest number that needs all [`LEN_MAX`] bytes.
pub(crate) const LONG: u64 = 1 << 56;

/// Returns the length of the encoding of `value` in bytes.
#[inline]
pub(crate) const fn len(value: u64) -> usize {
    if value >= LONG {
        return LEN_MAX;
    }
    let bits = u64::BITS - (value | 1).leading_zeros();
    // A seventh, rounded up, for all numbers of bits up to 56.
    ((bits * 9 + 64) / 64) as usize
}

/// Returns the encoding of `value`, followed by unused bytes. The encoding has a length of
/// `len(value)` bytes. `value` must be less than [`LONG`].
#[inline]
pub(crate) const fn word(value: u64) -> [u8; 8] {
    let len = len(value);
    ((value << len) | (1 << (len - 1))).to_le_bytes()
}

/// Returns the length of an encoded number from its first byte.
#[inline]
pub(crate) const fn len_of(first: u8) -> usize {
    first.trailing_zeros() as usize + 1
}

/// Decodes the number at the beginning of `bytes`. Returns the number, and the bytes after its
/// encoding. Returns `None` if `bytes` ends within the number, or if a shorter encoding of the
/// number exists.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match bytes {
        [first, rest @ ..] if first & 1 == 1 => Some((u64::from(*first >> 1), rest)),
        [first, second, rest @ ..] if first & 0b11 == 0b10 && *second > 1 => {
            Some((u64::from(*first >> 2) | u64::from(*second) << 6, rest))
        }
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = len_of(*bytes.first()?);
    let (number, rest) = bytes.split_at_checked(length)?;
    let value = if let Some(word) = number.get(1..).and_then(<[u8]>::first_chunk) {
        u64::from_le_bytes(*word)
    } else if let Some(word) = bytes.first_chunk() {
        // The bytes after the number are shifted out.
        let bits = length as u32;
        (u64::from_le_bytes(*word) << (64 - 8 * bits)) >> (64 - 7 * bits)
    } else {
        let shifted = number.iter().rev();
        shifted.fold(0, |word, byte| word << 8 | u64::from(*byte)) >> length
    };
    (len(value) == length).then_some((value, rest))
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
                assert_eq!(read(&bytes[..n]), Some((number, &[][..])));
                assert_eq!(read(&bytes), Some((number, &bytes[n..])));
                assert_eq!(read(&bytes[..n - 1]), None);
            }
        }
        assert_eq!(len(LONG - 1), 8);
        assert_eq!(len(LONG), 9);
        assert_eq!(len(u64::MAX), 9);
        assert_eq!(len_of(0), 9);
    }
}
