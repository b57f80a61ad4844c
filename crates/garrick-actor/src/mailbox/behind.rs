//! What the actors behind a mailbox have in common, whatever the kind of mailbox.
//!
//! ```text
//!   Address<M> --> door: Entrance --- Arrival ---> Behind [ Way | actor ]
//!                     pass: whether, and as what         arrive: which message is next
//! ```
//!
//! An [`Entrance`] is asked by every sender, on the sender's thread. A [`Way`] is the actor's own. A message is handled
//! under the address of the door, so that the actor knows nothing of all this.

use std::sync::{Arc, OnceLock};

use garrick_sched::{Address, Door, Notice, SendError, SpawnError, count_dead_letters, door};

use super::Place;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;

/// The actor behind a door, once it is made.
pub(super) struct Actual<N>(OnceLock<Address<N>>);

impl<N: 'static> Actual<N> {
    pub(super) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Its address. Whoever has that of the door can be a moment early: the actor itself, when it starts.
    pub(super) fn wait(&self) -> &Address<N> {
        self.0.wait()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.get().is_some_and(Address::is_stopped)
    }
}

/// What stands in front of an actor, shared by those who send.
pub(super) trait Entrance: Send + Sync + 'static {
    /// What is sent.
    type Message: Send + 'static;
    /// What the actor receives for it.
    type Arrival: Send + 'static;

    /// The actor.
    fn actual(&self) -> &Actual<Self::Arrival>;

    /// Sends a message, or gives it back; `here` is the door's address.
    fn pass(
        &self,
        message: Self::Message,
        here: &Address<Self::Message>,
    ) -> Result<(), SendError<Self::Message>>;
}

/// The door of an entrance.
struct Gate<E>(Arc<E>);

impl<E: Entrance> Door for Gate<E> {
    type Message = E::Message;

    fn pass(
        &self,
        message: E::Message,
        here: &Address<E::Message>,
    ) -> Result<(), SendError<E::Message>> {
        self.0.pass(message, here)
    }

    fn stop(&self) {
        self.0.actual().wait().stop();
    }

    fn is_stopped(&self) -> bool {
        self.0.actual().wait().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.0.actual().wait().watch(notice);
    }
}

/// What an arrival comes to.
pub(super) enum Arrived<M> {
    /// This message is to be handled, under that address.
    Handle(M, Address<M>),
    /// Nothing more now.
    Done(Next),
}

/// From what arrives to the message that is handled next.
pub(super) trait Way<M: 'static>: Send + 'static {
    /// What arrives.
    type Arrival: Send + 'static;

    /// Takes what has arrived.
    fn arrive(&mut self, arrival: Self::Arrival, cx: &mut Context<'_, Self::Arrival>)
    -> Arrived<M>;

    /// The actor has ended: how many of the messages that are kept here nobody has counted. Every arrival that is
    /// still to come is counted already, as a message that nobody will handle.
    fn left(&mut self) -> usize {
        0
    }
}

/// The actor as the scheduler sees it.
struct Behind<A: Actor, W: Way<A::Msg>> {
    /// Gone if it could not be spawned, and was given back.
    actor: Option<A>,
    way: W,
    /// Until it has started.
    front: Option<Address<A::Msg>>,
}

impl<A: Actor, W: Way<A::Msg>> Actor for Behind<A, W> {
    type Msg = W::Arrival;
    type Outcome = Next;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        let (Some(front), Some(actor)) = (self.front.take(), &mut self.actor) else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        actor.started(&mut Context::new(&turn)).into_next()
    }

    fn receive(&mut self, arrival: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        let (message, front) = match self.way.arrive(arrival, cx) {
            Arrived::Handle(message, front) => (message, front),
            Arrived::Done(next) => return next,
        };
        let Some(actor) = &mut self.actor else {
            return Next::Stop;
        };
        let turn = cx.turn().seen_as(&front);
        actor.receive(message, &mut Context::new(&turn)).into_next()
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A: Actor, W: Way<A::Msg>> Drop for Behind<A, W> {
    fn drop(&mut self) {
        count_dead_letters(self.way.left() as u64);
    }
}

/// Makes an actor behind an entrance, and the door.
pub(super) fn spawn<A, E, W>(
    place: &impl Place,
    entrance: &Arc<E>,
    way: W,
    actor: A,
) -> Result<Address<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
    E: Entrance<Message = A::Msg>,
    W: Way<A::Msg, Arrival = E::Arrival>,
{
    let address = door(Gate(entrance.clone()));
    let behind = Behind {
        actor: Some(actor),
        way,
        front: A::STARTS.then(|| address.clone()),
    };
    match place.spawn(behind) {
        Ok(spawned) => {
            let set = entrance.actual().0.set(spawned);
            debug_assert!(set.is_ok(), "set once, here");
            Ok(address)
        }
        Err(SpawnError(mut behind)) => {
            let actor = behind.actor.take();
            Err(SpawnError(actor.expect("it has just been put there")))
        }
    }
}
