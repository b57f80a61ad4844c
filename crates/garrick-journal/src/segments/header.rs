//! The header of a segment.

use crate::error::JournalError;

/// Size of a header in bytes.
pub(super) const HEADER_BYTES: usize = 48;

/// Position of the checksum in a header.
const SUM_AT: usize = HEADER_BYTES - 4;

/// First bytes of a segment. The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"GARRJNL\x02";

/// The header of a segment.
///
/// ```text
/// magic 8 | segment u64 | previous length u64 | first group u64 | oldest u64 | zeros 4 | checksum u32
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) segment: u64,
    /// Length of the previous segment in bytes. Bytes after this length were never acknowledged.
    pub(super) previous_length: u64,
    /// Sequence number of the first group of the segment.
    pub(super) first_group: u64,
    /// Number of the oldest segment that was needed when this segment was created.
    pub(super) oldest: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.segment.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.previous_length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_group.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.oldest.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes the header of the segment with the number `segment`.
    pub(super) fn of_bytes(bytes: &[u8], segment: u64, file: &str) -> Result<Self, JournalError> {
        let damaged = |at, why| JournalError::damaged(file, at, why);
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(damaged(bytes.len() as u64, "the header is not complete"));
        };
        if bytes[..7] != MAGIC[..7] {
            return Err(damaged(0, "the file is no segment of a log"));
        }
        if bytes[7] != MAGIC[7] {
            return Err(damaged(
                7,
                "another version of Garrick has written the file",
            ));
        }
        if bytes[SUM_AT..] != crc32c::crc32c(&bytes[..SUM_AT]).to_le_bytes() {
            return Err(damaged(
                SUM_AT as u64,
                "the checksum of the header is wrong",
            ));
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if word(8) != segment {
            return Err(damaged(8, "the header has the number of another segment"));
        }
        Ok(Self {
            segment,
            previous_length: word(16),
            first_group: word(24),
            oldest: word(32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, Header};

    #[test]
    fn each_changed_byte_of_a_header_is_noticed() {
        let header = Header {
            segment: 3,
            previous_length: 1 << 26,
            first_group: 17,
            oldest: 2,
        };
        let bytes = header.to_bytes();
        assert_eq!(Header::of_bytes(&bytes, 3, "3.log").unwrap(), header);
        for at in 0..HEADER_BYTES {
            let mut changed = bytes;
            changed[at] ^= 1;
            Header::of_bytes(&changed, 3, "3.log").unwrap_err();
            Header::of_bytes(&bytes[..at], 3, "3.log").unwrap_err();
        }
        Header::of_bytes(&bytes, 4, "4.log").unwrap_err();
    }
}
