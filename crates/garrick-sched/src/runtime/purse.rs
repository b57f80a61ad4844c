//! The places in bounded mailboxes that a turn has taken.
//!
//! A place is taken by a read-modify-write on a word that all senders share. A turn that sends
//! several messages to one task takes places ahead, twice as many each time. At its end it gives
//! back the unused places. It takes at most a quarter of the free places, or one place. So while
//! the turn lasts, a mailbox may look full to other senders when it is three quarters full.
//!
//! A room is not freed as long as the turn has used a place in it: the message for which the place
//! was taken keeps the receiver alive.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::runtime::room::Room;

/// Largest number of places that are taken at once.
const PLACES_MAX: usize = 64;

/// Number of rooms of one turn that are searched for a room, newest first.
const ROOMS_SEARCHED: usize = 4;

/// Places of one room.
struct Held {
    room: NonNull<Room>,
    /// Places taken.
    taken: usize,
    /// Taken places without a message yet. For the last entry of the list, [`Purse::left`] holds
    /// this number.
    left: usize,
}

/// The places that a turn has used. They are kept for the turn when it leaves its seat.
pub(crate) struct Used(Vec<Held>);

/// Rooms with the number of places given back, whose waiting senders are still to be woken.
#[derive(Default)]
struct Freed(Vec<(Arc<Room>, usize)>);

/// The places that a turn has taken.
pub(crate) struct Purse {
    /// The room of the last entry, or null.
    last: Cell<*const Room>,
    /// Places of the last room without a message yet.
    left: Cell<usize>,
    /// Rooms in use. Each has a place with a message, or for a message about to be sent.
    held: RefCell<Vec<Held>>,
    freed: RefCell<Freed>,
    /// False only if `held` and `freed` are empty.
    used: Cell<bool>,
}

impl Freed {
    /// Gives places back.
    fn give_back(&mut self, room: NonNull<Room>, count: usize) {
        // SAFETY: what the purse has of a room keeps it there (see the module).
        if count > 0 && unsafe { room.as_ref() }.give_back_quietly(count) {
            // SAFETY: as above. Each room is made by an `Arc`.
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

    /// Takes a place for a message. Returns false if there is none.
    ///
    /// # Safety
    /// The room is made by an `Arc`. If a place was taken, the room stays until the message is
    /// sent, from where on the message keeps it until the turn is over, or until the place is [put
    /// back](Self::put_back).
    #[inline]
    pub(crate) unsafe fn take(&self, room: &Room) -> bool {
        let left = self.left.get();
        if ptr::eq(self.last.get(), room) && left > 0 {
            self.left.set(left - 1);
            return true;
        }
        self.take_more(room)
    }

    #[inline(never)]
    fn take_more(&self, room: &Room) -> bool {
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

    /// Counts a place that was taken by other means, as if [`Purse::take`] had taken it.
    ///
    /// # Safety
    /// The contract of [`Purse::take`].
    pub(crate) unsafe fn add(&self, room: &Room) {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        last.taken += 1;
        self.left.set(last.left);
    }

    /// Puts a place back whose message is not sent after all.
    pub(crate) fn put_back(&self, room: &Room) {
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

    /// Makes that room the last one.
    fn turn_to<'a>(&self, held: &'a mut Vec<Held>, room: &Room) -> &'a mut Held {
        self.used.set(true);
        self.note_left(held);
        let end = held.len();
        let mut newest = (0..end).rev().take(ROOMS_SEARCHED);
        match newest.find(|&at| ptr::eq(held[at].room.as_ptr(), room)) {
            Some(at) => held.swap(at, end - 1),
            None => held.push(Held {
                room: NonNull::from(room),
                taken: 0,
                left: 0,
            }),
        }
        self.last.set(room);
        held.last_mut()
            .unwrap_or_else(|| unreachable!("pushed or found above"))
    }

    /// Records how many places of the last room are left.
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

    /// Gives back the places without a message, after the turn's messages are sent.
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

    /// Gives back the places without a message, and returns the used places, for a turn that
    /// continues elsewhere.
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

    /// Restores the places that the turn has used before it left its seat.
    pub(crate) fn restore(&self, used: Used) {
        debug_assert!(self.held.borrow().is_empty(), "nothing was taken meanwhile");
        self.used.set(true);
        *self.held.borrow_mut() = used.0;
    }

    /// Gives back all places of an undone turn. The messages that it has sent still exist.
    pub(crate) fn undo(&self) {
        let mut held = self.held.borrow_mut();
        self.note_left(&mut held);
        for room in held.drain(..) {
            self.freed.borrow_mut().give_back(room.room, room.taken);
        }
    }

    /// Checks that no place is held when a turn begins: nothing would keep those rooms alive.
    #[inline]
    pub(crate) fn check_settled(&self) {
        debug_assert!(
            self.held.borrow().is_empty(),
            "places are held beyond the turn"
        );
    }

    /// Wakes the senders that wait for the places given back, which is foreign code.
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
