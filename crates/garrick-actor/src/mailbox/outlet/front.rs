//! The senders' side of an outlet: a door (an address that leads to a function) that reserves a
//! place in the outlet for each message. A message occupies its place until it is read.

use std::sync::Arc;

use garrick_sched::{Address, Gauged, Place as Permit, Room, SendError, in_turn};

use crate::mailbox::behind::{Actual, Entrance};

/// A message, and the place in the outlet that is reserved for it.
pub(in crate::mailbox) struct Held<M> {
    pub(super) message: M,
    pub(super) permit: Permit,
}

/// The senders' side of an [`Outlet`](super::Outlet).
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

    /// Stops the task that receives the messages of the outlet.
    pub(super) fn stop(&self) {
        self.actual.wait().stop();
    }
}

impl<M: Send + 'static> Gauged<M> for Front<M> {
    fn room(&self) -> Option<&Arc<Room>> {
        Some(&self.room)
    }

    /// Returns true on a thread that alone moves the messages into the stream, so that none of them
    /// is read while this thread waits.
    fn waits_for_itself(&self) -> bool {
        self.actual.wait().waits_for_itself()
    }

    fn send_in(&self, message: M, permit: Permit) -> Result<(), SendError<M>> {
        let sent = self.actual.wait().send(Held { message, permit });
        sent.map_err(|SendError(held)| SendError(held.message))
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.room.capacity())
    }

    fn waiting(&self) -> Option<usize> {
        Some(self.room.taken())
    }

    fn dropped(&self) -> u64 {
        self.room.dropped()
    }
}

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Held<M>;

    fn actual(&self) -> &Actual<Held<M>> {
        &self.actual
    }

    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        Some(self)
    }

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        let permit = if in_turn() || here.waits_for_itself() {
            self.room.try_take()
        } else {
            Some(self.room.take_blocking())
        };
        match permit {
            Some(permit) => self.send_in(message, permit),
            None => Err(SendError(message)),
        }
    }
}
