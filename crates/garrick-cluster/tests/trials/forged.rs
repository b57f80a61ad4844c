//! Frames of an attacker who has the key of the cluster.

/// Size of a head without the name of the sender.
pub(crate) const HEAD_BYTES: usize = 88;

/// Position of the checksum in the head of a frame.
const SUM_AT: usize = 84;

/// Position of the number of entries in the head of a frame.
const COUNT_AT: usize = 80;

/// Positions of the numbers in the head of a frame.
pub(crate) const NODE: usize = 16;
pub(crate) const PEER: usize = 24;
pub(crate) const SESSION: usize = 32;
pub(crate) const NUMBER: usize = 40;
pub(crate) const SEEN: usize = 48;
pub(crate) const TAKEN: usize = 56;
pub(crate) const ORDERS: usize = 64;
pub(crate) const DEAD: usize = 72;

/// Positions of all numbers in the head of a frame.
pub(crate) const NUMBERS: [usize; 8] = [NODE, PEER, SESSION, NUMBER, SEEN, TAKEN, ORDERS, DEAD];

/// A frame with a correct checksum and wrong content.
#[derive(Debug, Clone)]
pub(crate) struct Forged(Vec<u8>);

impl Forged {
    /// Returns a frame without entries and confirmations, with the sender of `frame`. Both nodes
    /// are in their first incarnation. The frame is number `number` of the first session.
    pub(crate) fn like(frame: &[u8], number: u64) -> Self {
        let name_length = usize::from(frame[5]);
        let mut forged = Self(frame[..HEAD_BYTES + name_length].to_vec());
        forged.0[NODE..SUM_AT].fill(0);
        for place in [NODE, PEER, SESSION] {
            forged.set(place, 1);
        }
        forged.set(NUMBER, number);
        forged
    }

    /// Returns a frame that consists of the given bytes.
    pub(crate) fn of(frame: Vec<u8>) -> Self {
        Self(frame)
    }

    /// Sets a number in the head of the frame.
    pub(crate) fn set(&mut self, place: usize, number: u64) {
        self.0[place..place + 8].copy_from_slice(&number.to_le_bytes());
    }

    /// Returns the frame with another number in its head.
    pub(crate) fn with(mut self, place: usize, number: u64) -> Self {
        self.set(place, number);
        self
    }

    /// Returns the frame with `count` more entries, after its own.
    pub(crate) fn entries(mut self, count: u32, entries: &[u8]) -> Self {
        self.0[COUNT_AT..SUM_AT].copy_from_slice(&count.to_le_bytes());
        self.0.extend_from_slice(entries);
        self
    }

    /// Returns the bytes of the frame, with a correct checksum.
    pub(crate) fn sign(mut self) -> Vec<u8> {
        if self.0.len() >= HEAD_BYTES {
            self.0[SUM_AT..HEAD_BYTES].fill(0);
            let sum = crc32c::crc32c(&self.0);
            self.0[SUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        }
        self.0
    }
}

/// Returns true if a frame has entries.
pub(crate) fn has_entries(frame: &[u8]) -> bool {
    frame[COUNT_AT..SUM_AT] != [0; 4]
}

/// Appends a number to an entry.
pub(crate) fn put_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
