//! Streams of a topic's messages from other nodes, and the detection of lost messages in the
//! streams.

use hashbrown::HashMap;

/// Maximum number of streams in which lost messages are noticed.
const STREAMS_MAX: usize = 4_096;

/// A stream: the numbered messages of a topic from the agent of another node.
struct Stream {
    /// Sequence number of the newest message that has arrived in the stream.
    number: u64,
    /// Total number of messages of all streams at the moment when the newest message of this stream
    /// arrived. The stream with the smallest number is removed first.
    used: u64,
}

/// The streams of messages from a topic's agents on other nodes.
#[derive(Default)]
pub(super) struct Streams {
    all: HashMap<u64, Stream>,
    received: u64,
}

impl Streams {
    /// Records the arrival of a message in a stream. Returns the number of messages that were lost
    /// before this message.
    pub(super) fn take(&mut self, stream: u64, number: u64) -> u64 {
        self.received += 1;
        if self.all.len() >= STREAMS_MAX && !self.all.contains_key(&stream) {
            self.forget_oldest();
        }
        let known = self
            .all
            .entry(stream)
            .or_insert(Stream { number: 0, used: 0 });
        known.used = self.received;
        let lost = number.saturating_sub(known.number.saturating_add(1));
        known.number = number.max(known.number);
        lost
    }

    /// Removes the stream in which no message has arrived for the longest time.
    fn forget_oldest(&mut self) {
        let oldest = self.all.iter().min_by_key(|(_, stream)| stream.used);
        if let Some(oldest) = oldest.map(|(stream, _)| *stream) {
            self.all.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STREAMS_MAX, Streams};

    #[test]
    fn gaps_are_counted_once_in_each_stream() {
        let mut streams = Streams::default();
        let lost = [
            (1, 1),
            (1, 4),
            (2, 3),
            (1, 5),
            (1, 5),
            (1, 2),
            (1, 7),
            (2, u64::MAX),
        ]
        .map(|(stream, number)| streams.take(stream, number));
        assert_eq!(lost, [0, 2, 2, 0, 0, 0, 1, u64::MAX - 4]);
        assert_eq!(streams.take(2, u64::MAX), 0);
    }

    #[test]
    fn the_number_of_streams_has_a_bound() {
        let mut streams = Streams::default();
        for stream in 0..3 * STREAMS_MAX as u64 {
            assert_eq!(streams.take(stream, 1), 0);
            // One that is used is not forgotten.
            assert_eq!(streams.take(7, stream + 1), 0);
            assert!(streams.all.len() <= STREAMS_MAX);
        }
    }
}
