//! Frames of messages, packed by hand. Each message has its length before it.

use crate::far::near::Count;

/// Size in bytes at which a frame is full, as in the links of Garrick's nodes.
pub(super) const FRAME: usize = 32 << 10;

/// A message of some size, with its numbers in the first bytes.
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![7; bytes])
    }

    /// Sets the numbers of the message, and returns its content.
    pub(super) fn numbered(&mut self, number: u64) -> &[u8] {
        self.0[..8].copy_from_slice(&number.to_le_bytes());
        self.0[8..16].copy_from_slice(&(number + 1).to_le_bytes());
        &self.0
    }
}

/// Adds a message to a frame.
pub(super) fn pack(frame: &mut Vec<u8>, content: &[u8]) {
    let length = content.len() as u32;
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(content);
}

/// Counts the messages of a frame.
pub(super) fn count_all(mut frame: &[u8], count: &mut Count) {
    while let Some((length, rest)) = frame.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((content, rest)) = rest.split_at_checked(length) else {
            return;
        };
        count.add_bytes(content);
        frame = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_all_messages_and_a_cut_one_is_passed_over() {
        let (mut frame, mut message) = (Vec::new(), Message::new(20));
        for number in 0..3 {
            pack(&mut frame, message.numbered(number));
        }
        assert_eq!(frame.len(), 3 * 24);
        let mut count = Count::new();
        count_all(&frame, &mut count);
        assert_eq!(count.tally().handled, 3);
        let mut count = Count::new();
        count_all(&frame[..70], &mut count);
        assert_eq!(count.tally().handled, 2);
    }
}
