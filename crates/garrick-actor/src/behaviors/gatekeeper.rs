//! A gatekeeper, which forwards messages to an actor until the owner of the gatekeeper closes it.

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// A message to a [`gatekeeper`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate<M> {
    /// Forwards this message.
    Pass(M),
    /// Closes the gate. No more messages are forwarded.
    Close,
}

/// Creates an actor that forwards messages to `to` until it receives [`Gate::Close`].
///
/// Only the owner, the code that may close the gate, keeps the address of the gatekeeper itself.
/// Other senders get an address that [`contramap`] creates with [`Gate::Pass`]. Through this
/// address, the other senders can only send messages to the target, and can neither close nor stop
/// the gatekeeper.
///
/// A gatekeeper that receives [`Gate::Close`] stops, so all later sends fail and return the
/// message. The gatekeeper also stops if it cannot forward a message because the target has
/// stopped. This message becomes a dead letter.
///
/// Each message costs one additional send.
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
