//! A room: a number of places for messages, and a queue of senders that are waiting for a place.
//!
//! A room is a semaphore. Waiting senders are woken in the order of arrival. But a woken sender has
//! no right to a place: another sender may take the place first. Places are freed in two ways.
//!
//! *A place is given back by any thread.* The thread subtracts 1 from a count. If a sender is
//! waiting, the thread wakes that sender.
//!
//! ```text
//!     a waiting sender                         a thread that gives back
//!     1. no place: join the queue              1. taken -= 1
//!        (waiting += 1)                        2. waiting > 0? then remove the first from the
//!     2. a place now? then leave the queue        queue, and wake it
//!     3. sleep until removed from the queue
//! ```
//!
//! Each side first writes its own word and then reads the other word. All four accesses are
//! sequentially consistent (Dekker's pattern). So either the waiting sender sees the place, or the
//! thread that gives it back sees the waiting sender. A sender that was removed from the queue must
//! try to take a place. If it gives up before that, it must wake the next sender.
//!
//! *A place is used up by the keeper.* The keeper is the task that receives the messages. It counts
//! handled messages by a plain store, and reads `waiting` without a fence. So it may miss a sender
//! that has just joined the queue. For this reason, a waiting sender nudges the keeper between
//! steps 2 and 3, and the keeper then checks again. The nudge is sent by a read-modify-write, so
//! that each side sees what the other wrote. Only one nudge is in flight at a time (`is_nudged`).
//!
//! ```text
//!     a waiting sender                         the keeper
//!     2. a place now? then leave the queue     1. handled += 1 (plain store)
//!     2b. is_nudged = true; was it false?      2. waiting > 0, as read here? wake the first
//!         then nudge the keeper                nudged: is_nudged = false; as step 2, for each place
//!     3. sleep until removed from the queue
//! ```
//!
//! A closed room has places for all senders, so that no sender waits. Their sends then fail.
//!
//! Taking a place is lock-free. The lock of the queue is held only for a few instructions.

mod line;

mod cell;

use std::future::poll_fn;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
    },
    thread, unmodelled,
};

use crate::waker::waker_of_thread;
pub(crate) use cell::{drop_room, room_of};
use line::{Line, Ticket};

/// Number that is added to the count of handled messages when a room (the semaphore of a mailbox)
/// is closed, so that all places seem to be free. The number is larger than the number of places
/// that can be taken. It is small enough that the difference of two counts does not overflow.
const CLOSED: usize = isize::MAX as usize / 2;

/// The policy of a bounded mailbox for new messages while it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// A sender that is not in a turn waits until the mailbox has room. A sender in a turn gets the
    /// message back.
    Wait,
    /// The message is returned to the sender.
    Fail,
    /// The message is dropped, and is counted as dropped.
    Drop,
}

/// A semaphore that limits the number of waiting messages. A room has a fixed number of places, one
/// for each message, and counts the places that are taken.
///
/// # Examples
/// ```
/// use garrick_sched::Room;
///
/// let room = Room::new(1);
/// let place = room.try_take().unwrap();
/// assert!(room.try_take().is_none());
/// drop(place);
/// assert!(room.try_take().is_some());
/// ```
#[derive(Debug)]
pub struct Room {
    /// Fields that threads change when they take places in the mailbox or give them back.
    senders: CachePadded<Senders>,
    /// Fields for the task that receives the messages (the keeper). Only this task changes the
    /// count of handled messages.
    keeper: CachePadded<Keeper>,
}

#[derive(Debug)]
struct Senders {
    capacity: usize,
    when_full: WhenFull,
    /// Number of places in the mailbox that were taken, minus the number of places given back.
    taken: AtomicUsize,
    /// A copy of `handled`, which may be out of date. Senders read this copy, because the receiving
    /// task often writes `handled`. The copy is never larger than `handled`.
    seen: unmodelled::AtomicUsize,
    dropped: unmodelled::AtomicU64,
    line: Line,
}

#[derive(Debug)]
struct Keeper {
    /// Number of messages that the receiving task (the keeper) has handled since the room was
    /// created. Each of them has freed a place.
    handled: AtomicUsize,
    /// True while the receiving task (the keeper) has not yet handled a nudge (a request for a
    /// turn) that was sent to it.
    is_nudged: AtomicBool,
}

/// A place for one message in a [`Room`]. Dropping the `Place` gives the place back to the room.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
}

impl Place {
    /// Creates a `Place`, the guard of a place in a mailbox that the caller has already taken.
    pub(crate) fn of(room: Arc<Room>) -> Self {
        Self { room }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Consumes the `Place` without giving the place back, because a message now occupies the
    /// place.
    pub(crate) fn spend(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so its field is moved out once.
        drop(unsafe { ptr::read(&raw const this.room) });
    }
}

impl Room {
    /// Creates a room with places for `capacity` messages.
    #[must_use]
    pub fn new(capacity: usize) -> Arc<Self> {
        Self::with(capacity, WhenFull::Fail)
    }

    /// Creates a room like [`Room::new`], for a mailbox whose senders wait if it is full.
    #[doc(hidden)]
    #[must_use]
    pub fn with_waiting(capacity: usize) -> Arc<Self> {
        Self::with(capacity, WhenFull::Wait)
    }

    /// Creates a room (the semaphore of a mailbox) with places for `capacity` messages and the
    /// given policy for the case that no place is free.
    pub(crate) fn with(capacity: usize, when_full: WhenFull) -> Arc<Self> {
        Arc::new(Self {
            senders: CachePadded::new(Senders {
                capacity,
                when_full,
                taken: AtomicUsize::new(0),
                seen: unmodelled::AtomicUsize::new(0),
                dropped: unmodelled::AtomicU64::new(0),
                line: Line::default(),
            }),
            keeper: CachePadded::new(Keeper {
                handled: AtomicUsize::new(0),
                is_nudged: AtomicBool::new(false),
            }),
        })
    }

    /// Returns the total number of places.
    pub fn capacity(&self) -> usize {
        self.senders.capacity
    }

    /// Returns the policy for messages that arrive while no place is free.
    pub(crate) fn when_full(&self) -> WhenFull {
        self.senders.when_full
    }

    /// Returns the number of taken places.
    pub fn taken(&self) -> usize {
        // Relaxed: a number for information only.
        let (taken, handled) = (
            self.senders.taken.load(Relaxed),
            self.keeper.handled.load(Relaxed),
        );
        // Negative once the room is closed.
        usize::try_from(taken.wrapping_sub(handled) as isize).unwrap_or(0)
    }

    /// Returns true if no place is free. The result may be outdated immediately.
    pub(crate) fn is_full(&self) -> bool {
        // Relaxed: a hint. The caller then tries to take a place.
        let (taken, handled) = (
            self.senders.taken.load(Relaxed),
            self.keeper.handled.load(Relaxed),
        );
        self.free(taken, handled) == 0
    }

    /// Returns the number of messages that were dropped because there was no room.
    pub fn dropped(&self) -> u64 {
        // Relaxed: as in `taken`.
        self.senders.dropped.load(Relaxed)
    }

    /// Adds 1 to the number of dropped messages.
    pub fn count_dropped(&self) {
        self.senders.dropped.fetch_add(1, Relaxed);
    }

    /// Takes a free place. Returns `None` if no place is free.
    pub fn try_take(self: &Arc<Self>) -> Option<Place> {
        (self.take_some(|_| 1) == 1).then(|| Place { room: self.clone() })
    }

    /// Takes `wanted(n)` places in the mailbox, where `n` is the number of free places. Returns the
    /// number of places taken, which is 0 if no place is free.
    pub(crate) fn take_some(&self, wanted: impl Fn(usize) -> usize) -> usize {
        // Relaxed: the exchange below decides.
        let mut taken = self.senders.taken.load(Relaxed);
        // Relaxed: it is no more than what is read below.
        let mut handled = self.senders.seen.load(Relaxed);
        loop {
            let mut free = self.free(taken, handled);
            if free == 0 {
                // Acquire: pairs with the Release in `use_up`; a sender that takes a place sees
                // what the previous owner of the place did.
                handled = self.keeper.handled.load(Acquire);
                free = self.free(taken, handled);
                if free == 0 {
                    // SeqCst: against the store in `note_waiting`, see the module.
                    let now = self.senders.taken.load(SeqCst);
                    if now == taken {
                        return 0;
                    }
                    taken = now;
                    continue;
                }
                // Relaxed: as above. A count that is older than another's is smaller, which does no
                // harm.
                self.senders.seen.store(handled, Relaxed);
            }
            let count = wanted(free);
            // SeqCst: against the load in `any_after_write`, see the module. As an acquire it pairs
            // with the release in `give_back`.
            match (self.senders.taken).compare_exchange_weak(taken, taken + count, SeqCst, SeqCst) {
                Ok(_) => return count,
                Err(now) => taken = now,
            }
        }
    }

    /// Returns the number of free places. `taken` and `handled` are values of the fields with these
    /// names. The two values may have been read at different times.
    fn free(&self, taken: usize, handled: usize) -> usize {
        // Negative if the room is closed, or the counts are of different times.
        let waiting = taken.wrapping_sub(handled) as isize;
        if waiting < 0 {
            return self.senders.capacity;
        }
        self.senders.capacity.saturating_sub(waiting as usize)
    }

    /// Takes a place in the mailbox even if none is free, for a message that the receiving task has
    /// agreed to accept.
    pub(crate) fn take_anyway(&self) {
        // Relaxed: it waits for nobody, and sees nothing.
        self.senders.taken.fetch_add(1, Relaxed);
    }

    /// Blocks the thread until there is a place, and takes it.
    pub fn take_blocking(self: &Arc<Self>) -> Place {
        self.wait_for_place(|| {});
        Place { room: self.clone() }
    }

    /// Blocks the thread until a place is free, and takes it. Calls `nudge` to tell the receiving
    /// task that a sender waits.
    pub(crate) fn wait_for_place(&self, nudge: impl Fn()) {
        loop {
            if self.take_some(|_| 1) == 1 {
                return;
            }
            let ticket = self.senders.line.stand(waker_of_thread());
            if self.take_some(|_| 1) == 1 {
                return;
            }
            self.nudge_by(&nudge);
            while ticket.is_in_line() {
                thread::park();
            }
            ticket.used();
        }
    }

    /// Waits until a place is free, and takes it. The future is cancel safe: if it is dropped, only
    /// its position in the queue of waiting senders is lost.
    pub async fn take(self: &Arc<Self>) -> Place {
        self.take_with(|| {}).await
    }

    /// Takes a place like [`Room::take`], and calls `nudge` to tell the receiving task that a
    /// sender waits.
    pub(crate) async fn take_with(self: &Arc<Self>, nudge: impl Fn()) -> Place {
        let mut ticket = None;
        poll_fn(|context| self.poll_take(context, &mut ticket, &nudge)).await
    }

    fn poll_take<'a>(
        self: &'a Arc<Self>,
        context: &Context<'_>,
        ticket: &mut Option<Ticket<'a>>,
        nudge: &impl Fn(),
    ) -> Poll<Place> {
        if let Some(held) = ticket {
            if held.waits_with(context.waker()) {
                return Poll::Pending;
            }
            if let Some(held) = ticket.take() {
                held.used();
            }
        }
        if let Some(place) = self.try_take() {
            return Poll::Ready(place);
        }
        *ticket = Some(self.senders.line.stand(context.waker().clone()));
        if let Some(place) = self.try_take() {
            *ticket = None;
            return Poll::Ready(place);
        }
        self.nudge_by(nudge);
        Poll::Pending
    }

    /// Tells the receiving task (the keeper) that a sender waits. Does nothing if an earlier nudge
    /// was not handled yet. This is step 2b of the protocol in the comment on this module.
    fn nudge_by(&self, nudge: &impl Fn()) {
        // Release: pairs with the Acquire in `nudged`. If another sender's nudge is in flight, the
        // keeper sees by it that this sender waits.
        if !self.keeper.is_nudged.swap(true, Release) {
            nudge();
        }
    }

    /// Gives `count` places in the mailbox back, and wakes up to `count` senders that wait for a
    /// place.
    pub(crate) fn give_back(&self, count: usize) {
        if self.give_back_quietly(count) {
            self.wake(count);
        }
    }

    /// Gives `count` places back to the room. Returns true if a sender is waiting. In this case,
    /// the caller must call [`Room::wake`].
    #[must_use]
    pub(crate) fn give_back_quietly(&self, count: usize) -> bool {
        // SeqCst: see the module. As a release it pairs with the acquire in `take_some`.
        self.senders.taken.fetch_sub(count, SeqCst);
        self.senders.line.any_after_write()
    }

    /// Wakes the first `count` waiting senders.
    #[cold]
    pub(crate) fn wake(&self, count: usize) {
        for _ in 0..count {
            if !self.senders.line.any() {
                return;
            }
            self.senders.line.wake_first();
        }
    }

    /// Records that a place in the mailbox became free because its message was handled, and wakes
    /// the first waiting sender. Called only by the task that receives the messages.
    #[inline]
    pub(crate) fn use_up(&self) {
        // Relaxed: written by the keeper itself, or by the thread that handed the task over.
        let handled = self.keeper.handled.load(Relaxed);
        // Release: pairs with the Acquire in `take_some`.
        self.keeper.handled.store(handled.wrapping_add(1), Release);
        if self.senders.line.any() {
            self.senders.line.wake_first();
        }
    }

    /// Handles a nudge (a request for a turn): wakes the senders for which there is a place. Called
    /// only by the task that receives the messages.
    pub(crate) fn nudged(&self) {
        // Acquire: pairs with the Release in `nudge_by`.
        self.keeper.is_nudged.swap(false, Acquire);
        // Relaxed: the waiting senders look again.
        let taken = self.senders.taken.load(Relaxed);
        self.wake(self.free(taken, self.keeper.handled.load(Relaxed)));
    }

    /// Closes the room (the semaphore of a mailbox), because the receiving task handles no more
    /// messages. A closed room has a place for every sender, so that no sender waits. Called only
    /// by the receiving task.
    pub(crate) fn close(&self) {
        // Relaxed: a sender that does not see it comes to the line, and sees it by the lock of the
        // line, or is woken below.
        let handled = self.keeper.handled.load(Relaxed);
        (self.keeper.handled).store(handled.wrapping_add(CLOSED), Relaxed);
        self.senders.line.wake_all();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.give_back(1);
    }
}
