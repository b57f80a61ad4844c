//! The places in bounded mailboxes that a turn has taken.
//!
//! A place is taken by a read-modify-write on a word that all senders share. A turn that sends several messages to one task takes
//! places ahead, twice as many each time, and gives back at its end what it has not used. It takes no more than a quarter of those that
//! are free, or one: a mailbox may look full to others, while the turn lasts, from three quarters on.
//!
//! A room is not freed as long as the turn has used a place in it: the message for which it was taken keeps the receiver.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::runtime::room::Room;

/// Places that are taken at once at most.
const PLACES_MAX: usize = 64;

/// Rooms of one turn that are searched for the same one, newest first.
const ROOMS_SEARCHED: usize = 4;

/// Places of one room.
struct Held {
    room: NonNull<Room>,
    /// Places taken.
    taken: usize,
    /// Those of them that no message has yet. Of the last of the list, [`Purse::left`] says.
    left: usize,
}

/// The places that a turn has used, which are kept for it when it leaves its seat.
pub(crate) struct Used(Vec<Held>);

/// Rooms where places were given back, and how many, whose waiting senders are still to be woken.
#[derive(Default)]
struct Freed(Vec<(Arc<Room>, usize)>);

/// The places that a turn has taken.
pub(crate) struct Purse {
    /// The room of the last entry, or null.
    last: Cell<*const Room>,
    /// Places of it that no message has yet.
    left: Cell<usize>,
    /// Each has a place that a message has, or is about to have.
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

    /// Takes a place for a message; false if there is none.
    ///
    /// # Safety
    /// The room is made by an `Arc`. If a place was taken, the room stays until the message is sent, from where on the message keeps it until
    /// the turn is over, or until the place is [put back](Self::put_back).
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
            // As many as before.
            let wanted = last.taken.clamp(1, PLACES_MAX);
            last.left = room.take_some(|free| wanted.min(free / 4).max(1));
            last.taken += last.left;
        }
        if last.left > 0 {
            self.left.set(last.left - 1);
            return true;
        }
        if last.taken == 0 {
            // Nothing keeps the room there.
            self.forget_last(&mut held);
        }
        false
    }

    /// Counts a place that was taken by other means, as if it had been taken by [`Purse::take`].
    ///
    /// # Safety
    /// As for [`Purse::take`].
    pub(crate) unsafe fn add(&self, room: &Room) {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        last.taken += 1;
        self.left.set(last.left);
    }

    /// Puts a place back that was taken for a message which is not sent after all.
    pub(crate) fn put_back(&self, room: &Room) {
        let mut held = self.held.borrow_mut();
        let last = self.turn_to(&mut held, room);
        debug_assert!(last.taken > last.left, "the place was taken just now");
        last.left += 1;
        self.left.set(last.left);
        if last.left == last.taken {
            // Nothing keeps the room there any more.
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

    /// Notes how many places of the last room are left.
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

    /// The turn's messages are sent: gives back what has no message.
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

    /// Gives back what has no message, and returns what has one, for a turn that goes on elsewhere.
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

    /// Takes up what the turn has used before it left its seat.
    pub(crate) fn restore(&self, used: Used) {
        debug_assert!(self.held.borrow().is_empty(), "nothing was taken meanwhile");
        self.used.set(true);
        *self.held.borrow_mut() = used.0;
    }

    /// The turn is undone: gives back everything. What it has sent is still there.
    pub(crate) fn undo(&self) {
        let mut held = self.held.borrow_mut();
        self.note_left(&mut held);
        for room in held.drain(..) {
            self.freed.borrow_mut().give_back(room.room, room.taken);
        }
    }

    /// Checks that nothing is held, as a turn begins: nothing would keep those rooms there.
    #[inline]
    pub(crate) fn check_settled(&self) {
        debug_assert!(
            self.held.borrow().is_empty(),
            "places are held beyond the turn"
        );
    }

    /// Wakes those who wait for what was given back, which is foreign code.
    #[inline]
    pub(crate) fn wake_waiting(&self) {
        if self.used.get() {
            self.wake_some();
        }
    }

    #[inline(never)]
    fn wake_some(&self) {
        // A destructor may have sent since the turn was settled: those places are for the next time.
        self.used.set(!self.held.borrow().is_empty());
        // Whoever is woken may send.
        let freed = mem::take(&mut *self.freed.borrow_mut());
        for (room, count) in freed.0 {
            room.wake(count);
        }
    }
}
