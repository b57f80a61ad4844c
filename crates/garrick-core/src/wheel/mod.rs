//! A timing wheel: many deadlines, each cheap to set, cancel and fire.
//!
//! The hierarchical wheel of Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP
//! 1987, scheme 7), with a bitmap per level so that empty slots are never visited.
//!
//! ```text
//!   a tick number, 54 bits:   [ digit 8 ] ... [ digit 2 ][ digit 1 ][ digit 0 ]      6 bits a digit
//!                                                  |          |          |
//!   level 2, 64 slots of 4096 ticks  [ ][ ][X][ ] -+          |          |
//!   level 1, 64 slots of 64 ticks    [ ][X][ ][X] ------------+          |
//!   level 0, 64 slots of 1 tick      [X][ ][ ][ ] -----------------------+
//! ```
//!
//! A deadline stands on the level of the highest digit in which its tick differs from the present
//! tick, in the slot named by that digit. So a level holds only slots ahead of the present, and the
//! lowest level in use holds the earliest deadlines. When the present reaches a slot of level `n`,
//! its entries move to the levels below: each entry moves at most eight times in its life. Nine
//! levels cover every `u64` of nanoseconds, hence there is no overflow list.
//!
//! A tick is [`TICK_NS`] = 8.192 us, a power of two so that no division is needed. Deadlines are
//! rounded up to a tick and the present is rounded down. So nothing fires early, and the wheel
//! delays an entry by at most one tick.
//!
//! Time is passed in by the caller, in nanoseconds since an epoch that the caller chooses. The
//! wheel reads no clock. It belongs to one thread. `insert`, `cancel` and `next_deadline` are O(1).
//! `advance` is O(1) plus an amortized O(1) for each entry that fires. None of them visits an empty
//! slot.

mod slab;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

use std::fmt;

use slab::{List, Slab};

pub use slab::Key;

/// Number of low bits of a time in nanoseconds that fall inside one tick.
const TICK_BITS: u32 = 13;

/// The resolution of a [`Wheel`] in nanoseconds.
pub const TICK_NS: u64 = 1 << TICK_BITS;

/// Bits of one digit. With 64 slots per level, a level's bitmap is one word.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;

/// Ticks have `64 - TICK_BITS` bits and one more for rounding up: 52, which nine digits hold.
const LEVELS: usize = 9;

/// A set of deadlines with payloads, which returns the payloads that are due.
///
/// # Examples
///
/// ```
/// use garrick_core::wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// wheel.insert(2_000_000, "second");
/// wheel.insert(1_000_000, "first");
/// let never = wheel.insert(1_500_000, "cancelled");
/// assert_eq!(wheel.cancel(never), Some("cancelled"));
///
/// let mut fired = Vec::new();
/// wheel.advance(999_999, |payload| fired.push(payload));
/// assert!(fired.is_empty());
/// wheel.advance(3_000_000, |payload| fired.push(payload));
/// assert_eq!(fired, ["first", "second"]);
/// ```
pub struct Wheel<T> {
    /// Present time in ticks. Every entry's tick is at or after it, and it only grows.
    present: u64,

    /// Bit `n` is set when level `n` has an entry.
    levels: u16,

    /// Bit `n` of each level is set when slot `n` of that level has an entry.
    occupied: [u64; LEVELS],

    /// Entries of each slot, in the order of insertion. Level `n` begins at `n * SLOTS`.
    lists: Box<[List]>,

    /// Storage of the entries.
    slab: Slab<T>,
}

/// The earliest slot in use.
struct Next {
    level: usize,
    /// Index of the slot in `Wheel::lists`.
    slot: usize,
    /// First tick of the slot.
    start: u64,
}

impl<T> Wheel<T> {
    /// Creates an empty wheel whose present is `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        Self {
            present: now_ns >> TICK_BITS,
            levels: 0,
            occupied: [0; LEVELS],
            lists: vec![List::EMPTY; LEVELS * SLOTS].into(),
            slab: Slab::new(),
        }
    }

    /// Sets the present of a wheel that has no deadlines, which may be earlier than before. Earlier
    /// keys match nothing, except the place that was reserved with them.
    ///
    /// # Panics
    ///
    /// Panics if there is a deadline.
    pub fn restart(&mut self, now_ns: u64) {
        assert!(self.is_empty(), "a wheel with deadlines has a present");
        self.present = now_ns >> TICK_BITS;
    }

    /// Inserts an entry with a deadline. The returned key cancels it.
    ///
    /// A deadline in the past counts as the present: it fires at the next
    /// [`advance`](Self::advance). A deadline within the last tick of a `u64` (about 584 years
    /// after the epoch) never fires.
    ///
    /// # Panics
    ///
    /// Panics if the wheel would hold more than 2^32 - 1 entries.
    #[inline]
    pub fn insert(&mut self, deadline_ns: u64, payload: T) -> Key {
        let tick = deadline_ns.div_ceil(TICK_NS).max(self.present);
        let key = self.slab.insert(tick, payload);
        self.place(key.index());
        key
    }

    /// Reserves a place for an entry whose deadline is set later. The returned key cancels the
    /// reservation and the entry.
    ///
    /// # Panics
    ///
    /// Panics if the wheel would hold more than 2^32 - 1 entries.
    #[inline]
    pub fn reserve(&mut self) -> Key {
        self.slab.reserve()
    }

    /// Sets the deadline of an entry for which a place was reserved, under the rules of
    /// [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// Returns the payload if the place is not reserved any more: it was cancelled or has been set
    /// before.
    #[inline]
    pub fn set(&mut self, key: Key, deadline_ns: u64, payload: T) -> Result<(), T> {
        if !self.slab.is_reserved(key) {
            return Err(payload);
        }
        let tick = deadline_ns.div_ceil(TICK_NS).max(self.present);
        self.slab.fill(key.index(), tick, payload);
        self.place(key.index());
        Ok(())
    }

    /// Removes an entry and returns its payload. Returns `None` if the entry has fired, was
    /// cancelled before, or had no deadline yet.
    #[inline]
    pub fn cancel(&mut self, key: Key) -> Option<T> {
        if self.slab.is_reserved(key) {
            self.slab.vacate(key.index());
            return None;
        }
        let slot = self.slab.slot_of(key)?;
        self.unlink(slot, key.index());
        Some(self.slab.remove(key.index()))
    }

    /// Returns a time before which nothing is due, or `None` if the wheel is empty.
    ///
    /// The time is a lower bound, suitable for sleeping. It is never later than the earliest
    /// deadline rounded up to a tick, and earlier only when that deadline is far. A caller that
    /// sleeps until then and calls [`advance`](Self::advance) gets a nearer bound, at most eight
    /// times for one deadline.
    #[inline]
    pub fn next_deadline(&self) -> Option<u64> {
        Some(self.next()?.start.saturating_mul(TICK_NS))
    }

    /// Moves the present to `now_ns` and calls `fire` with each payload that is due. The earliest
    /// tick comes first, and entries within a tick come in the order of insertion. Returns the
    /// number of payloads fired.
    ///
    /// Time does not go back: a `now_ns` earlier than before counts as the present. If `fire`
    /// panics, the entries not yet fired stay.
    #[inline]
    pub fn advance(&mut self, now_ns: u64, mut fire: impl FnMut(T)) -> usize {
        let mut fired = 0;
        while let Some(payload) = self.pop_due(now_ns) {
            fired += 1;
            fire(payload);
        }
        fired
    }

    /// Takes the earliest entry that is due at `now_ns`, if any. This is one step of
    /// [`advance`](Self::advance), for a caller that inserts while it fires or that wants to stop
    /// early.
    ///
    /// The present is `now_ns` once this returns `None`.
    #[inline]
    pub fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        let now = (now_ns >> TICK_BITS).max(self.present);
        while let Some(next) = self.next()
            && next.start <= now
        {
            self.present = next.start;
            if next.level == 0 {
                return Some(self.take_first(next.slot));
            }
            self.cascade(next.slot);
        }
        self.present = now;
        None
    }

    /// Returns the number of entries that have a deadline.
    #[inline]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Returns true if no entry with a deadline is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the earliest slot in use, without looking at entries.
    #[inline]
    fn next(&self) -> Option<Next> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros();
        let digit = self.occupied[level as usize].trailing_zeros();
        // Slots of a level lie in the present's window of the level above, at or after the present.
        let shift = level * DIGIT_BITS;
        let window = self.present >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS);
        let start = window | u64::from(digit) << shift;
        debug_assert!(start >= self.present, "a slot was left behind");
        Some(Next {
            level: level as usize,
            slot: level as usize * SLOTS + digit as usize,
            start,
        })
    }

    /// Appends an entry to the slot where it belongs at present.
    #[inline]
    fn place(&mut self, index: u32) {
        let tick = self.slab.tick(index);
        // `| (SLOTS - 1)` makes it level 0 when no higher digit differs, and keeps the logarithm
        // defined.
        let differs = (tick ^ self.present) | (SLOTS as u64 - 1);
        let level = (differs.ilog2() / DIGIT_BITS) as usize;
        let digit = (tick >> (level as u32 * DIGIT_BITS)) as usize & (SLOTS - 1);
        let slot = level * SLOTS + digit;
        self.slab.push_back(&mut self.lists[slot], index, slot);
        self.occupied[level] |= 1 << digit;
        self.levels |= 1 << level;
    }

    /// Removes an entry from its slot.
    #[inline]
    fn unlink(&mut self, slot: usize, index: u32) {
        self.slab.unlink(&mut self.lists[slot], index);
        if self.lists[slot].is_empty() {
            self.mark_empty(slot);
        }
    }

    fn mark_empty(&mut self, slot: usize) {
        let level = slot / SLOTS;
        self.occupied[level] &= !(1 << (slot % SLOTS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Takes the oldest entry of a slot in use.
    #[inline]
    fn take_first(&mut self, slot: usize) -> T {
        let index = self.lists[slot].first();
        self.unlink(slot, index);
        self.slab.remove(index)
    }

    /// Moves the entries of a slot that the present has reached to the levels below, in their
    /// order. Entries inserted into the same ticks from now on come after them, so ties stay in
    /// order.
    #[cold]
    fn cascade(&mut self, slot: usize) {
        let list = std::mem::replace(&mut self.lists[slot], List::EMPTY);
        self.mark_empty(slot);
        let mut rest = list.into_first();
        while let Some(index) = rest {
            rest = self.slab.next(index);
            self.place(index);
        }
    }
}

impl<T> fmt::Debug for Wheel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("present_ns", &(self.present << TICK_BITS))
            .field("next_deadline_ns", &self.next_deadline())
            .field("len", &self.len())
            .finish()
    }
}
