//! A bounded mailbox: each message brings a permit along.

use std::sync::Arc;

use garrick_sched::{Address, Place as Permit, Room, SendError, SpawnError, in_turn};

use super::behind::{self, Actual, Arrived, Entrance, Way};
use super::inlet::Inlet;
use super::{OnFull, Place};
use crate::actor::Actor;
use crate::context::Context;

/// A message that has its place.
pub(super) struct Held<M> {
    message: M,
    permit: Permit,
    /// What the actor is known by.
    front: Address<M>,
}

impl<M> Held<M> {
    /// The message and its place. What the actor is known by is dropped.
    pub(super) fn split(self) -> (M, Permit) {
        (self.message, self.permit)
    }
}

/// What senders know.
pub(super) struct Front<M> {
    actual: Actual<Held<M>>,
    room: Arc<Room>,
    on_full: OnFull,
}

impl<M: Send + 'static> Front<M> {
    pub(super) fn new(room: Arc<Room>, on_full: OnFull) -> Arc<Self> {
        Arc::new(Self {
            actual: Actual::new(),
            room,
            on_full,
        })
    }

    /// Has the actor stop.
    pub(super) fn stop(&self) {
        self.actual.wait().stop();
    }

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
        let sent = self.actual.wait().send(held);
        sent.map_err(|SendError(held)| SendError(held.message))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.actual.is_stopped()
    }

    pub(super) fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Held<M>;

    fn actual(&self) -> &Actual<Held<M>> {
        &self.actual
    }

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        let permit = match self.on_full {
            OnFull::Wait if !in_turn() => Some(self.room.take_blocking()),
            _ => self.room.try_take(),
        };
        match permit {
            Some(permit) => self.send(message, permit, here.clone()),
            None if self.on_full == OnFull::DropNewest && !self.is_stopped() => {
                self.room.count_dropped();
                Ok(())
            }
            None => Err(SendError(message)),
        }
    }
}

/// Each message in its turn; its permit is back when it is handled.
struct InOrder;

impl<M: Send + 'static> Way<M> for InOrder {
    type Arrival = Held<M>;

    fn arrive(&mut self, held: Held<M>, _: &mut Context<'_, Held<M>>) -> Arrived<M> {
        drop(held.permit);
        Arrived::Handle(held.message, held.front)
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
    let front = Front::new(room, on_full);
    let address = behind::spawn(place, &front, InOrder, actor)?;
    Ok(Inlet::bounded(address, front))
}
