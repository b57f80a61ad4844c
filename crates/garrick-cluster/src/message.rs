//! Messages to links. A link is the actor that exchanges frames with one other node.

use bytes::Bytes;
use garrick_actor::Ended;

use crate::frame::Head;
use crate::line::Given;

/// A message to a link, the actor that exchanges frames with one other node.
pub(crate) enum LinkMsg {
    /// A batch: the messages that one turn sends to the other node.
    Out(Given),
    /// The head and the entries of a frame from the other node. The head has been checked.
    Frame(Head, Bytes),
    /// A receiver on this node has ended. The other node watches this receiver. `ended` is `None`
    /// if the receiver has dropped the notice, so that its end will never be reported.
    Ended {
        session: u64,
        watch: u64,
        ended: Option<Ended>,
    },
    /// Request to send a beat: a periodic frame that shows that this node is alive.
    Beat,
    /// Request to try again: full mailboxes may have room, and the transport may accept frames.
    Retry,
    /// Request to check whether the link may forget the other node.
    Forget,
    /// This node leaves the cluster.
    Leave,
}
