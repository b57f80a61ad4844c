//! Behaviors that consist of two actors, a front and a core.
//!
//! ```text
//!   users     -- M --> [ front ] -- enter(M) --> [ core ] -- asks --> service
//!                                                  ^  |                 |
//!                                                  +--|-- its own ------+
//! ```
//!
//! The core receives messages that users must not send, such as the answers that the core waits
//! for. Users have the address of the front, whose message type contains only messages that users
//! may send. When the front starts, it spawns the core. The front forwards every message to the
//! core. So each message costs one additional send on the same worker.

use std::fmt;

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// The front: the actor whose address users have. The front forwards each message to the core,
/// which is the actor that does the work.
pub(super) struct Front<M, A: Actor> {
    /// The core: the actor that does the work. When the front starts, it spawns the core, and this
    /// field becomes `None`.
    core: Option<A>,
    /// Address of the actor that does the work (the core). `None` until this actor (the front) has
    /// started.
    address: Option<Address<A::Msg>>,
    /// Function that converts a message to this actor (the front) into a message to the actor that
    /// does the work (the core).
    enter: fn(M) -> A::Msg,
}

impl<M, A: Actor> Front<M, A> {
    pub(super) fn new(core: A, enter: fn(M) -> A::Msg) -> Self {
        Self {
            core: Some(core),
            address: None,
            enter,
        }
    }

    /// Returns the actor that does the work (the core). Returns `None` if this actor (the front)
    /// has already spawned it.
    pub(super) fn core_mut(&mut self) -> Option<&mut A> {
        self.core.as_mut()
    }
}

impl<M, A> Actor for Front<M, A>
where
    M: 'static,
    A: Actor + Send,
    A::Msg: Send,
{
    type Msg = M;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, M>) -> Next {
        self.address = self.core.take().map(|core| cx.spawn(core));
        Next::Continue
    }

    #[inline]
    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        match &self.address {
            Some(core) => cx.relay(core, (self.enter)(msg)),
            None => unreachable!("an actor starts before its first message"),
        }
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<M, A: Actor> fmt::Debug for Front<M, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front")
            .field("core", &self.address)
            .finish_non_exhaustive()
    }
}
