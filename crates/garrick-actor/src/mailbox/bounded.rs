//! An actor behind a bounded mailbox.

use std::sync::{Arc, OnceLock};

use garrick_sched::{
    Address, Door, Notice, Place as Permit, Room, SendError, SpawnError, door, in_turn,
};

use super::inlet::Inlet;
use super::{OnFull, Place};
use crate::actor::{Actor, Next};
use crate::context::Context;

/// A message that has its place.
pub(super) struct Held<M> {
    message: M,
    permit: Permit,
    /// What the actor is known by.
    front: Address<M>,
}

/// What senders know.
pub(super) struct Front<M> {
    /// Set once the actor is made.
    actor: OnceLock<Address<Held<M>>>,
    room: Arc<Room>,
    on_full: OnFull,
}

impl<M: Send + 'static> Front<M> {
    /// Sends a message that has its place.
    pub(super) fn send(
        &self,
        message: M,
        permit: Permit,
        front: Address<M>,
    ) -> Result<(), SendError<M>> {
        let held = Held {
            message,
            permit,
            front,
        };
        // Whoever has the address of the front can be a moment early: the actor itself, when it starts.
        let actor = self.actor.wait();
        actor
            .send(held)
            .map_err(|SendError(held)| SendError(held.message))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.actor.get().is_some_and(Address::is_stopped)
    }

    pub(super) fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

/// The door. The inlet shares its front.
struct Bound<M>(Arc<Front<M>>);

impl<M: Send + 'static> Door for Bound<M> {
    type Message = M;

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        let (room, on_full) = (self.0.room(), self.0.on_full);
        let permit = match on_full {
            OnFull::Wait if !in_turn() => Some(room.take_blocking()),
            _ => room.try_take(),
        };
        match permit {
            Some(permit) => self.0.send(message, permit, here.clone()),
            None if on_full == OnFull::DropNewest && !self.0.is_stopped() => {
                room.count_dropped();
                Ok(())
            }
            None => Err(SendError(message)),
        }
    }

    fn stop(&self) {
        self.0.actor.wait().stop();
    }

    fn is_stopped(&self) -> bool {
        self.0.actor.wait().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.0.actor.wait().watch(notice);
    }
}

/// The actor as the scheduler sees it.
struct Behind<A: Actor> {
    actor: A,
    /// Until it has started.
    front: Option<Address<A::Msg>>,
}

impl<A: Actor> Actor for Behind<A> {
    type Msg = Held<A::Msg>;
    const STARTS: bool = A::STARTS;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        let Some(front) = self.front.take() else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        self.actor.started(&mut Context::new(&turn))
    }

    fn receive(&mut self, held: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        let Held {
            message,
            permit,
            front,
        } = held;
        drop(permit);
        let turn = cx.turn().seen_as(&front);
        self.actor.receive(message, &mut Context::new(&turn))
    }

    fn name() -> &'static str {
        A::name()
    }
}

pub(super) fn spawn<A>(
    place: &impl Place,
    room: Arc<Room>,
    on_full: OnFull,
    actor: A,
) -> Result<Inlet<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let front = Arc::new(Front {
        actor: OnceLock::new(),
        room,
        on_full,
    });
    let address = door(Bound(front.clone()));
    let behind = Behind {
        actor,
        front: A::STARTS.then(|| address.clone()),
    };
    let spawned = place
        .spawn(behind)
        .map_err(|SpawnError(behind)| SpawnError(behind.actor))?;
    let set = front.actor.set(spawned);
    debug_assert!(set.is_ok(), "set once, here");
    Ok(Inlet::bounded(address, front))
}
