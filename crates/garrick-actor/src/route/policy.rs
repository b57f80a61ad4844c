//! The policies of routers.

use std::marker::PhantomData;

use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::context::Context;

/// A rule that chooses which routees receive a message. A routee is an actor to which a
/// [`Router`](super::Router) forwards messages.
///
/// # Examples
/// This custom policy sends all messages to the newest routee:
/// ```
/// use garrick_actor::Context;
/// use garrick_actor::route::{Policy, Routees, RouterMsg};
///
/// struct Newest;
///
/// impl<M: 'static> Policy<M> for Newest {
///     fn route(
///         &mut self,
///         msg: M,
///         routees: &mut Routees<M>,
///         _: &Context<'_, RouterMsg<M>>,
///     ) -> Result<(), M> {
///         routees.send_to(msg, |_, routees| routees.len() - 1)
///     }
/// }
/// ```
pub trait Policy<M: 'static>: Send + 'static {
    /// Forwards `msg` to one or more routees. `cx` is the context of the router's turn.
    ///
    /// # Errors
    /// Returns the message if no routee has taken it.
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        cx: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M>;
}

/// A policy that sends messages to the routees in round-robin order.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    /// Sequence number of the routee that received the latest message. Each new routee gets a
    /// larger number than all earlier ones, so no routee is skipped when other routees are added
    /// or removed.
    last: u64,
}

impl RoundRobin {
    /// Creates a policy that starts with the first routee.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<M: 'static> Policy<M> for RoundRobin {
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        _: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        routees.send_to(msg, |_, routees| {
            let index = routees.after(self.last);
            self.last = routees.number(index);
            index
        })
    }
}

/// A policy that sends each message to the routee that has the fewest messages to handle. Routees
/// with equal load receive messages round-robin.
///
/// This policy requires [`Measured`](super::Measured) routees. If a routee is not measured, every
/// message that the router has ever sent to it counts as not yet handled.
///
/// The policy does not count messages from other senders. While these messages are waiting in a
/// routee's mailbox, the policy underestimates the routee's load.
#[derive(Debug, Clone, Default)]
pub struct LeastLoaded {
    /// Sequence number of the routee that received the latest message, as in [`RoundRobin`].
    last: u64,
}

impl LeastLoaded {
    /// Creates a policy that starts with the first routee.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<M: 'static> Policy<M> for LeastLoaded {
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        _: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        routees.send_to(msg, |_, routees| {
            let first = routees.after(self.last);
            // Among the routees with the least load, this order selects the next one in turn.
            let turn_of = |index: usize| (index < first, index);
            let (least, _) = (routees.all_in_flight().enumerate())
                .min_by_key(|(index, in_flight)| (*in_flight, turn_of(*index)))
                .expect("there is a routee");
            self.last = routees.number(least);
            least
        })
    }
}

/// A policy that sends each message to all routees.
#[derive(Debug, Clone, Default)]
pub struct Broadcast<M> {
    /// Marker for the type of the messages. [`Broadcast::new`] requires this type to be `Clone`.
    message: PhantomData<fn(M)>,
}

impl<M: Clone> Broadcast<M> {
    /// Creates a policy that sends each message to all routees.
    #[must_use]
    pub fn new() -> Self {
        Self {
            message: PhantomData,
        }
    }
}

impl<M: Clone + 'static> Policy<M> for Broadcast<M> {
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        _: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        match routees.send_to_all(|| msg.clone()) {
            0 => Err(msg),
            _ => Ok(()),
        }
    }
}
