//! How much room there is for messages, and who waits for some.
//!
//! A counter with an event beside it: taking a place is one compare-and-swap, giving it back one subtraction
//! and, if somebody waits, a wake-up. Who waits is woken in order of arrival, but a place goes to who is
//! first to take it.

use std::sync::Arc;

use event_listener::{Event, Listener};
use garrick_core::prim::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

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
    /// Places taken; more than there are with [`Room::take_anyway`].
    taken: AtomicUsize,
    dropped: AtomicU64,
    /// Notified once for every place given back.
    free: Event,
}

/// One message's place. Dropping it gives the place back.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
}

impl Room {
    /// Room for so many.
    #[must_use]
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            taken: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            free: Event::new(),
        })
    }

    /// How many there is room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        // Relaxed: a number to look at.
        self.taken.load(Relaxed).min(self.capacity)
    }

    /// Messages that were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.dropped.load(Relaxed)
    }

    /// Counts one more that was dropped.
    pub fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// A place if there is one.
    pub fn try_take(self: &Arc<Self>) -> Option<Place> {
        // SeqCst: pairs with the one in `Place::drop`, across the event, whose `listen` and `notify_additional`
        // fence: either who waits finds the place that was given back, or whoever gives it back finds who waits.
        let taken = self.taken.fetch_update(SeqCst, SeqCst, |taken| {
            (taken < self.capacity).then_some(taken + 1)
        });
        taken.ok().map(|_| Place { room: self.clone() })
    }

    /// A place, whether there is one or not; see [`Place::is_left`].
    pub fn take_anyway(self: &Arc<Self>) -> Place {
        // Relaxed: a count; the messages are ordered by their mailbox.
        self.taken.fetch_add(1, Relaxed);
        Place { room: self.clone() }
    }

    /// A place, waiting for it on this thread.
    pub fn take_blocking(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.try_take() {
                return place;
            }
            let free = self.free.listen();
            if let Some(place) = self.try_take() {
                return place;
            }
            free.wait();
        }
    }

    /// A place, waiting for it. Cancel safe.
    pub async fn take(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.try_take() {
                return place;
            }
            let free = self.free.listen();
            if let Some(place) = self.try_take() {
                return place;
            }
            free.await;
        }
    }
}

impl Place {
    /// The oldest message is about to be handled: whether it is among the newest that there is room for. If not,
    /// it is counted as dropped.
    #[must_use]
    pub fn is_left(self) -> bool {
        let room = &self.room;
        // Relaxed: who took a place before this message was handled is seen through the mailbox.
        let left = room.taken.load(Relaxed) <= room.capacity;
        if !left {
            room.count_dropped();
        }
        left
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SeqCst: see `Room::try_take`.
        self.room.taken.fetch_sub(1, SeqCst);
        self.room.free.notify_additional(1);
    }
}
