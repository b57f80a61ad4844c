//! A timing wheel: a set of deadlines. Setting, cancelling and firing a deadline is cheap, even if
//! there are many.
//!
//! The algorithm is the hierarchical wheel of Varghese and Lauck, "Hashed and Hierarchical Timing
//! Wheels" (SOSP 1987, scheme 7). In addition, each level has a bitmap, so that empty slots are
//! never visited.
//!
//! ```text
//!   a tick number, 66 bits:  [ digit 10 ] ... [ digit 2 ][ digit 1 ][ digit 0 ]      6 bits a digit
//!                                                  |          |          |
//!   level 2, 64 slots of 4096 ticks  [ ][ ][X][ ] -+          |          |
//!   level 1, 64 slots of 64 ticks    [ ][X][ ][X] ------------+          |
//!   level 0, 64 slots of 1 tick      [X][ ][ ][ ] -----------------------+
//! ```
//!
//! An *entry* is a deadline with its payload. The *present* is the time to which the wheel was last
//! advanced. A tick number consists of digits of six bits. Consider the highest digit in which the
//! tick of an entry differs from the present tick. The position of this digit, which is 0 for the
//! lowest digit, is the level of the entry. The value of this digit in the entry's tick is the
//! index of the entry's slot. So no slot in use lies before the present, and the lowest level in
//! use has the earliest deadlines. When the present reaches a slot of level `n`, the entries of
//! this slot move to lower levels. An entry moves at most ten times. Eleven levels cover the whole
//! range of `u64` nanoseconds, so there is no overflow list.
//!
//! A tick is [`TICK_NS`] = 8192 ns, or 1 ns in a wheel with [`Precision::Exact`]. Both are powers
//! of two, so that no division is needed. Deadlines are rounded up to a tick, and the present is
//! rounded down. So no entry fires early, and the wheel delays an entry by less than one tick.
//!
//! The wheel does not read a clock. The caller passes the time, in nanoseconds since an epoch that
//! the caller chooses. One thread owns the wheel. `insert`, `cancel` and `next_deadline` take O(1).
//! `advance` takes O(1) plus an amortized O(1) for each entry that fires.

mod slab;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

use std::fmt;

use slab::{List, Slab};

pub use slab::Key;

/// Binary logarithm of the nanoseconds in a tick.
const TICK_BITS: u32 = 13;

/// The resolution of a [`Wheel`] in nanoseconds.
pub const TICK_NS: u64 = 1 << TICK_BITS;

/// Number of bits in a digit. A level has 64 slots, so its bitmap is one word.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;

/// Number of levels. The 64 bits of an exact tick number fit into eleven digits.
const LEVELS: usize = 11;

/// The precision of a [`Wheel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// A deadline is rounded up to a multiple of [`TICK_NS`].
    Tick,
    /// A deadline is exact. This precision is meant for simulated clocks, because it makes the
    /// wheel visit more slots on the way to a far deadline.
    Exact,
}

impl Precision {
    /// Returns the binary logarithm of the nanoseconds in a tick.
    const fn bits(self) -> u32 {
        match self {
            Self::Tick => TICK_BITS,
            Self::Exact => 0,
        }
    }
}

/// A set of deadlines, each with a payload. The caller advances the time, and gets the payload of
/// each deadline that has passed.
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
    /// Present time in ticks. It never decreases, and no entry has an earlier tick.
    present: u64,

    /// Binary logarithm of the nanoseconds in a tick.
    tick_bits: u32,

    /// Bit `n` is set when level `n` has an entry.
    levels: u16,

    /// One bitmap for each level. Bit `n` is set when slot `n` of the level has an entry.
    occupied: [u64; LEVELS],

    /// Entries of each slot, in the order of insertion. Level `n` begins at `n * SLOTS`.
    lists: Box<[List]>,

    /// Storage of the entries.
    slab: Slab<T>,
}

/// Location of the earliest occupied slot of the wheel.
struct Next {
    level: usize,
    /// Index of the slot in `Wheel::lists`.
    slot: usize,
    /// First tick of the slot.
    start: u64,
}

impl<T> Wheel<T> {
    /// Creates an empty wheel with [`Precision::Tick`]. Its present time is `now_ns`, in
    /// nanoseconds.
    pub fn new(now_ns: u64) -> Self {
        Self::with_precision(now_ns, Precision::Tick)
    }

    /// Creates an empty wheel with the given `precision`. The present time of the wheel is
    /// `now_ns`, in nanoseconds.
    pub fn with_precision(now_ns: u64, precision: Precision) -> Self {
        Self {
            present: now_ns >> precision.bits(),
            tick_bits: precision.bits(),
            levels: 0,
            occupied: [0; LEVELS],
            lists: vec![List::EMPTY; LEVELS * SLOTS].into(),
            slab: Slab::new(),
        }
    }

    /// Sets the present time and the precision of a wheel that has no deadlines. The new time may
    /// be earlier than the old one.
    ///
    /// Keys of earlier entries never match a new entry. Reservations that were neither set nor
    /// cancelled stay valid.
    ///
    /// # Panics
    ///
    /// Panics if an entry has a deadline.
    pub fn restart(&mut self, now_ns: u64, precision: Precision) {
        assert!(
            self.is_empty(),
            "a wheel that has deadlines cannot be restarted"
        );
        self.tick_bits = precision.bits();
        self.present = now_ns >> self.tick_bits;
    }

    /// Returns the tick of a deadline: the first tick at which the deadline has passed, or the
    /// present tick if the present tick is later.
    #[inline]
    fn tick_of(&self, deadline_ns: u64) -> u64 {
        let whole = deadline_ns >> self.tick_bits;
        let is_between = whole << self.tick_bits != deadline_ns;
        (whole + u64::from(is_between)).max(self.present)
    }

    /// Returns the time of a tick in nanoseconds.
    #[inline]
    fn time_of(&self, tick: u64) -> u64 {
        tick.saturating_mul(1 << self.tick_bits)
    }

    /// Inserts an entry with a deadline in nanoseconds and a payload. Returns the key of the entry.
    /// Pass the key to [`cancel`](Self::cancel) to remove the entry.
    ///
    /// An entry whose deadline has already passed fires at the next [`advance`](Self::advance). In
    /// a wheel with [`Precision::Tick`], an entry never fires if its deadline is less than
    /// [`TICK_NS`] before the end of the `u64` range (about 584 years after the time 0).
    ///
    /// # Panics
    ///
    /// Panics if the wheel would hold more than 2^32 - 1 entries.
    #[inline]
    pub fn insert(&mut self, deadline_ns: u64, payload: T) -> Key {
        let tick = self.tick_of(deadline_ns);
        let key = self.slab.insert(tick, payload);
        self.place(key.index());
        key
    }

    /// Reserves a place for an entry, and returns the key of the entry. Pass the key to
    /// [`set`](Self::set) to set the deadline and the payload.
    ///
    /// Pass the key to [`cancel`](Self::cancel) to cancel the reservation, or the entry if its
    /// deadline has been set.
    ///
    /// # Panics
    ///
    /// Panics if the wheel would hold more than 2^32 - 1 entries.
    #[inline]
    pub fn reserve(&mut self) -> Key {
        self.slab.reserve()
    }

    /// Sets the deadline and the payload of an entry that was reserved with
    /// [`reserve`](Self::reserve). The deadline follows the same rules as in
    /// [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// Returns the payload if the reservation was cancelled, or if the entry was already set.
    #[inline]
    pub fn set(&mut self, key: Key, deadline_ns: u64, payload: T) -> Result<(), T> {
        if !self.slab.is_reserved(key) {
            return Err(payload);
        }
        let tick = self.tick_of(deadline_ns);
        self.slab.fill(key.index(), tick, payload);
        self.place(key.index());
        Ok(())
    }

    /// Removes an entry and returns its payload. Returns `None` if the entry has fired or was
    /// already cancelled. If the entry is only reserved and has no deadline yet, cancels the
    /// reservation and returns `None`.
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

    /// Returns the time, in nanoseconds, at which the caller must next check for due entries. No
    /// entry is due before this time. Returns `None` if no entry has a deadline.
    ///
    /// The caller can sleep until this time. The time is at most the earliest deadline, rounded up
    /// to a tick. If the earliest deadline is far ahead, the returned time can be much earlier. So
    /// the caller should sleep until the returned time, call [`advance`](Self::advance), and then
    /// call this method again. For one deadline, at most ten sleeps end too early in this way.
    #[inline]
    pub fn next_deadline(&self) -> Option<u64> {
        Some(self.time_of(self.next()?.start))
    }

    /// Returns the earliest deadline in nanoseconds, rounded up to a tick. Returns `None` if no
    /// entry has a deadline. A call takes time in proportion to the number of entries in the
    /// earliest slot in use.
    pub fn earliest(&self) -> Option<u64> {
        let next = self.next()?;
        let tick = if next.level == 0 {
            next.start
        } else {
            let ticks = self.slab.ticks(&self.lists[next.slot]);
            ticks.min().unwrap_or(next.start)
        };
        Some(self.time_of(tick))
    }

    /// Moves the present time to `now_ns` and calls `fire` with each payload that is due. Returns
    /// the number of payloads fired.
    ///
    /// Entries fire in the order of their ticks. Entries of the same tick fire in the order in
    /// which their deadlines were set.
    ///
    /// If `now_ns` is before the present time, the present time does not change. If `fire` panics,
    /// the entries that have not fired yet stay in the wheel.
    #[inline]
    pub fn advance(&mut self, now_ns: u64, mut fire: impl FnMut(T)) -> usize {
        let mut fired = 0;
        while let Some(payload) = self.pop_due(now_ns) {
            fired += 1;
            fire(payload);
        }
        fired
    }

    /// Removes the earliest entry that is due at `now_ns`, and returns its payload. Returns `None`
    /// if no entry is due.
    ///
    /// This is one step of [`advance`](Self::advance). Use this method to insert entries between
    /// two steps, or to stop early.
    ///
    /// When this method returns `None`, it has moved the present time to `now_ns`, unless the
    /// present time was already later.
    #[inline]
    pub fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        let now = (now_ns >> self.tick_bits).max(self.present);
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

    /// Returns true if no entry has a deadline.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the earliest occupied slot of the wheel, without visiting entries.
    #[inline]
    fn next(&self) -> Option<Next> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros();
        let digit = self.occupied[level as usize].trailing_zeros();
        // Slots of a level lie in the present's window of the level above, at or after the present.
        let shift = level * DIGIT_BITS;
        let window = self.present & u64::MAX.checked_shl(shift + DIGIT_BITS).unwrap_or(0);
        let start = window | u64::from(digit) << shift;
        debug_assert!(start >= self.present, "a slot in use is in the past");
        Some(Next {
            level: level as usize,
            slot: level as usize * SLOTS + digit as usize,
            start,
        })
    }

    /// Appends an entry to the slot for its deadline. The slot depends on the present time.
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

    /// Removes and returns the oldest entry of a slot, which must have an entry.
    #[inline]
    fn take_first(&mut self, slot: usize) -> T {
        let index = self.lists[slot].first();
        self.unlink(slot, index);
        self.slab.remove(index)
    }

    /// Moves the entries of a slot to lower levels, and keeps their order. The present time must
    /// have reached the slot. Entries that are inserted later for the same tick are appended after
    /// the moved entries. So the entries of a tick stay in the order of insertion.
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
            .field("present_ns", &self.time_of(self.present))
            .field("next_deadline_ns", &self.next_deadline())
            .field("len", &self.len())
            .finish()
    }
}
