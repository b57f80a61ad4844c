//! Room for messages: a count of places, and a line of those who wait for one.
//!
//! A semaphore. Who waits is woken in the order of arrival, but a place goes to whoever is first to take it. Places come back in two
//! ways.
//!
//! *Given back by anybody*: a subtraction and, if somebody waits, a wake-up.
//!
//! ```text
//!     who waits                                who gives back
//!     1. no place: stand in the line           1. taken -= 1
//!        (waiting += 1)                        2. waiting > 0? then take the first out of the
//!     2. a place now? then leave the line         line, and wake it
//!     3. sleep until taken out of the line
//! ```
//!
//! Each side first writes its own word, then reads the other's, and all four accesses are sequentially consistent (Dekker):
//! either who waits sees the place, or who gives it back sees who waits. Whoever is taken out of the line owes a look for a
//! place; one who gives up before that look passes the wake-up on to the next.
//!
//! *Used up by the keeper*: the task whose messages these are counts what it handles by a plain store, and looks at `waiting` without a
//! fence. It may miss one who has come just now. So who waits there nudges the keeper between steps 2 and 3, which then looks again:
//! the nudge comes by a read-modify-write, so that each sees what the other wrote. One nudge is under way at a time (`is_nudged`).
//!
//! ```text
//!     who waits                                the keeper
//!     2. a place now? then leave the line      1. handled += 1 (plain store)
//!     2b. is_nudged = true; was it false?      2. waiting > 0, as far as seen? wake the first
//!         then nudge the keeper                nudged: is_nudged = false; as step 2, for each place
//!     3. sleep until taken out of the line
//! ```
//!
//! A closed room has places for everybody: what they are used for fails by itself.
//!
//! Taking a place is lock-free. The lock of the line is held for a few instructions.

mod line;

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
use line::{Line, Ticket};

/// Added to the count of what is handled when a room is closed: more than are ever taken, and no more than the difference of two counts
/// can say.
const CLOSED: usize = isize::MAX as usize / 2;

/// The fate of a message that is sent to a task whose mailbox is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// A thread that runs no turn waits for a place. In a turn, the message comes back.
    Wait,
    /// The message comes back.
    Fail,
    /// The message is dropped, and counted.
    Drop,
}

/// Places for messages, and how many of them are taken.
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
    /// Written by those who take places and give them back.
    senders: CachePadded<Senders>,
    /// Written by the keeper.
    keeper: CachePadded<Keeper>,
}

#[derive(Debug)]
struct Senders {
    capacity: usize,
    when_full: WhenFull,
    /// Places taken, but for those given back.
    taken: AtomicUsize,
    /// A count that `handled` has reached, so that it is not read for each message: the keeper writes there.
    seen: unmodelled::AtomicUsize,
    dropped: unmodelled::AtomicU64,
    line: Line,
}

#[derive(Debug)]
struct Keeper {
    /// Places that the keeper has used up since the beginning.
    handled: AtomicUsize,
    /// True while a nudge is under way.
    is_nudged: AtomicBool,
}

/// One message's place. Dropping it gives the place back.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
}

impl Place {
    /// One that the caller has taken.
    pub(crate) fn of(room: Arc<Room>) -> Self {
        Self { room }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Leaves the place taken, for a message that is sent.
    pub(crate) fn spend(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so its field is moved out once.
        drop(unsafe { ptr::read(&raw const this.room) });
    }
}

impl Room {
    /// Creates room for so many messages.
    #[must_use]
    pub fn new(capacity: usize) -> Arc<Self> {
        Self::with(capacity, WhenFull::Fail)
    }

    /// Creates room for so many messages of one task.
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

    /// Returns how many messages there is room for.
    pub fn capacity(&self) -> usize {
        self.senders.capacity
    }

    /// Returns what happens to one message too many.
    pub(crate) fn when_full(&self) -> WhenFull {
        self.senders.when_full
    }

    /// Returns how many places are taken.
    pub fn taken(&self) -> usize {
        // Relaxed: a number to look at.
        let (taken, handled) = (
            self.senders.taken.load(Relaxed),
            self.keeper.handled.load(Relaxed),
        );
        // Negative once the room is closed.
        usize::try_from(taken.wrapping_sub(handled) as isize).unwrap_or(0)
    }

    /// Returns how many messages were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.senders.dropped.load(Relaxed)
    }

    /// Counts one more message that was dropped.
    pub fn count_dropped(&self) {
        self.senders.dropped.fetch_add(1, Relaxed);
    }

    /// Takes a place if there is one.
    pub fn try_take(self: &Arc<Self>) -> Option<Place> {
        (self.take_some(|_| 1) == 1).then(|| Place { room: self.clone() })
    }

    /// Takes as many places as `wanted` says of how many are free, which is not 0. Returns 0 if none is free.
    pub(crate) fn take_some(&self, wanted: impl Fn(usize) -> usize) -> usize {
        // Relaxed: the exchange below decides.
        let mut taken = self.senders.taken.load(Relaxed);
        // Relaxed: it is no more than what is read below.
        let mut handled = self.senders.seen.load(Relaxed);
        loop {
            let mut free = self.free(taken, handled);
            if free == 0 {
                // Acquire: pairs with the Release in `use_up`; who takes a place sees what was done by who had it before.
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
                // Relaxed: as above. A count that is older than another's is less, which is not wrong.
                self.senders.seen.store(handled, Relaxed);
            }
            let count = wanted(free);
            // SeqCst: against the load in `any_after_write`, see the module. As an acquire it pairs with the release in
            // `give_back`.
            match (self.senders.taken).compare_exchange_weak(taken, taken + count, SeqCst, SeqCst) {
                Ok(_) => return count,
                Err(now) => taken = now,
            }
        }
    }

    /// Returns how many places are free by these counts.
    fn free(&self, taken: usize, handled: usize) -> usize {
        // Less than nothing if the room is closed, or the counts are of different times.
        let waiting = taken.wrapping_sub(handled) as isize;
        if waiting < 0 {
            return self.senders.capacity;
        }
        self.senders.capacity.saturating_sub(waiting as usize)
    }

    /// Takes a place that there may not be: for what was promised before.
    pub(crate) fn take_anyway(&self) {
        // Relaxed: it waits for nobody, and sees nothing.
        self.senders.taken.fetch_add(1, Relaxed);
    }

    /// Takes a place, waiting for it on this thread.
    pub fn take_blocking(self: &Arc<Self>) -> Place {
        self.wait_for_place(|| {});
        Place { room: self.clone() }
    }

    /// Takes a place, waiting for it on this thread. Calls `nudge` to have the keeper nudged.
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

    /// Takes a place, waiting for it. Cancel safe: one who gives up loses its place in the line only.
    pub async fn take(self: &Arc<Self>) -> Place {
        self.take_with(|| {}).await
    }

    /// Does what [`Room::take`] does, and calls `nudge` to have the keeper nudged.
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

    /// Has the keeper nudged, unless a nudge is under way (step 2b).
    fn nudge_by(&self, nudge: &impl Fn()) {
        // Release: pairs with the Acquire in `nudged`. If another's nudge is under way, the keeper sees by it who waits here.
        if !self.keeper.is_nudged.swap(true, Release) {
            nudge();
        }
    }

    /// Gives so many places back.
    pub(crate) fn give_back(&self, count: usize) {
        if self.give_back_quietly(count) {
            self.wake(count);
        }
    }

    /// Gives so many places back. Returns whether somebody waits, whom the caller is to [wake](Self::wake).
    #[must_use]
    pub(crate) fn give_back_quietly(&self, count: usize) -> bool {
        // SeqCst: see the module. As a release it pairs with the acquire in `take_some`.
        self.senders.taken.fetch_sub(count, SeqCst);
        self.senders.line.any_after_write()
    }

    /// Wakes the first of those who wait, so many.
    #[cold]
    pub(crate) fn wake(&self, count: usize) {
        for _ in 0..count {
            if !self.senders.line.any() {
                return;
            }
            self.senders.line.wake_first();
        }
    }

    /// Keeper only: has used up a place.
    #[inline]
    pub(crate) fn use_up(&self) {
        // Relaxed: the keeper has written it itself, or whoever handed the task over.
        let handled = self.keeper.handled.load(Relaxed);
        // Release: pairs with the Acquire in `take_some`.
        self.keeper.handled.store(handled.wrapping_add(1), Release);
        if self.senders.line.any() {
            self.senders.line.wake_first();
        }
    }

    /// Keeper only: was nudged, and wakes those for whom there is a place.
    pub(crate) fn nudged(&self) {
        // Acquire: pairs with the Release in `nudge_by`.
        self.keeper.is_nudged.swap(false, Acquire);
        // Relaxed: those who wait look again.
        let taken = self.senders.taken.load(Relaxed);
        self.wake(self.free(taken, self.keeper.handled.load(Relaxed)));
    }

    /// Keeper only: handles nothing more. From here on there is a place for everybody.
    pub(crate) fn close(&self) {
        // Relaxed: who does not see it comes to the line, and sees it by the lock of that, or is woken below.
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
