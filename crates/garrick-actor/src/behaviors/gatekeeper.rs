//! Capabilities that can be taken back.

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// What a [`gatekeeper`] gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate<M> {
    /// To be passed on.
    Pass(M),
    /// Nothing is passed on from here on.
    Close,
}

/// Passes messages on to `to`, until its owner closes it. The seed's `gatekeeper`.
///
/// The owner keeps the gatekeeper's address, and gives others one that can only pass: an [`adapter`](super::adapter())
/// with [`Gate::Pass`], which they cannot even stop. What the seed tells apart by who sends is so told
/// apart by type.
///
/// Closed, it stops, and those that were given an address learn of it as they would of the target's end: by their
/// messages coming back. It stops as well when it finds that the target has stopped; that message is a dead letter.
///
/// Costs one message.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors::{Gate, adapter, gatekeeper}};
///
/// let local = Local::new()?;
/// let target = local.spawn_behavior(|_: &str, _| Next::Continue);
/// let gate = local.spawn(gatekeeper(target));
/// let guest = adapter(gate.clone(), Gate::Pass);
/// guest.send("may I?")?;
/// local.run();
///
/// gate.send(Gate::Close)?;
/// guest.send("and now?")?;
/// local.run();
/// assert_eq!(local.handle().dead_letters(), 1);
/// assert!(guest.send("hello?").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gatekeeper<M: Send + 'static>(to: Address<M>) -> impl Actor<Msg = Gate<M>> + Send {
    Gatekeeper { to }
}

struct Gatekeeper<M> {
    to: Address<M>,
}

impl<M: Send + 'static> Actor for Gatekeeper<M> {
    type Msg = Gate<M>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, gate: Gate<M>, cx: &mut Context<'_, Gate<M>>) -> Next {
        match gate {
            Gate::Pass(msg) => cx.relay(&self.to, msg),
            Gate::Close => Next::Stop,
        }
    }
}
