//! Room for messages: a count of places, and a line of those who wait for one.
//!
//! A semaphore. Taking a place is one compare-and-swap, giving it back one subtraction and, if somebody waits, a wake-up. Who
//! waits is woken in the order of arrival, but a place goes to whoever is first to take it.
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
//! `try_take` is lock-free. The lock of the line is held for a few instructions, and no foreign code is called under it:
//! wakers are cloned, called and dropped outside.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use garrick_core::prim::{
    self, Mutex, MutexGuard,
    atomic::{
        AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    thread, unmodelled,
};

use crate::quiet;
use crate::runtime::current::Entered;
use crate::waker::waker_of_thread;

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
    capacity: usize,
    /// Places taken. Those who take and give back write.
    taken: AtomicUsize,
    dropped: unmodelled::AtomicU64,
    /// How many stand in the line. Written under its lock, read by those who give back.
    waiting: AtomicUsize,
    line: Mutex<Line>,
}

/// Those who wait, by the number of their ticket.
#[derive(Debug, Default)]
struct Line {
    /// Counted by us, because cloning a waker is foreign code.
    wakers: BTreeMap<u64, Arc<Waker>>,
    next: u64,
}

/// One message's place. Dropping it gives the place back.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
}

impl Room {
    /// Creates room for so many.
    #[must_use]
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            taken: AtomicUsize::new(0),
            dropped: unmodelled::AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            line: Mutex::new(Line::default()),
        })
    }

    /// Returns how many there is room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many places are taken.
    pub fn taken(&self) -> usize {
        // Relaxed: a number to look at.
        self.taken.load(Relaxed)
    }

    /// Returns how many messages were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.dropped.load(Relaxed)
    }

    /// Counts one more that was dropped.
    pub fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Takes a place if there is one.
    pub fn try_take(self: &Arc<Self>) -> Option<Place> {
        // SeqCst: against the load in `give_back`, see the module. As an acquire it pairs with the release in there: who
        // takes a place sees what was done by who had it before.
        let taken = self.taken.fetch_update(SeqCst, SeqCst, |taken| {
            (taken < self.capacity).then_some(taken + 1)
        });
        taken.ok().map(|_| Place { room: self.clone() })
    }

    /// Takes a place, waiting for it on this thread.
    pub fn take_blocking(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.try_take() {
                return place;
            }
            let ticket = self.stand_in_line(waker_of_thread());
            if let Some(place) = self.try_take() {
                return place;
            }
            while ticket.is_in_line() {
                thread::park();
            }
            ticket.used();
        }
    }

    /// Takes a place, waiting for it. Cancel safe: one who gives up loses its place in the line only.
    pub async fn take(self: &Arc<Self>) -> Place {
        let mut ticket = None;
        poll_fn(|context| self.poll_take(context, &mut ticket)).await
    }

    fn poll_take<'a>(
        self: &'a Arc<Self>,
        context: &Context<'_>,
        ticket: &mut Option<Ticket<'a>>,
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
        *ticket = Some(self.stand_in_line(context.waker().clone()));
        let place = self.try_take();
        if place.is_some() {
            *ticket = None;
        }
        place.map_or(Poll::Pending, Poll::Ready)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // No code that holds the lock can panic half way.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stand_in_line(&self, waker: Waker) -> Ticket<'_> {
        let waker = Arc::new(waker);
        let mut line = self.line();
        let number = line.next;
        line.next += 1;
        line.wakers.insert(number, waker);
        self.note_waiting(&line);
        drop(line);
        prim::fence_for_loom();
        Ticket { room: self, number }
    }

    /// Tells how many wait, under the lock of the line.
    fn note_waiting(&self, line: &Line) {
        // SeqCst: against the load in `give_back`, see the module.
        self.waiting.store(line.wakers.len(), SeqCst);
    }

    fn give_back(&self) {
        // SeqCst: see the module. As a release it pairs with the acquire in `try_take`.
        self.taken.fetch_sub(1, SeqCst);
        prim::fence_for_loom();
        // SeqCst: against the store in `note_waiting`, see the module.
        if self.waiting.load(SeqCst) > 0 {
            self.wake_first();
        }
    }

    /// Takes the first out of the line and wakes it.
    #[cold]
    fn wake_first(&self) {
        let first = {
            let mut line = self.line();
            let first = line.wakers.pop_first();
            self.note_waiting(&line);
            first
        };
        if let Some((_, waker)) = first {
            // A panic of a waker is none of who gives a place back, which may be where a turn unwinds.
            let _ = quiet::call(|| {
                // What it sends is not undone with the turn either: the place is free in any case.
                let _nobody = Entered::nobody();
                waker.wake_by_ref();
            });
            quiet::drop(waker);
        }
    }
}

/// The place in the line of one who waits.
#[derive(Debug)]
struct Ticket<'a> {
    room: &'a Room,
    number: u64,
}

impl Ticket<'_> {
    fn is_in_line(&self) -> bool {
        self.room.line().wakers.contains_key(&self.number)
    }

    /// Whether it is still in the line; if so, it is that waker that is called.
    fn waits_with(&self, waker: &Waker) -> bool {
        // Cloned before, and dropped after, because both are foreign code.
        let mut spare = None;
        loop {
            let mut line = self.room.line();
            let Some(known) = line.wakers.get_mut(&self.number) else {
                return false;
            };
            if known.will_wake(waker) {
                return true;
            }
            if let Some(new) = spare.take() {
                let old = std::mem::replace(known, new);
                drop(line);
                quiet::drop(old);
                return true;
            }
            drop(line);
            spare = Some(Arc::new(waker.clone()));
        }
    }

    /// It was taken out of the line, and looks for a place now.
    fn used(self) {
        std::mem::forget(self);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let waker = {
            let mut line = self.room.line();
            let waker = line.wakers.remove(&self.number);
            self.room.note_waiting(&line);
            waker
        };
        if waker.is_none() {
            // It was woken for a place that it does not look for.
            self.room.wake_first();
        }
        quiet::drop(waker);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.give_back();
    }
}
