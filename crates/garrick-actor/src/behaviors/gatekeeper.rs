//! Revocable capabilities.

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// A message to a [`gatekeeper`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate<M> {
    /// Passes this message on.
    Pass(M),
    /// Closes the gate: no more messages are passed on.
    Close,
}

/// Passes messages on to `to`, until its owner closes it.
///
/// The owner keeps the gatekeeper's address, and gives others an address that can only pass
/// messages: an address mapped by [`contramap`] with [`Gate::Pass`], which cannot even stop the
/// gatekeeper. So types separate the owner's rights from those of other senders.
///
/// When closed, it stops, and its senders notice as they would notice the target's end: their
/// messages are returned. It also stops when it finds that the target has stopped. That message is
/// a dead letter.
///
/// It costs one message.
///
/// # Examples
/// ```
/// use garrick_actor::behaviors::{Gate, gatekeeper};
/// use garrick_actor::{Local, Next, behavior};
///
/// let local = Local::new()?;
/// let target = local.spawn(behavior(|_: &str, _| Next::Continue));
/// let gate = local.spawn(gatekeeper(target));
/// let guest = gate.contramap(Gate::Pass);
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
///
/// [`contramap`]: garrick_sched::Address::contramap
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
