//! Bounds of a node.

use std::time::Duration;

use garrick_wire::Limits;

/// Limits of a message that travels.
pub(crate) const WIRE_LIMITS: Limits = Limits::new();

/// Size in bytes from which on a frame gets no more messages.
pub(crate) const FRAME_BYTES: usize = 32 << 10;

/// Maximum size of what a turn sends to one node, in bytes. It lies in one frame.
pub(crate) const TURN_BYTES: usize = 4 << 20;

/// Bounds of the links of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Number of bytes under way to a node from which on frames wait.
    pub(crate) window: usize,
    /// Number of bytes that wait for a node from which on messages are refused.
    pub(crate) waiting: usize,
    /// Number of questions to a node without an answer.
    pub(crate) questions: usize,
    /// Time between two looks at a link.
    pub(crate) beat: Duration,
    /// Time without a frame after which a node is lost.
    pub(crate) silence: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            window: 4 << 20,
            waiting: 16 << 20,
            questions: 65_536,
            beat: Duration::from_millis(500),
            silence: Duration::from_secs(5),
        }
    }
}
