//! The places in bounded mailboxes that a turn has taken.
//!
//! Taking a place requires an atomic read-modify-write of a word that all senders share. So a turn
//! that sends many messages to one task takes several places at a time, and twice as many the next
//! time. The end of the turn gives the unused places back. A turn takes at most a quarter of the
//! free places at a time, but at least one. During the turn, a mailbox may therefore look full to
//! other senders although a quarter of its places have no message.
//!
//! The [`Room`] of a mailbox is not freed while the turn uses one of its places, because the
//! message in this place keeps the receiver alive.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::runtime::room::Room;

/// Maximum number of places that a turn takes in a mailbox by one atomic operation.
const PLACES_MAX: usize = 64;

/// Maximum number of entries of [`Purse::held`] that a search for a room (the semaphore of a
/// mailbox) checks, newest first.
const ROOMS_SEARCHED: usize = 4;

/// Places that a turn has taken in one room: the semaphore of one bounded mailbox.
struct Held {
    room: NonNull<Room>,
    /// Number of places that the turn has taken in the room (the semaphore of a mailbox).
    taken: usize,
    /// Number of taken places without a message. For the last entry of the list, this number is in
    /// [`Purse::left`] instead.
    left: usize,
}

/// Places in bounded mailboxes that a turn has used for messages. This value keeps them while the
/// turn is away from its worker.
pub(crate) struct Used(Vec<Held>);

/// Rooms (semaphores of mailboxes) to which places were given back, and the number of these places.
/// Waiting senders of these rooms must still be woken.
#[derive(Default)]
struct Freed(Vec<(Arc<Room>, usize)>);

/// Places in bounded mailboxes that the current turn has taken.
pub(crate) struct Purse {
    /// Room (semaphore of a mailbox) of the last entry of `held`, or null.
    last: Cell<*const Room>,
    /// Number of places that were taken in the room `last` (the semaphore of a mailbox), and have
    /// no message yet.
    left: Cell<usize>,
    /// Rooms (semaphores of mailboxes) in which the turn has taken places. In each room, at least
    /// one place has a message or is for the message that is being sent.
    held: RefCell<Vec<Held>>,
    freed: RefCell<Freed>,
    /// True if `held` or `freed` may contain entries. If false, both are empty.
    used: Cell<bool>,
}

impl Freed {
    /// Gives `count` places back to a room (the semaphore of a mailbox). Waiting senders are woken
    /// later.
    fn give_back(&mut self, room: NonNull<Room>, count: usize) {
        // SAFETY: what the purse has of a room keeps it there (see the module).
        if count > 0 && unsafe { room.as_ref() }.give_back_quietly(count) {
            // SAFETY: as above. The pointer came from `Arc::as_ptr`.
            let room = unsafe {
                Arc::increment_strong_count(room.as_ptr());
                Arc::from_raw(room.as_ptr())
            };
            self.0.push((room, count));
        }
    }
}

impl Purse {
    pub(crate) fn new() -> Self {
        Self {
            last: Cell::new(ptr::null()),
            left: Cell::new(0),
            held: RefCell::default(),
            freed: RefCell::default(),
            used: Cell::new(false),
        }
    }

    /// Takes a place for a message in a room (the semaphore of a mailbox). Returns false if the
    /// room has no free place.
    ///
    /// # Safety
    /// If a place was taken, the room must exist until the message is sent
    /// or the place is [put back](Self::put_back). The sent message must keep the room alive until
    /// the turn is over.
    #[inline]
    pub(crate) unsafe fn take(&self, room: &Arc<Room>) -> bool {
        let left = self.left.get();
        if ptr::eq(self.last.get(), Arc::as_ptr(room)) && left > 0 {
            self.left.set(left - 1);
            return true;
        }
        self.take_more(room)
    }

    #[inline(never)]
    fn take_more(&self, room: &Arc<Room>) -> bool {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        if last.left == 0 {
            // Doubles the number of taken places.
            let wanted = last.taken.clamp(1, PLACES_MAX);
            last.left = room.take_some(|free| wanted.min(free / 4).max(1));
            last.taken += last.left;
        }
        if last.left > 0 {
            self.left.set(last.left - 1);
            return true;
        }
        if last.taken == 0 {
            // Nothing keeps the room alive.
            self.forget_last(&mut held);
        }
        false
    }

    /// Adds a place that was taken in another way, as if [`Purse::take`] had taken it.
    ///
    /// # Safety
    /// The requirements of [`Purse::take`] apply.
    pub(crate) unsafe fn add(&self, room: &Arc<Room>) {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        last.taken += 1;
        self.left.set(last.left);
    }

    /// Takes back a place in a mailbox, because the message for which it was taken is not sent.
    pub(crate) fn put_back(&self, room: &Arc<Room>) {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        debug_assert!(last.taken > last.left, "the place was taken just now");
        last.left += 1;
        self.left.set(last.left);
        if last.left == last.taken {
            // Nothing keeps the room alive any more.
            self.freed.borrow_mut().give_back(last.room, last.taken);
            self.forget_last(&mut held);
        }
    }

    /// Makes the entry of `room` the last entry of [`Purse::held`]. Adds an entry if the search
    /// finds none.
    fn turn_to<'a>(&self, held: &'a mut Vec<Held>, room: &Arc<Room>) -> &'a mut Held {
        self.used.set(true);
        self.note_left(held);
        let end = held.len();
        let mut newest = (0..end).rev().take(ROOMS_SEARCHED);
        // A pointer to the whole `Arc`, from which `Freed` makes another `Arc`.
        let room = Arc::as_ptr(room).cast_mut();
        match newest.find(|&at| ptr::eq(held[at].room.as_ptr(), room)) {
            Some(at) => held.swap(at, end - 1),
            None => held.push(Held {
                room: NonNull::new(room).unwrap_or_else(|| unreachable!("an `Arc` is not null")),
                taken: 0,
                left: 0,
            }),
        }
        self.last.set(room);
        held.last_mut()
            .unwrap_or_else(|| unreachable!("pushed or found above"))
    }

    /// Moves the number in [`Purse::left`] (places without a message) to the last entry of the
    /// list.
    fn note_left(&self, held: &mut [Held]) {
        if let Some(last) = held.last_mut()
            && !self.last.replace(ptr::null()).is_null()
        {
            last.left = self.left.replace(0);
        }
    }

    fn forget_last(&self, held: &mut Vec<Held>) {
        self.last.set(ptr::null());
        self.left.set(0);
        held.pop();
    }

    /// Gives back the mailbox places that the turn has taken and not used. Called after the
    /// messages of the turn were sent.
    #[inline]
    pub(crate) fn settle(&self) {
        if self.used.get() {
            self.settle_some();
        }
    }

    #[inline(never)]
    fn settle_some(&self) {
        let mut held = self.held.borrow_mut();
        self.give_left(&mut held);
        held.clear();
    }

    /// Gives back the mailbox places that the turn has taken and not used for a message. Returns
    /// the used places. Called when the turn leaves its worker.
    pub(crate) fn carry(&self) -> Used {
        let mut held = self.held.borrow_mut();
        self.give_left(&mut held);
        Used(mem::take(&mut *held))
    }

    fn give_left(&self, held: &mut [Held]) {
        self.note_left(held);
        for room in held {
            let left = mem::take(&mut room.left);
            room.taken -= left;
            self.freed.borrow_mut().give_back(room.room, left);
        }
    }

    /// Restores the record of the places in mailboxes that the turn had used before the turn left
    /// its worker.
    pub(crate) fn restore(&self, used: Used) {
        debug_assert!(self.held.borrow().is_empty(), "nothing was taken meanwhile");
        self.used.set(true);
        *self.held.borrow_mut() = used.0;
    }

    /// Gives back all places in mailboxes that a turn has taken, because the turn is undone. The
    /// messages of the turn must still exist.
    pub(crate) fn undo(&self) {
        let mut held = self.held.borrow_mut();
        self.note_left(&mut held);
        for room in held.drain(..) {
            self.freed.borrow_mut().give_back(room.room, room.taken);
        }
    }

    /// Panics in debug builds if places of a turn are still recorded after the turn. No message
    /// would keep the rooms (the semaphores of mailboxes) of these places alive.
    #[inline]
    pub(crate) fn check_settled(&self) {
        debug_assert!(
            self.held.borrow().is_empty(),
            "places are held beyond the turn"
        );
    }

    /// Wakes the waiting senders that can use the places that the turn has given back. Their wakers
    /// are foreign code.
    #[inline]
    pub(crate) fn wake_waiting(&self) {
        if self.used.get() {
            self.wake_some();
        }
    }

    #[inline(never)]
    fn wake_some(&self) {
        // A destructor may have sent since the turn was settled: those places are kept for the next
        // time.
        self.used.set(!self.held.borrow().is_empty());
        // A woken sender may send.
        let freed = mem::take(&mut *self.freed.borrow_mut());
        for (room, count) in freed.0 {
            room.wake(count);
        }
    }
}
