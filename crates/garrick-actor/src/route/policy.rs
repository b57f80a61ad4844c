//! The policies of routers.

use std::marker::PhantomData;

use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::context::Context;

/// Chooses among the routees of a router.
///
/// # Examples
/// A custom policy: the newest routee gets everything.
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
    /// Sends `msg` on, in the router's turn `cx`.
    ///
    /// # Errors
    /// Returns the message if no routee is left.
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        cx: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M>;
}

/// Sends messages to one routee after the other, and begins again.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    /// Number of the routee that had the last turn. Numbers grow, so no routee is passed over when
    /// others come or go.
    last: u64,
}

impl RoundRobin {
    /// Creates a policy that begins with the first routee.
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

/// Sends each message to the routee that has the fewest to handle. Among equals, routees take
/// turns.
///
/// It needs [`Measured`](super::Measured) routees. Any other routee counts as loaded with every
/// message that it was ever sent here. Messages on their way from other senders are not known. They
/// make the routee seem less loaded than it is until it has caught up.
#[derive(Debug, Clone, Default)]
pub struct LeastLoaded {
    /// Number of the routee that had the last turn, as in [`RoundRobin`].
    last: u64,
}

impl LeastLoaded {
    /// Creates a policy that begins with the first routee.
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
            // Among the routees with the least load, the first in turn.
            let turn_of = |index: usize| (index < first, index);
            let (least, _) = (routees.all_in_flight().enumerate())
                .min_by_key(|(index, in_flight)| (*in_flight, turn_of(*index)))
                .expect("there is a routee");
            self.last = routees.number(least);
            least
        })
    }
}

/// Sends each message to all routees.
#[derive(Debug, Clone, Default)]
pub struct Broadcast<M> {
    /// The messages must be `Clone`, which is required where the policy is created.
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
