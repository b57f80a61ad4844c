//! Messages to agents and clerks.

use garrick_actor::naming::Listing;
use garrick_actor::{Address, Reply};
use garrick_sched::TaskId;
use garrick_wire::Wire;

use crate::directory::ServiceError;
use crate::line::Carrier;

/// A message of an agent to that of another node.
#[derive(Wire)]
#[wire(name = "garrick.ToTopic", context = Carrier)]
pub(super) struct ToTopic<M> {
    /// Number of all that the one agent sends to the other.
    pub(super) stream: u64,
    /// Number of the message in the stream. The first one has 1.
    pub(super) number: u64,
    pub(super) message: M,
}

/// A message to an agent.
pub(super) enum ToAgent<M> {
    /// A message that is published on this node.
    Publish(M),
    /// A message that was published on another node.
    From(ToTopic<M>),
}

/// A message to a clerk.
pub(super) enum ToClerk<M: 'static> {
    Listing(Listing<ToTopic<M>>),
    Subscribe(Address<M>, Reply<Result<(), ServiceError>>),
    Unsubscribe(Address<M>, Reply<Result<(), ServiceError>>),
    /// The agent is served, or not.
    Served(Result<(), ServiceError>),
    /// A subscriber has ended.
    Ended(TaskId),
    /// The node has left.
    Left,
}
