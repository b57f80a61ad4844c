//! Tasks with a bounded mailbox. The [`Room`] of the mailbox is part of the task's cell (memory
//! block).
//!
//! ```text
//!   block   [ header | room | task ]      the inbox in the header has BOUNDED instead of IDLE
//!
//!   a turn sends      takes a place from its purse, then sends as to any cell; undo returns the place
//!   a thread sends    takes a place or waits for it, then sends as to any cell
//!   the task          counts each message that it handles, by a plain store
//! ```
//!
//! A purse contains the places that a turn has taken in advance. Senders may read the room while
//! they have a reference to the cell. So the room is dropped later than the task: when the memory
//! block of the cell is freed.
//!
//! Two kinds of messages are accepted even if the mailbox is full, because the task has agreed to
//! accept them: answers to the task's own questions, and messages of timers.

use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::cell::{CellPtr, Kind};
use crate::quiet;
use crate::remote::{Remote, Wake};
use crate::runtime::address::{Address, SendError, deliver_note};
use crate::runtime::block::is_boxed;
use crate::runtime::current;
use crate::runtime::room::{Room, WhenFull, room_of};
use crate::runtime::sponsor::{Handle, SpawnError};
use crate::runtime::task::{Bound, Boxed, Flow, Task};
use crate::runtime::turn::Turn;
use crate::runtime::worker::Worker;

/// A task together with the [`Room`] of its mailbox. Both lie in the memory block of a cell.
///
/// Senders read `room` while the task is running, although the running task has a unique reference
/// to the whole struct. No code writes `room` during this time. The type is not `Unpin`. So the
/// compiler does not assume that the unique reference is the only way to access the struct.
#[repr(C)]
struct Bounded<T> {
    /// Room (semaphore) of the mailbox, which [`drop_room`] drops when the memory block is freed.
    room: ManuallyDrop<Arc<Room>>,
    /// The task, which [`Bounded::drop`] drops.
    task: ManuallyDrop<T>,
    pinned: PhantomPinned,
}

impl<T> Bounded<T> {
    fn new(room: Arc<Room>, task: T) -> Self {
        Self {
            room: ManuallyDrop::new(room),
            task: ManuallyDrop::new(task),
            pinned: PhantomPinned,
        }
    }

    /// Returns the task, and drops the room (the semaphore of the mailbox). Called if this value
    /// was not moved into a memory block.
    fn into_task(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: each is taken once, because `this` is not dropped.
        unsafe {
            ManuallyDrop::drop(&mut this.room);
            ManuallyDrop::take(&mut this.task)
        }
    }
}

impl<T> Drop for Bounded<T> {
    fn drop(&mut self) {
        // Waiting senders continue, and get their messages back.
        self.room.close();
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.task) };
    }
}

impl<T: Task> Task for Bounded<T> {
    type Message = T::Message;
    const STARTS: bool = T::STARTS;
    const BLOCKS: bool = T::BLOCKS;
    const COMMITS_LATER: bool = T::COMMITS_LATER;
    const RECOVERS: bool = T::RECOVERS;
    const REPORTS: bool = T::REPORTS;
    const INTERNAL: bool = T::INTERNAL;
    const BOUNDED: Bound = Bound::YES;
    const MESSAGES: &'static [&'static str] = T::MESSAGES;

    fn start(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.task.start(turn)
    }

    #[inline]
    fn receive(&mut self, message: T::Message, turn: &Turn<'_, T::Message>) -> Flow {
        // A shared reference: senders read `room`, too.
        let room: &Room = &self.room;
        self.task.receive_bounded(message, turn, || room.use_up())
    }

    fn nudged(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.room.nudged();
        self.task.nudged(turn)
    }

    fn stops(&mut self) -> bool {
        self.task.stops()
    }

    fn recover(&mut self, message: &str, turn: &Turn<'_, T::Message>) -> Flow {
        self.task.recover(message, turn)
    }

    fn label(&self) -> Option<String> {
        self.task.label()
    }

    fn is_letter(message: &T::Message) -> bool {
        T::is_letter(message)
    }

    fn message_kind(message: &T::Message) -> usize {
        T::message_kind(message)
    }

    fn name() -> &'static str {
        T::name()
    }
}

/// Returns true if the caller is allowed to block its thread until the mailbox of `to` has a place.
/// The result is false if only the caller runs the task: while it waits, no place becomes free.
pub(super) fn may_wait<M: 'static>(room: &Room, to: &Address<M>) -> bool {
    room.when_full() == WhenFull::Wait && !current::in_turn() && !to.waits_for_itself()
}

/// Drops or returns a message for which there is no room, as the policy of the mailbox demands.
///
/// # Errors
/// Returns the message if it is not dropped.
pub(super) fn overflow<M>(room: &Room, message: M) -> Result<(), SendError<M>> {
    if room.when_full() != WhenFull::Drop {
        return Err(SendError(message));
    }
    room.count_dropped();
    // A panic of the message's destructor must not reach the sender.
    quiet::drop(message);
    Ok(())
}

impl Worker {
    /// Sends a message to a task with a bounded mailbox during a turn. First takes a place in the
    /// mailbox, then calls `before`, and then sends the message.
    ///
    /// # Safety
    /// The requirements of [`room_of`] apply.
    ///
    /// # Errors
    /// Returns the message if there is no room or the task has stopped.
    #[inline(never)]
    pub(crate) unsafe fn send_to_bounded<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
        before: impl FnOnce(),
    ) -> Result<(), SendError<M>> {
        // SAFETY: by contract.
        let room = unsafe { room_of(cell) };
        // SAFETY: what is sent below keeps the receiver, and with it the room; what is not is put
        // back there.
        let taken = unsafe {
            if is_answer {
                room.take_anyway();
                self.stage.purse.add(room);
                true
            } else {
                self.stage.purse.take(room)
            }
        };
        if !taken {
            return overflow(room, message);
        }
        before();
        self.send_in_place(cell, room, message, is_answer)
    }

    /// Sends a message for which the turn has already taken a place in the mailbox. If the message
    /// is refused, the place is free again: another message of the turn can use it, or the place is
    /// given back to the mailbox.
    #[inline(always)]
    pub(super) fn send_in_place<M: 'static>(
        &self,
        cell: CellPtr,
        room: &Arc<Room>,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        // The end of the turn gives back the places that are left in the purse.
        self.stage.set_dirty();
        let sent = self.send_admitted(cell, message, is_answer);
        if sent.is_err() {
            self.stage.purse.put_back(room);
        }
        sent
    }
}

impl<M: 'static> Address<M> {
    /// Sends a message to a bounded cell from a thread that is not in a turn, like
    /// [`Address::push_from_outside`].
    ///
    /// # Safety
    /// The cell is bounded.
    ///
    /// # Errors
    /// Returns the errors of [`Address::push_from_outside`].
    #[inline(never)]
    pub(super) unsafe fn push_to_bounded(
        &self,
        message: M,
        is_answer: bool,
        keeps: impl FnOnce(&Remote) -> bool,
    ) -> Result<Wake, SendError<M>> {
        let cell = self.cell();
        // SAFETY: by contract, and we hold a reference.
        let room = unsafe { room_of(cell) };
        if is_answer {
            room.take_anyway();
        } else if room.take_some(|_| 1) == 0 {
            if !may_wait(room, self) {
                return overflow(room, message).map(|()| Wake::NOBODY);
            }
            room.wait_for_place(|| self.nudge());
        }
        self.push_in_place(room, message, is_answer, keeps)
    }

    /// Sends a message for which the caller has already taken a place in the mailbox. Called on a
    /// thread that is not in a turn.
    pub(super) fn push_in_place(
        &self,
        room: &Room,
        message: M,
        is_answer: bool,
        keeps: impl FnOnce(&Remote) -> bool,
    ) -> Result<Wake, SendError<M>> {
        let pushed = self.push_admitted(message, is_answer, keeps);
        if pushed.is_err() {
            room.give_back(1);
        }
        pushed
    }

    /// Nudges the task, which then checks for senders that are waiting for a place. The nudge is
    /// not part of the current turn, because a sender needs the nudge even if that turn is undone.
    pub(super) fn nudge(&self) {
        // A task that has stopped has released all waiting senders.
        // SAFETY: we hold a reference.
        let _ = current::with_pool(|pool| unsafe { deliver_note(pool, self.cell(), Kind::Nudge) });
    }
}

/// A trait for values that can spawn tasks, such as a [`Handle`].
#[doc(hidden)]
pub trait Spawns {
    /// Spawns a task.
    ///
    /// # Errors
    /// Returns the task if it cannot be spawned.
    fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send;

    /// Spawns a task whose mailbox has room for `capacity` messages.
    ///
    /// # Errors
    /// Returns the task if it cannot be spawned.
    fn spawn_bounded<T>(
        &self,
        capacity: usize,
        when_full: WhenFull,
        task: T,
    ) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        let room = Room::with(capacity, when_full);
        if const { is_boxed::<Bounded<T>>() } {
            let task = Bounded::new(room, Boxed(Box::new(task)));
            self.spawn_task(task)
                .map_err(|SpawnError(task)| SpawnError(*task.into_task().0))
        } else {
            self.spawn_task(Bounded::new(room, task))
                .map_err(|SpawnError(task)| SpawnError(task.into_task()))
        }
    }
}

impl Spawns for Handle {
    fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.spawn(task)
    }
}
