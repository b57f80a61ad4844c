//! The common part of all mailboxes that are implemented by a door in front of the actor.
//!
//! ```text
//!   Address<M> --> door: Entrance --- Arrival ---> Behind [ Way | actor ]
//!                     pass: admits and converts          arrive: picks the next message
//! ```
//!
//! The senders share an [`Entrance`], which runs on the sender's thread. The [`Way`] belongs to the
//! actor and runs in its turns. While the actor handles a message, [`Context::address`] returns the
//! address of the door. So the actor does not notice the mailbox.

use std::sync::{Arc, OnceLock};

use garrick_sched::{
    Address, Door, Gauged, Look, Notice, SendError, SpawnError, TaskId, count_left_letters, door,
};

use super::Ground;
use crate::model::actor::{Actor, Cell};
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;
use crate::quiet;

/// The address of the actor behind a door. It is set when the actor has been spawned.
pub(super) struct Actual<N>(OnceLock<Address<N>>);

impl<N: 'static> Actual<N> {
    pub(super) fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn of(address: Address<N>) -> Self {
        Self(OnceLock::from(address))
    }

    /// Returns the actor's address. Blocks until the address is set, because the actor may use the
    /// door before the code that spawned the actor has set the address.
    pub(super) fn wait(&self) -> &Address<N> {
        self.0.wait()
    }
}

/// The senders' side of a mailbox. Each sender runs this code on its own thread.
pub(super) trait Entrance: Send + Sync + 'static {
    /// Type of the messages that senders pass to the mailbox.
    type Message: Send + 'static;
    /// Type of the messages that the actor behind the door receives.
    type Arrival: Send + 'static;

    /// Returns the address of the actor.
    fn actual(&self) -> &Actual<Self::Arrival>;

    /// Sends a message, or returns it if it cannot be sent. `here` is the door's address.
    fn pass(
        &self,
        message: Self::Message,
        here: &Address<Self::Message>,
    ) -> Result<(), SendError<Self::Message>>;

    /// Returns the object that limits the number of messages in the mailbox, if there is one.
    fn gauged(&self) -> Option<&dyn Gauged<Self::Message>> {
        None
    }
}

/// The door in front of an actor. The door passes each message to the senders' side of the mailbox
/// (an [`Entrance`]).
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
        self.0.actual().wait().forward_watch(notice);
    }

    fn gauged(&self) -> Option<&dyn Gauged<E::Message>> {
        self.0.gauged()
    }

    fn look(&self) -> Option<Look> {
        // Messages also wait in the way.
        Some(self.0.actual().wait().look().uncounted())
    }

    /// Returns the id of the actor behind the door. State such as a stash is stored under this id,
    /// so it is found through every address.
    ///
    /// The door keeps the actor alive, so no other task can have the same id. In contrast, the id
    /// of the door could be reused by another door.
    fn stands_for(&self) -> Option<TaskId> {
        Some(self.0.actual().wait().id())
    }
}

/// The next step after something has arrived at the actor's side of a mailbox.
pub(super) enum Arrived<M> {
    /// Handle this message. The `Address` leads to the door in front of the actor.
    Handle(M, Address<M>),
    /// Handle no message in this turn.
    Nothing,
    /// Drop a message that has arrived after the mailbox was closed. It becomes a dead letter.
    Late(M),
    /// Handle no message in this turn, and stop the actor.
    Stop,
}

/// The actor's side of a mailbox. Stores the messages that arrive, and chooses the message that is
/// handled next.
pub(super) trait Way<M: 'static>: Send + 'static {
    /// Type of the messages that arrive at the actor's side of the mailbox.
    type Arrival: Send + 'static;

    /// Returns another address of the door in front of the actor, whose own address is `actual`.
    /// Returns `None` if the actor has no start.
    fn front(&self, actual: Address<Self::Arrival>) -> Option<Address<M>>;

    /// Processes a message that has arrived. Returns the next step.
    fn arrive(&mut self, arrival: Self::Arrival, cx: &mut Context<'_, Self::Arrival>)
    -> Arrived<M>;

    /// Called when the actor has handled a message, in the same turn. `commits` is true if the turn
    /// will certainly commit. If the way still has messages, the actor must get another arrival,
    /// even if the turn is undone. If the way is closed, the actor must also get one if the turn
    /// may be undone, because it does not stop in this turn.
    fn handled(&mut self, commits: bool, cx: &Context<'_, Self::Arrival>);

    /// Closes the mailbox: accepts no more messages, because the actor has been asked to stop. The
    /// messages that are stored now are still handled.
    fn close(&mut self);

    /// Returns true if no message is stored or about to be stored.
    fn is_empty(&self) -> bool;

    /// Returns true if the arrival contains a message, and not only an order.
    fn is_message(arrival: &Self::Arrival) -> bool;

    /// Returns the number of stored messages. They become dead letters, because the actor has
    /// stopped.
    fn left(&mut self) -> usize;
}

/// A wrapper around an actor and its side of the mailbox. The wrapper is spawned instead of the
/// actor.
struct Behind<A: Actor, W: Way<A::Msg>> {
    /// The actor. `None` after it has been returned to the caller, because it could not be spawned.
    actor: Option<A>,
    way: W,
    /// True if the actor has been asked to stop. It stops when the way is empty.
    is_closing: bool,
}

impl<A: Actor, W: Way<A::Msg>> Actor for Behind<A, W> {
    type Msg = W::Arrival;
    type Outcome = Next;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const INTERNAL: bool = A::INTERNAL;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        // The address is created here. If the actor stored it until its start, it would never be
        // dropped after the turn that spawned it was undone.
        let (Some(front), Some(actor)) = (self.way.front(cx.address()), &mut self.actor) else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        actor.started(&mut Context::new(&turn)).into_next()
    }

    fn receive(&mut self, arrival: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        let next = match self.way.arrive(arrival, cx) {
            Arrived::Handle(message, front) => match &mut self.actor {
                Some(actor) => {
                    let turn = cx.turn().seen_as(&front);
                    let outcome = actor.receive(message, &mut Context::new(&turn));
                    let next = outcome.into_next();
                    let commits = next == Next::Continue && !A::COMMITS_LATER;
                    self.way.handled(commits, cx);
                    next
                }
                None => Next::Stop,
            },
            Arrived::Nothing => Next::Continue,
            Arrived::Stop => Next::Stop,
            Arrived::Late(message) => {
                count_left_letters(A::name, 1);
                quiet::drop(message);
                Next::Continue
            }
        };
        match next {
            Next::Continue if self.is_closing && self.way.is_empty() => Next::Stop,
            next => next,
        }
    }

    /// Stops the actor when all messages that it stores have been handled. They were sent before
    /// the request to stop.
    fn stops(&mut self) -> bool {
        self.way.close();
        self.is_closing = true;
        self.way.is_empty()
    }

    fn is_letter(arrival: &Self::Msg) -> bool {
        W::is_message(arrival)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        self.actor.as_ref().and_then(A::label)
    }
}

impl<A: Actor, W: Way<A::Msg>> Drop for Behind<A, W> {
    fn drop(&mut self) {
        let count = self.way.left() as u64;
        count_left_letters(A::name, count);
    }
}

/// Returns the address of a door that passes each message to `entrance`.
pub(super) fn address<E: Entrance>(entrance: Arc<E>) -> Address<E::Message> {
    door(Gate(entrance))
}

/// Spawns an actor behind a door, which passes each message to `entrance`. Returns the address of
/// the door.
pub(super) fn spawn<A, E, W>(
    ground: &impl Ground,
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
    let behind = Behind {
        actor: Some(actor),
        way,
        is_closing: false,
    };
    match ground.spawn_task(Cell(behind)) {
        Ok(spawned) => {
            let set = entrance.actual().0.set(spawned);
            debug_assert!(set.is_ok(), "the address is set only here");
            Ok(address(entrance.clone()))
        }
        Err(SpawnError(Cell(mut behind))) => {
            let actor = behind.actor.take();
            Err(SpawnError(actor.expect("the actor was not spawned")))
        }
    }
}
