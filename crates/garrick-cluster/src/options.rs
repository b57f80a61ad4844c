//! Bounds and options of a node.

use std::time::Duration;

use garrick_wire::Limits;

use crate::name::SERVICE_NAME_BYTES_MAX;

/// Maximum size of a message between nodes, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;

/// Limits for the size, the nesting and the memory of a message between nodes.
pub(crate) const WIRE_LIMITS: Limits = Limits::new().message_bytes(MESSAGE_BYTES);

/// Size in bytes at which a frame is full: no more messages are added.
pub(crate) const FRAME_BYTES: usize = 32 << 10;

/// Maximum total size, in bytes, of the messages that one turn sends to one node. The last message
/// of the turn is not counted. All messages of the turn are in one frame. Answers are not messages.
pub(crate) const TURN_BYTES: usize = 4 << 20;

/// Space in a frame for its head, and for all data other than the contents of messages.
pub(crate) const ROOM_BYTES: usize = 2 * FRAME_BYTES;

// A frame of FRAME_BYTES may get one more request with the name of a service.
const _: () = assert!(2 * SERVICE_NAME_BYTES_MAX <= ROOM_BYTES - FRAME_BYTES);

/// Default of [`NodeOptions::answer_within`]. The default is longer than the time for which a
/// message to an entity can wait: up to 10 seconds for an owner of its shard, and up to 20 seconds
/// for a journal.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Options of a node, for [`Node::join_with`](crate::Node::join_with).
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use garrick_actor::System;
/// use garrick_cluster::{LocalNet, Node, NodeOptions};
///
/// let system = System::new()?;
/// let options = NodeOptions::new().answer_within(Duration::from_secs(5));
/// let node = Node::join_with(&system.handle(), LocalNet::new(), "example", "node-1", options)?;
/// assert_eq!(node.sample().timed_out, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    answer_within: Duration,
}

impl NodeOptions {
    /// Returns the default options: 60 seconds for the answer to a question.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            answer_within: ANSWER_WITHIN,
        }
    }

    /// Sets the time limit of all questions from this node to other nodes. The time begins when the
    /// question is passed to the link to the other node. If no answer has come within the limit,
    /// the question ends with [`NoReply::TimedOut`](garrick_actor::NoReply), at most 1 second
    /// later. An answer that arrives later is dropped and counted
    /// ([`NodeSample::late_answers`](crate::NodeSample)).
    ///
    /// A question can have a shorter limit, for example by
    /// [`Context::ask_within`](garrick_actor::Context::ask_within). Questions to actors of the same
    /// node have no time limit without `ask_within`.
    #[must_use]
    pub const fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Limits of each link of a node. A link is the connection to one other node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum number of bytes in sent frames that a node has not confirmed. Further frames wait.
    pub(crate) window: usize,
    /// Maximum number of bytes that wait for a node. Further messages are refused.
    pub(crate) waiting: usize,
    /// Maximum number of unanswered questions to a node.
    pub(crate) questions: usize,
    /// Time limit for the answer to a question to a node. After this time, the question ends.
    pub(crate) answer: Duration,
    /// Time between two beats of a link. A beat is a periodic frame that shows that the node is
    /// alive.
    pub(crate) beat: Duration,
    /// Time limit for the arrival of a frame. If no frame arrives from a node for this time, the
    /// node counts as lost.
    pub(crate) silence: Duration,
    /// Maximum size of a message to another node, in bytes.
    pub(crate) message: usize,
    /// Maximum total size, in bytes, of the messages that one turn sends to one node. The last
    /// message of the turn is not counted.
    pub(crate) turn: usize,
}

impl Bounds {
    /// Returns the default bounds, changed by the options of a node.
    pub(crate) fn with(options: NodeOptions) -> Self {
        Self {
            answer: options.answer_within,
            ..Self::default()
        }
    }

    /// Reduces the bounds, so that all messages that a turn sends to one node fit into a frame of
    /// at most `frame` bytes. Returns the new bounds.
    #[must_use]
    pub(crate) fn for_frames(self, frame: usize) -> Self {
        let room = frame.saturating_sub(ROOM_BYTES);
        let message = self.message.min(room / 2);
        let turn = self.turn.min(room - message);
        Self {
            message,
            turn,
            ..self
        }
    }

    /// Returns the limits for the size, the nesting and the memory of a message to another node.
    pub(crate) fn limits(&self) -> Limits {
        WIRE_LIMITS.message_bytes(self.message)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            window: 4 << 20,
            waiting: 16 << 20,
            questions: 65_536,
            answer: ANSWER_WITHIN,
            beat: Duration::from_millis(500),
            silence: Duration::from_secs(5),
            message: MESSAGE_BYTES,
            turn: TURN_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, MESSAGE_BYTES, ROOM_BYTES, TURN_BYTES};

    #[test]
    fn what_a_turn_sends_fits_into_a_frame() {
        let bounds = Bounds::default();
        for frame in [0, 1, 100_000, 1 << 20, 8 << 20, usize::MAX] {
            let bounds = bounds.for_frames(frame);
            assert!(bounds.message + bounds.turn + ROOM_BYTES <= frame.max(ROOM_BYTES));
        }
        let large = bounds.for_frames(8 << 20);
        assert_eq!((large.message, large.turn), (MESSAGE_BYTES, TURN_BYTES));
        let usual = bounds.for_frames(1 << 20);
        assert_eq!((usual.message, usual.turn), (480 << 10, 480 << 10));
    }
}
