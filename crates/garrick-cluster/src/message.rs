//! Messages to links.

use bytes::Bytes;
use garrick_actor::Ended;

use crate::frame::Head;
use crate::line::Given;

/// A message to a link.
pub(crate) enum LinkMsg {
    /// A batch of a turn.
    Out(Given),
    /// The head and the entries of a frame of the other node. The head was checked.
    Frame(Head, Bytes),
    /// A receiver of this node has ended, which the other node watches in a session.
    Ended {
        session: u64,
        watch: u64,
        ended: Ended,
    },
    /// The time of a beat has come.
    Beat,
    /// Mailboxes that were full may have room, and a transport may take frames.
    Retry,
    /// This node leaves.
    Leave,
}
