//! Messages to agents and clerks, the two actors that a topic has on each node.

use garrick_actor::naming::Listing;
use garrick_actor::{Address, Reply};
use garrick_sched::TaskId;
use garrick_wire::Wire;

use crate::directory::ServiceError;
use crate::line::Carrier;

/// A message of a topic that the agent of one node sends to the agent of another node. Agents are
/// the actors that pass on the topic's messages.
#[derive(Wire)]
#[wire(name = "garrick.ToTopic", context = Carrier)]
pub(super) struct ToTopic<M> {
    /// Number that identifies the stream. The topic's messages from one node to one other node form
    /// a stream.
    pub(super) stream: u64,
    /// Sequence number of the message in the stream, beginning with 1.
    pub(super) number: u64,
    pub(super) message: M,
}

/// A message to an agent: the actor that passes on the messages of a topic on a node.
pub(super) enum ToAgent<M> {
    /// A message that was published on this node.
    Publish(M),
    /// A message that was published on another node.
    From(ToTopic<M>),
}

/// A message to a clerk: the actor that knows the subscribers of a topic on a node.
pub(super) enum ToClerk<M: 'static> {
    Listing(Listing<ToTopic<M>>),
    Subscribe(Address<M>, Reply<Result<(), ServiceError>>),
    Unsubscribe(Address<M>, Reply<Result<(), ServiceError>>),
    /// The directory has listed the agent (the actor that passes on the topic's messages), or has
    /// refused to list it.
    Served(Result<(), ServiceError>),
    /// A subscriber of the topic on this node has ended.
    Ended(TaskId),
    /// The node has left the cluster.
    Left,
}
