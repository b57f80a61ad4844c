//! Sending to bounded mailboxes: waiting for a place, and queries about the bound.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::Poll;

use garrick_core::prim::thread;

use crate::cell::Home;
use crate::remote::Wake;
use crate::runtime::address::{Address, SendError};
use crate::runtime::current;
use crate::runtime::door::{self, Gauged};
use crate::runtime::room::{Place, Room, room_of};
use crate::runtime::several::{Several, TrySendError, Waits};

impl<M: 'static> Address<M> {
    /// Returns the [`Room`] that limits the mailbox, if this room is stored in the cell of the
    /// task.
    fn own_room(&self) -> Option<&Arc<Room>> {
        let cell = self.cell();
        // SAFETY: it is bounded, and we hold a reference.
        cell.is_bounded().then(|| unsafe { room_of(cell) })
    }

    /// Returns true if the mailbox has a bound, or if the address leads to a door to several
    /// receivers, of which one has a bounded mailbox.
    #[doc(hidden)]
    pub fn is_limited(&self) -> bool {
        self.cell().is_bounded() || self.gauged().is_some()
    }

    /// Returns the interface of the bounded mailbox behind a door (an address that leads to a
    /// function). Returns `None` if this address leads to no door with a bounded mailbox.
    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        let cell = self.cell();
        if !cell.is_door() {
            return None;
        }
        // SAFETY: it is a door for these messages, and we hold a reference.
        unsafe { door::gauged_of(cell) }
    }

    /// Returns the interface and the [`Room`] of the bounded mailbox behind a door (an address that
    /// leads to a function). Returns `None` if this address leads to no such door, or if the
    /// mailbox has no [`Room`].
    fn gauged_room(&self) -> Option<(&dyn Gauged<M>, &Arc<Room>)> {
        let gauged = self.gauged()?;
        Some((gauged, gauged.room()?))
    }

    /// Returns the interface of a door to several receivers with bounded mailboxes. Returns `None`
    /// if this address leads to no such door.
    #[doc(hidden)]
    pub fn several(&self) -> Option<&dyn Several<M>> {
        self.gauged()?.several()
    }

    /// Waits until the mailbox has room, and then sends `message`.
    ///
    /// This method waits even if the policy of the mailbox is to refuse or to drop new messages
    /// when it is full. A mailbox that has no bound, or that drops its oldest message, always has
    /// room.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message was not sent. The message is
    /// dropped together with the future.
    ///
    /// # Errors
    /// Returns the message if the task has stopped, or if the message is not accepted for a reason
    /// other than a full mailbox ([`SendError`]).
    pub async fn send_async(&self, message: M) -> Result<(), SendError<M>> {
        let Some(message) = self.send_now(message)? else {
            return Ok(());
        };
        if self.several().is_some() {
            // Boxed, because the future of an ordinary send must stay small.
            return Box::pin(self.send_to_several(message)).await;
        }
        match self.place().await {
            Some(place) => self.send_in(place, message),
            None => self.send(message),
        }
    }

    /// Sends `message` to the receivers behind a door when all of them that must get it have room.
    ///
    /// # Errors
    /// Returns the message if the receivers have stopped.
    async fn send_to_several(&self, message: M) -> Result<(), SendError<M>> {
        let mut left = Some(message);
        while left.is_some() {
            match self.full_one(&mut left) {
                Some(receiver) => receiver.free().await,
                // There is room now.
                None => yield_once().await,
            }
            if let Some(message) = left.take() {
                left = self.send_now(message)?;
            }
        }
        Ok(())
    }

    /// Returns the receiver behind a door to several receivers for which `message` must wait.
    fn full_one(&self, message: &mut Option<M>) -> Option<&(dyn Waits + Sync)> {
        self.several()?.full(message)
    }

    /// Sends `message` like [`Address::send_async`], but blocks the calling thread until the
    /// mailbox has room.
    ///
    /// # Errors
    /// Returns the message if the task has stopped, or if the message is not accepted for a reason
    /// other than a full mailbox ([`SendError`]). Also returns the message if the mailbox is full
    /// and only the calling thread runs the task, for example if the task belongs to a
    /// [`Here`](crate::Here) of this thread. Otherwise, the thread would wait for itself.
    ///
    /// # Panics
    /// Panics if called during a turn. The call would block the worker, and the receiving task
    /// might need this worker to make room.
    #[track_caller]
    pub fn send_blocking(&self, message: M) -> Result<(), SendError<M>> {
        assert!(
            !current::in_turn(),
            "an actor must not call `send_blocking`, which blocks its thread: use `try_send`"
        );
        let Some(message) = self.send_now(message)? else {
            return Ok(());
        };
        if self.several().is_some() {
            return self.send_blocking_to_several(message);
        }
        if self.waits_for_itself() {
            return Err(SendError(message));
        }
        match self.place_blocking() {
            Some(place) => self.send_in(place, message),
            None => self.send(message),
        }
    }

    /// Sends `message` like [`Address::send_to_several`], but blocks the calling thread.
    ///
    /// # Errors
    /// Returns the message if the receivers have stopped, or if this thread would wait for itself.
    fn send_blocking_to_several(&self, message: M) -> Result<(), SendError<M>> {
        let mut left = Some(message);
        loop {
            let receiver = self.full_one(&mut left);
            let Some(message) = left.take() else {
                return Ok(());
            };
            match receiver {
                Some(receiver) if receiver.is_run_here() => return Err(SendError(message)),
                Some(receiver) => receiver.free_blocking(),
                // There is room now.
                None => thread::yield_now(),
            }
            left = self.send_now(message)?;
        }
    }

    /// Sends a message if the mailbox has room now. Returns `Ok(None)` if the message was sent, and
    /// `Ok` with the message if there is no room.
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

    /// Sends `message` if the mailbox has room now.
    ///
    /// Otherwise returns the message, even if the policy of the mailbox is to wait or to drop new
    /// messages when it is full. A mailbox that has no bound, or that drops its oldest message,
    /// always has room.
    ///
    /// # Errors
    /// Returns the message and the reason.
    pub fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        let stopped = |SendError(message)| TrySendError::Stopped(message);
        let Some(room) = self.own_room() else {
            let Some(gauged) = self.gauged() else {
                return self.send(message).map_err(stopped);
            };
            return match (gauged.room(), gauged.several()) {
                (Some(room), _) => match room.try_take() {
                    Some(place) => gauged.send_in(message, place).map_err(stopped),
                    None => Err(self.refusal(message)),
                },
                (None, Some(several)) => several.try_send(message),
                (None, None) => self.send(message).map_err(stopped),
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

    /// Sends a message that the task has agreed to accept, such as the answer to its own question.
    /// The message is accepted even if the mailbox is full, or if the sponsor (the group of
    /// workers) is shutting down and refuses messages from other threads
    /// ([`Builder::refuse_strangers`](crate::Builder::refuse_strangers)).
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

    /// Returns the error for a message that was not sent because no place was free.
    fn refusal(&self, message: M) -> TrySendError<M> {
        if self.is_stopped() {
            TrySendError::Stopped(message)
        } else {
            TrySendError::Full(message)
        }
    }

    /// Returns the maximum number of messages that can wait in the mailbox, or `None` if it has no
    /// bound. Also returns `None` if the address leads to several mailboxes.
    pub fn capacity(&self) -> Option<usize> {
        match self.own_room() {
            Some(room) => Some(room.capacity()),
            None => self.gauged().and_then(Gauged::capacity),
        }
    }

    /// Returns the number of messages that are waiting in the mailbox. Returns `None` if the
    /// mailbox has no bound, because its messages are not counted.
    pub fn waiting(&self) -> Option<usize> {
        match self.own_room() {
            Some(room) => Some(room.taken()),
            None => self.gauged().and_then(Gauged::waiting),
        }
    }

    /// Returns the number of messages that were dropped because the mailbox was full. Returns 0 if
    /// the mailbox has no bound.
    ///
    /// A message is also counted if it was sent outside of turns, and was refused after
    /// [`Address::contramap`] had converted it.
    pub fn dropped(&self) -> u64 {
        match self.own_room() {
            Some(room) => room.dropped(),
            None => self.gauged().map_or(0, Gauged::dropped),
        }
    }

    /// Counts a message as dropped, because it was refused outside of turns and cannot be returned
    /// to its sender. Each bounded mailbox for which the message was intended counts it in
    /// [`Address::dropped`]. If `message` is `None`, the mailboxes that get every message count it.
    /// A message that is given may be taken.
    #[doc(hidden)]
    pub fn count_refused(&self, message: &mut Option<M>) {
        match self.own_room() {
            Some(room) => room.count_dropped(),
            None => {
                if let Some(gauged) = self.gauged() {
                    gauged.count_refused(message);
                }
            }
        }
    }

    /// Returns the [`Room`] of the mailbox. The room limits the number of waiting messages. Returns
    /// `None` if senders never have to wait for a place in the mailbox.
    #[doc(hidden)]
    pub fn room(&self) -> Option<Arc<Room>> {
        self.any_room().cloned()
    }

    /// Returns the [`Room`] of the mailbox like [`Address::room`], but as a reference.
    pub(super) fn any_room(&self) -> Option<&Arc<Room>> {
        self.own_room().or_else(|| self.gauged()?.room())
    }

    /// Returns true if only the calling thread runs the task with the bounded mailbox, so that this
    /// thread must not wait for a place in the mailbox. A door asks the address to which it leads.
    #[doc(hidden)]
    pub fn waits_for_itself(&self) -> bool {
        let cell = self.cell();
        if cell.is_door() {
            let gauged = self.gauged();
            return current::is_only_runner(Home::NOBODY)
                || gauged.is_some_and(Gauged::waits_for_itself);
        }
        current::is_only_runner(cell.home())
    }

    /// Tells the task that a sender is waiting for a place in its mailbox.
    #[doc(hidden)]
    pub fn nudge_keeper(&self) {
        if self.cell().is_bounded() {
            self.nudge();
        } else if let Some(gauged) = self.gauged() {
            gauged.nudge();
        }
    }

    /// Waits until the mailbox has a free place, and takes the place. Returns `None` immediately if
    /// the mailbox always has room. If the task has stopped, returns a place immediately, although
    /// a message can no longer be sent. The future is cancel safe.
    #[doc(hidden)]
    pub async fn place(&self) -> Option<Place> {
        let room = self.any_room()?;
        Some(room.take_with(|| self.nudge_keeper()).await)
    }

    /// Takes a place like [`Address::place`], but blocks the calling thread while it waits.
    #[doc(hidden)]
    pub fn place_blocking(&self) -> Option<Place> {
        let room = self.any_room()?;
        room.wait_for_place(|| self.nudge_keeper());
        Some(Place::of(room.clone()))
    }

    /// Sends `message`, which then occupies `place` in this mailbox.
    ///
    /// # Errors
    /// Returns the message if the task has stopped.
    ///
    /// # Panics
    /// Panics if the place belongs to another mailbox, or if this mailbox is not bounded.
    #[doc(hidden)]
    pub fn send_in(&self, place: Place, message: M) -> Result<(), SendError<M>> {
        let Some(room) = self.own_room() else {
            let (gauged, room) = self
                .gauged_room()
                .expect("a mailbox without a bound has no places");
            assert!(
                ptr::eq(place.room(), &**room),
                "the place belongs to another mailbox"
            );
            return gauged.send_in(message, place);
        };
        assert!(
            ptr::eq(place.room(), &**room),
            "the place belongs to another mailbox"
        );
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

impl<M: Send + 'static> Address<M> {
    /// Returns the receiver whose full mailbox does not accept `message` now. A door to several
    /// receivers calls this method for each of them ([`Several::full`]).
    #[doc(hidden)]
    pub fn in_the_way(&self, message: &mut Option<M>) -> Option<&(dyn Waits + Sync)> {
        match self.any_room() {
            Some(room) => room.is_full().then_some(self as &(dyn Waits + Sync)),
            None => self.several()?.full(message),
        }
    }
}

impl<M: Send + 'static> Waits for Address<M> {
    fn free(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move { drop(self.place().await) })
    }

    fn free_blocking(&self) {
        drop(self.place_blocking());
    }

    fn is_run_here(&self) -> bool {
        self.waits_for_itself()
    }
}

/// Returns `Pending` once, so that other futures of the executor can run.
async fn yield_once() {
    let mut is_first = true;
    poll_fn(|context| {
        if is_first {
            is_first = false;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}
