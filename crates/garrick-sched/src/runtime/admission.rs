//! Sending to bounded mailboxes: waiting for a place, and queries about the bound.

use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::remote::Wake;
use crate::runtime::address::{Address, SendError};
use crate::runtime::bounded::room_of;
use crate::runtime::current;
use crate::runtime::door::{self, Gauged};
use crate::runtime::room::{Place, Room};

/// Reason why a message was not accepted. Contains the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<M> {
    /// The mailbox has no room now.
    Full(M),
    /// The task has stopped.
    Stopped(M),
}

impl<M> fmt::Debug for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Stopped(_) => "Stopped(..)",
        })
    }
}

impl<M> fmt::Display for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<M>();
        match self {
            Self::Full(_) => write!(f, "there is no room for this {message}"),
            Self::Stopped(_) => write!(f, "the receiver of this {message} has stopped"),
        }
    }
}

impl<M> std::error::Error for TrySendError<M> {}

impl<M: 'static> Address<M> {
    /// Returns the room of the mailbox, if it is part of a bounded cell.
    fn own_room(&self) -> Option<&Arc<Room>> {
        let cell = self.cell();
        // SAFETY: it is bounded, and we hold a reference.
        cell.is_bounded().then(|| unsafe { room_of(cell) })
    }

    /// Returns the bound of the mailbox, if the address is a door with one.
    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        let cell = self.cell();
        if !cell.is_door() {
            return None;
        }
        // SAFETY: it is a door for these messages, and we hold a reference.
        unsafe { door::gauged_of(cell) }
    }

    /// Returns the bound of the mailbox and its room, if the address is a door with both.
    fn gauged_room(&self) -> Option<(&dyn Gauged<M>, &Arc<Room>)> {
        let gauged = self.gauged()?;
        Some((gauged, gauged.room()?))
    }

    /// Waits until there is room, and sends `message`. Waits regardless of the mailbox's rule for
    /// overflow. A mailbox that has no bound, or that drops its oldest message, always has room.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent. The message is dropped, too.
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    pub async fn send_async(&self, message: M) -> Result<(), SendError<M>> {
        let Some(message) = self.send_now(message)? else {
            return Ok(());
        };
        match self.place().await {
            Some(place) => self.send_in(place, message),
            None => self.send(message),
        }
    }

    /// Blocks this thread until there is room, and sends `message`, like [`Address::send_async`].
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    ///
    /// # Panics
    /// Panics if called in a turn. The worker would be blocked, and the task that must make room
    /// might need this worker.
    #[track_caller]
    pub fn send_blocking(&self, message: M) -> Result<(), SendError<M>> {
        assert!(
            !current::in_turn(),
            "an actor must not wait for room: use `try_send`"
        );
        let Some(message) = self.send_now(message)? else {
            return Ok(());
        };
        match self.place_blocking() {
            Some(place) => self.send_in(place, message),
            None => self.send(message),
        }
    }

    /// Sends a message if there is room now. Returns `Ok` with the message if there is no room.
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    fn send_now(&self, message: M) -> Result<Option<M>, SendError<M>> {
        match self.try_send(message) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(message)) => Ok(Some(message)),
            Err(TrySendError::Stopped(message)) => Err(SendError(message)),
        }
    }

    /// Sends `message` if there is room now, regardless of the mailbox's rule for overflow. A
    /// mailbox that has no bound, or that drops its oldest message, always has room.
    ///
    /// # Errors
    /// Returns the message and the reason.
    pub fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        let stopped = |SendError(message)| TrySendError::Stopped(message);
        let Some(room) = self.own_room() else {
            return match self.gauged_room() {
                None => self.send(message).map_err(stopped),
                Some((gauged, room)) => match room.try_take() {
                    Some(place) => gauged.send_in(message, place).map_err(stopped),
                    None => Err(self.refusal(message)),
                },
            };
        };
        let cell = self.cell();
        if let Some(worker) = current::worker() {
            // SAFETY: what is sent keeps the receiver, and with it the room; what is not is put
            // back there.
            if unsafe { worker.stage.purse.take(room) } {
                return worker
                    .send_in_place(cell, room, message, false)
                    .map_err(stopped);
            }
        } else if room.take_some(|_| 1) == 1 {
            let pushed = self.push_in_place(room, message, false, |_| false);
            return pushed.map(Wake::call).map_err(stopped);
        }
        Err(self.refusal(message))
    }

    /// Sends a message that was promised a place before. It is accepted even if the mailbox is full
    /// or the gate is closed.
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    #[doc(hidden)]
    pub fn send_promised(&self, message: M) -> Result<(), SendError<M>> {
        match current::worker() {
            Some(worker) => worker.send_answer(self, message),
            None => self.send_from_outside(message, true),
        }
    }

    /// Returns the error for a message that got no place.
    fn refusal(&self, message: M) -> TrySendError<M> {
        if self.is_stopped() {
            TrySendError::Stopped(message)
        } else {
            TrySendError::Full(message)
        }
    }

    /// Returns the maximum number of waiting messages, or `None` if the mailbox has no bound.
    pub fn capacity(&self) -> Option<usize> {
        match self.own_room() {
            Some(room) => Some(room.capacity()),
            None => self.gauged().map(Gauged::capacity),
        }
    }

    /// Returns the number of waiting messages, or `None` if the mailbox has no bound. Without a
    /// bound, messages are not counted.
    pub fn waiting(&self) -> Option<usize> {
        match self.own_room() {
            Some(room) => Some(room.taken()),
            None => self.gauged().map(Gauged::waiting),
        }
    }

    /// Returns the number of messages that were dropped because the mailbox was full.
    pub fn dropped(&self) -> u64 {
        match self.own_room() {
            Some(room) => room.dropped(),
            None => self.gauged().map_or(0, Gauged::dropped),
        }
    }

    /// Returns the room in which senders wait for places, if the mailbox has one.
    #[doc(hidden)]
    pub fn room(&self) -> Option<Arc<Room>> {
        self.any_room().cloned()
    }

    /// Returns the room like [`Address::room`], without a count.
    pub(super) fn any_room(&self) -> Option<&Arc<Room>> {
        self.own_room().or_else(|| self.gauged()?.room())
    }

    /// Nudges the task for a sender that waits for a place.
    pub(super) fn nudge_keeper(&self) {
        if self.cell().is_bounded() {
            self.nudge();
        } else if let Some(gauged) = self.gauged() {
            gauged.nudge();
        }
    }

    /// Waits for a place. Returns `None` immediately if the mailbox always has room. Once the task
    /// has stopped, there are places for all senders. This future is cancel safe.
    #[doc(hidden)]
    pub async fn place(&self) -> Option<Place> {
        let room = self.any_room()?;
        Some(room.take_with(|| self.nudge_keeper()).await)
    }

    /// Waits for a place like [`Address::place`], and blocks this thread.
    #[doc(hidden)]
    pub fn place_blocking(&self) -> Option<Place> {
        let room = self.any_room()?;
        room.wait_for_place(|| self.nudge_keeper());
        Some(Place::of(room.clone()))
    }

    /// Sends a message that uses a place of this mailbox.
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    ///
    /// # Panics
    /// Panics if the place belongs to another mailbox, or if this mailbox is not bounded.
    #[doc(hidden)]
    pub fn send_in(&self, place: Place, message: M) -> Result<(), SendError<M>> {
        let Some(room) = self.own_room() else {
            let (gauged, room) = self.gauged_room().expect("the mailbox has no places");
            assert!(ptr::eq(place.room(), &**room), "a place of another mailbox");
            return gauged.send_in(message, place);
        };
        assert!(ptr::eq(place.room(), &**room), "a place of another mailbox");
        if let Some(worker) = current::worker() {
            // SAFETY: as in `try_send`.
            unsafe { worker.stage.purse.add(room) };
            place.spend();
            return worker.send_in_place(self.cell(), room, message, false);
        }
        let pushed = self.push_admitted(message, false, |_| false)?;
        place.spend();
        pushed.call();
        Ok(())
    }
}
