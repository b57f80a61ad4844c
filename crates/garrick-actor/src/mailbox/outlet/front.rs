//! The senders' side of an outlet: a door at which each message gets a place, which it keeps until
//! it is read.

use std::sync::Arc;

use garrick_sched::{Address, Place as Permit, Room, SendError, in_turn};

use crate::mailbox::behind::{Actual, Entrance};

/// A message with its place.
pub(in crate::mailbox) struct Held<M> {
    pub(super) message: M,
    pub(super) permit: Permit,
}

/// The senders' side of an outlet.
pub(in crate::mailbox) struct Front<M> {
    actual: Actual<Held<M>>,
    room: Arc<Room>,
}

impl<M: Send + 'static> Front<M> {
    pub(super) fn new(room: Arc<Room>) -> Arc<Self> {
        Arc::new(Self {
            actual: Actual::new(),
            room,
        })
    }

    /// Stops the cell.
    pub(super) fn stop(&self) {
        self.actual.wait().stop();
    }

    /// Sends a message with its place.
    ///
    /// # Errors
    /// Returns the message if the reader is gone.
    pub(in crate::mailbox) fn send(&self, message: M, permit: Permit) -> Result<(), SendError<M>> {
        let sent = self.actual.wait().send(Held { message, permit });
        sent.map_err(|SendError(held)| SendError(held.message))
    }

    pub(in crate::mailbox) fn is_stopped(&self) -> bool {
        self.actual.is_stopped()
    }

    pub(in crate::mailbox) fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Held<M>;

    fn actual(&self) -> &Actual<Held<M>> {
        &self.actual
    }

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let permit = if in_turn() {
            self.room.try_take()
        } else {
            Some(self.room.take_blocking())
        };
        match permit {
            Some(permit) => self.send(message, permit),
            None => Err(SendError(message)),
        }
    }
}
