//! How a router chooses.

use std::marker::PhantomData;

use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::context::Context;

/// How a router chooses among its routees.
///
/// # Examples
/// A policy of one's own: the newest routee gets everything.
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
    /// Hands `msg` on, in the router's turn `cx`.
    ///
    /// # Errors
    /// Gives the message back if no routee is left.
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        cx: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M>;
}

/// Hands messages to one routee after the other, and begins again.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    /// The number of the routee that had the last turn. Numbers grow, so that nobody is passed over when
    /// others come or go.
    last: u64,
}

impl RoundRobin {
    /// Begins with the first routee.
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

/// Hands each message to the routee that has the fewest to handle; among equals, to each in its turn.
///
/// It needs [`Measured`](super::Measured) routees; one that is not counts as loaded with everything that it
/// was ever handed. What others send to a routee is not known to be on its way; it makes the routee seem
/// less loaded than it is until it has caught up.
#[derive(Debug, Clone, Default)]
pub struct LeastLoaded {
    /// As for [`RoundRobin`].
    last: u64,
}

impl LeastLoaded {
    /// Begins with the first routee.
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
            // Of those with the least, the one whose turn comes first.
            let turn_of = |index: usize| (index < first, index);
            let (least, _) = (routees.all_in_flight().enumerate())
                .min_by_key(|(index, in_flight)| (*in_flight, turn_of(*index)))
                .expect("there is a routee");
            self.last = routees.number(least);
            least
        })
    }
}

/// Hands each message to all routees.
#[derive(Debug, Clone, Default)]
pub struct Broadcast<M> {
    /// The messages must be `Clone`, which is said where the policy is made.
    message: PhantomData<fn(M)>,
}

impl<M: Clone> Broadcast<M> {
    /// Hands each message to all routees.
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
