//! Heads of frames. A head contains the session and the number of the frame, and confirmations of
//! received frames.

use std::fmt;

use crate::name::NodeName;

/// Size of the head of a frame in bytes, without the name of the sender.
pub(crate) const HEAD_BYTES: usize = 88;

/// First bytes of a frame. The last one is the version of the format.
const MAGIC: [u8; 5] = *b"GRKF\x01";

/// Position of the checksum in the head of a frame.
const SUM_AT: usize = HEAD_BYTES - 4;

/// Reason why a frame is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadFrame {
    /// The bytes are not a frame, or are a frame of another version of the format.
    Foreign,
    /// The frame is too short, its checksum is wrong, or its head contains an impossible number.
    Damaged,
    /// The frame is from another cluster.
    OtherCluster,
    /// The name of the sender is not allowed.
    Name,
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "it is no frame of this version",
            Self::Damaged => "it is damaged",
            Self::OtherCluster => "it is from another cluster",
            Self::Name => "its sender has no allowed name",
        })
    }
}

/// The head of a frame: the session and the number of the frame, and confirmations of received
/// frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// Incarnation of the sender: a number that differs each time the sending node starts.
    pub(crate) node: u64,
    /// Incarnation number of the receiving node (a different number for each start), or 0 if the
    /// sender does not know it.
    pub(crate) peer: u64,
    /// Sequence number of the sender's session.
    pub(crate) session: u64,
    /// Sequence number of the frame in the session. A frame without entries has the same number as
    /// the frame before it.
    pub(crate) number: u64,
    /// Sequence number of the receiver's newest session that the sender has seen. 0 if the sender
    /// has seen none. `taken` and `orders` belong to this session.
    pub(crate) seen: u64,
    /// Sequence number of the last frame that the sender confirms. The sender has handled all
    /// frames up to this one, or has reported their loss and received a confirmation of the report.
    pub(crate) taken: u64,
    /// Sequence number of the latest order (an entry that is sent again until it is confirmed) that
    /// the sender has handled.
    pub(crate) orders: u64,
    /// Sequence number of the receiver's newest session that the sender has declared lost. 0 if the
    /// sender has declared no session lost.
    pub(crate) dead: u64,
    /// Number of entries in the frame.
    pub(crate) entries: u32,
}

impl Head {
    /// Writes the head and the checksum into a frame. The first [`HEAD_BYTES`] bytes of the frame
    /// are overwritten. The name of the sender must follow these bytes.
    pub(crate) fn write(self, cluster: u64, name_length: usize, frame: &mut [u8]) {
        frame[..5].copy_from_slice(&MAGIC);
        frame[5] = name_length as u8;
        frame[6..8].fill(0);
        let words = [
            cluster,
            self.node,
            self.peer,
            self.session,
            self.number,
            self.seen,
            self.taken,
            self.orders,
            self.dead,
        ];
        for (place, word) in frame[8..80].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        frame[80..SUM_AT].copy_from_slice(&self.entries.to_le_bytes());
        let sum = checksum(frame);
        frame[SUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the head of a frame. Returns the head, the name of the sender, and the entries.
    pub(crate) fn read(frame: &[u8], cluster: u64) -> Result<(Self, NodeName, &[u8]), BadFrame> {
        if frame.get(..5) != Some(&MAGIC) {
            return Err(BadFrame::Foreign);
        }
        let (head, rest) = frame
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(BadFrame::Damaged)?;
        if head[SUM_AT..] != checksum(frame).to_le_bytes() {
            return Err(BadFrame::Damaged);
        }
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[8 + 8 * index..16 + 8 * index]);
            u64::from_le_bytes(word)
        };
        if word(0) != cluster {
            return Err(BadFrame::OtherCluster);
        }
        let (name, entries) = rest
            .split_at_checked(head[5].into())
            .ok_or(BadFrame::Damaged)?;
        let name = std::str::from_utf8(name).map_err(|_| BadFrame::Name)?;
        let name = NodeName::new(name).map_err(|_| BadFrame::Name)?;
        let mut count = [0; 4];
        count.copy_from_slice(&head[80..SUM_AT]);
        // Each of them has a next one.
        if [word(1), word(3), word(4)].contains(&u64::MAX) {
            return Err(BadFrame::Damaged);
        }
        let head = Self {
            node: word(1),
            peer: word(2),
            session: word(3),
            number: word(4),
            seen: word(5),
            taken: word(6),
            orders: word(7),
            dead: word(8),
            entries: u32::from_le_bytes(count),
        };
        Ok((head, name, entries))
    }
}

#[cfg(fuzzing)]
impl Head {
    /// Overwrites the first bytes, the cluster and the checksum of a frame with correct values.
    /// Does nothing if the frame is shorter than a head.
    pub(crate) fn forge(cluster: u64, frame: &mut [u8]) {
        if frame.len() >= HEAD_BYTES {
            frame[..5].copy_from_slice(&MAGIC);
            frame[8..16].copy_from_slice(&cluster.to_le_bytes());
            let sum = checksum(frame);
            frame[SUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// Returns the checksum of a frame. The bytes of the checksum itself count as zeros.
fn checksum(frame: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&frame[..SUM_AT]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    crc32c::crc32c_append(sum, &frame[HEAD_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::{BadFrame, HEAD_BYTES, Head};

    #[test]
    fn each_changed_or_missing_byte_of_a_frame_is_noticed() {
        let head = Head {
            node: 1,
            peer: 2,
            session: 3,
            number: 4,
            seen: 5,
            taken: 6,
            orders: 7,
            dead: 10,
            entries: 8,
        };
        let mut frame = vec![0; HEAD_BYTES];
        frame.extend(b"bank-1entries");
        head.write(9, 6, &mut frame);
        let (read, name, entries) = Head::read(&frame, 9).unwrap();
        assert_eq!(
            (read, name.as_str(), entries),
            (head, "bank-1", &b"entries"[..])
        );
        assert_eq!(Head::read(&frame, 8), Err(BadFrame::OtherCluster));
        for at in 0..frame.len() {
            assert!(Head::read(&frame[..at], 9).is_err(), "{at}");
            let mut changed = frame.clone();
            changed[at] ^= 1;
            assert!(Head::read(&changed, 9).is_err(), "{at}");
        }
    }
}
