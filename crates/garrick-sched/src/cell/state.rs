//! The state word of a cell (task), and the transitions of this word.
//!
//! ```text
//!   63         62 61 60           48 47                                 4 3      0
//!  [ APPENDED |     | home : 13 bits | tail envelope of local mailbox    | flags ]
//! ```
//!
//! | flag | set by | removed by |
//! | --- | --- | --- |
//! | SCHEDULED | [`Header::schedule`] and its variants | [`Header::begin_lone`], [`Header::rest`], [`Header::unschedule`], [`Header::condemn_at`] |
//! | NEWBORN | creation of the cell | [`Header::end_youth`], and other transitions to a first turn |
//! | STOPPED | [`Header::retire`] | never, because the cell is closed |
//! | GARBAGE | [`Header::condemn`], [`Header::condemn_at`] | [`Header::vacate`] |
//! | APPENDED | [`Header::begin_append`] | [`Header::end_append`] |
//!
//! Only the home worker writes the word, so each transition is a plain load and a plain store. The
//! word is atomic because other workers read `home` from it to check if the cell belongs to them.

use std::fmt;
use std::ptr;

use garrick_core::prim::atomic::Ordering::Relaxed;

use super::envelope::Envelope;
use super::header::Header;

/// The cell is in a run queue, or handles its mailbox. While this flag is set, the cell is not
/// freed. The flag is not set while a cell handles only the message with which it was scheduled. So
/// such a cell can be scheduled again during its turn.
const SCHEDULED: u64 = 1;
/// The cell has not run yet. The newest cell with this flag runs first.
const NEWBORN: u64 = 2;
/// The task was dropped. The cell is closed as soon as the owner has its token (the right to notify
/// the owner).
const STOPPED: u64 = 4;
/// The cell is in the list of cells that its owner will free, or is being freed.
const GARBAGE: u64 = 8;
/// The current turn has appended messages to the local mailbox. So some messages in this mailbox
/// are not committed yet.
const APPENDED: u64 = 1 << 63;

const HOME_SHIFT: u32 = 48;
const HOME_BITS: u32 = 13;
const HOME_MASK: u64 = ((1 << HOME_BITS) - 1) << HOME_SHIFT;
const FLAG_MASK: u64 = 15 | !0 << (HOME_SHIFT + HOME_BITS);
const POINTER_MASK: u64 = !(HOME_MASK | FLAG_MASK);

/// Number of a worker, shifted to its position in the state word. A cell without an owner has the
/// number of a gate (an object that can refuse messages to the cells of a sponsor), or
/// [`Home::NOBODY`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(u64);

impl Home {
    pub(crate) const NOBODY: Self = Self(0);
    /// The value for a thread that is not a worker. No cell has this value as its home (the number
    /// of its owner), not even a cell without an owner.
    pub(crate) const STRANGER: Self = Self(HOME_MASK);

    /// Returns the value that stands for the worker or gate with the number `number`, which must
    /// not be 0.
    pub(crate) const fn new(number: u16) -> Self {
        assert!(number != 0, "0 means nobody");
        Self((number as u64) << HOME_SHIFT)
    }

    /// Returns the number of the worker or gate.
    #[inline]
    pub(crate) const fn number(self) -> u16 {
        (self.0 >> HOME_SHIFT) as u16
    }

    /// Returns the state of an idle cell that belongs to this home (worker).
    #[inline]
    pub(crate) const fn idle(self) -> State {
        State(self.0)
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NOBODY {
            f.write_str("Home(nobody)")
        } else {
            write!(f, "Home({})", self.number())
        }
    }
}

/// The value of the state word of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) struct State(u64);

impl State {
    /// A value that no cell with a mailbox has as its state.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the state of a newborn cell: a cell that has not run yet.
    pub(super) const fn newborn(home: Home) -> Self {
        Self(home.0 | NEWBORN)
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// Creates a state from the bits of a state word.
    #[inline]
    pub(super) const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the home of the cell: the number of the worker that owns the cell. If no worker owns
    /// the cell, the home is the number of a gate or [`Home::NOBODY`].
    #[inline]
    pub(crate) const fn home(self) -> Home {
        Home(self.0 & HOME_MASK)
    }

    /// Returns the last envelope (memory block with messages) of the local mailbox, or null if the
    /// mailbox is empty.
    #[inline]
    pub(crate) fn tail(self) -> *mut Envelope {
        ptr::with_exposed_provenance_mut((self.0 & POINTER_MASK) as usize)
    }

    /// Returns true if the cell belongs to the worker `home`, is idle, and is not newborn (has
    /// already run).
    #[inline]
    pub(crate) fn is_idle_at(self, home: Home) -> bool {
        self == home.idle()
    }

    /// Returns true if the cell belongs to the worker `home`, and is idle: it is not scheduled, its
    /// mailbox is empty, and it has not stopped. The cell may be newborn (it has not run yet).
    #[inline]
    pub(crate) fn rests_at(self, home: Home) -> bool {
        self.0 & !NEWBORN == home.0
    }

    /// Returns true if the cell belongs to the worker `home`, is scheduled, and has an empty
    /// mailbox. The cell may be newborn (it has not run yet).
    #[inline]
    pub(crate) fn is_scheduled_alone_at(self, home: Home) -> bool {
        self.0 & !NEWBORN == home.0 | SCHEDULED
    }

    /// Returns true if the cell belongs to the worker `home`, is scheduled, has not stopped, and
    /// has no messages of the current turn in its mailbox. The cell may be newborn (it has not run
    /// yet).
    pub(super) fn is_scheduled_whole_at(self, home: Home) -> bool {
        self.0 & !NEWBORN & !POINTER_MASK == home.0 | SCHEDULED
    }

    #[inline]
    pub(crate) const fn is_scheduled(self) -> bool {
        self.0 & SCHEDULED != 0
    }

    #[inline]
    pub(crate) const fn is_newborn(self) -> bool {
        self.0 & NEWBORN != 0
    }

    /// Returns true if the task was dropped and the cell is about to be closed.
    #[inline]
    pub(crate) const fn is_stopped(self) -> bool {
        self.0 & STOPPED != 0
    }

    /// Returns true if the cell has stopped and is not scheduled, so that the owner needs only the
    /// cell's token (the right to notify the owner) to close the cell.
    pub(crate) const fn waits_for_token(self) -> bool {
        self.0 & (STOPPED | SCHEDULED) == STOPPED
    }

    /// Returns true if the cell is about to be freed.
    #[inline]
    pub(crate) const fn is_garbage(self) -> bool {
        self.0 & GARBAGE != 0
    }

    /// Returns true if nothing must be done when the last reference to the cell is dropped. The
    /// reason is that other code will free the cell: either its activation, or code that is already
    /// closing or freeing the cell.
    #[inline]
    pub(crate) const fn is_looked_after(self) -> bool {
        self.0 & (SCHEDULED | STOPPED | GARBAGE) != 0
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("home", &self.home())
            .field("mailbox", &self.tail())
            .field("scheduled", &self.is_scheduled())
            .field("newborn", &self.is_newborn())
            .field("stopped", &self.is_stopped())
            .field("garbage", &self.is_garbage())
            .field("appended", &(self.0 & APPENDED != 0))
            .finish()
    }
}

/// The transitions of a cell's state. Only the owner makes these transitions. In loom models, the
/// transitions do not check the state, because each load adds a point at which loom may switch
/// threads.
impl Header {
    /// Returns the state word. The load is relaxed. A thread other than the owner uses only the
    /// part `home` (the number of the owner) of the word, and never reads the number of its own
    /// worker there (`cell/README.md`, invariant 1). The exception is a visitor (a thread that
    /// handles messages for a worker in a long turn). A visitor uses the whole word, and adds
    /// fences ([`Header::snapshot`]).
    #[inline]
    pub(crate) fn state(&self) -> State {
        State(self.state.load(Relaxed))
    }

    /// Stores the state word. The store is relaxed. When the cell leaves this worker, the shared
    /// queue publishes the change of the home (the number of the owner). When the cell comes to
    /// this worker, the inbox publishes the change (`cell/README.md`, steps 3 and 4).
    #[inline]
    fn store(&self, state: u64) {
        self.state.store(state, Relaxed);
    }

    /// Panics in debug builds if `is_right` returns false for the cell's state. The panic message
    /// begins with `said`.
    #[inline(always)]
    fn check(&self, is_right: impl FnOnce(State) -> bool, said: &str) {
        debug_assert!(
            cfg!(garrick_loom) || is_right(self.state()),
            "{said}: {:?}",
            self.state()
        );
    }

    /// Marks the cell as scheduled. `state` is its current state. The caller must push the cell to
    /// a run queue.
    #[inline]
    pub(crate) fn schedule_from(&self, state: State) {
        self.check(|now| now == state, "the state is the one that was read");
        self.check(
            |now| !now.is_scheduled() && !now.is_garbage(),
            "a cell is scheduled once, and alive",
        );
        self.store(state.0 | SCHEDULED);
    }

    /// Marks the cell as scheduled. The caller must push the cell to a run queue.
    #[inline]
    pub(crate) fn schedule(&self) {
        self.schedule_from(self.state());
    }

    /// Schedules a cell that has not run yet. The cell belongs to the worker `home`. The cell loses
    /// the precedence of newborn cells: it runs after all cells that are ready now.
    pub(crate) fn schedule_in_line(&self, home: Home) {
        self.check(|now| now.rests_at(home), "a cell gets its first message");
        self.store(home.0 | SCHEDULED);
    }

    /// Marks the cell as scheduled although it is in no run queue, because its turn leaves the
    /// worker in order to block.
    pub(crate) fn keep_scheduled(&self) {
        self.check(|now| !now.is_garbage(), "a cell in a turn is alive");
        self.store(self.state().0 | SCHEDULED);
    }

    /// If the mailbox is empty, removes the mark SCHEDULED and returns true. The activation then
    /// handles only the message with which the cell was scheduled.
    #[inline]
    #[must_use]
    pub(crate) fn begin_lone(&self, home: Home) -> bool {
        let is_alone = self.state().is_scheduled_alone_at(home);
        if is_alone {
            self.store(home.0);
        }
        is_alone
    }

    /// Marks the cell as idle. Its mailbox must be empty.
    #[inline]
    pub(crate) fn rest(&self, home: Home) {
        self.check(
            |now| now.home() == home && now.tail().is_null() && now.0 & (STOPPED | GARBAGE) == 0,
            "a cell rests that has nothing to do",
        );
        self.store(home.0);
    }

    /// Removes the mark SCHEDULED from a cell that is no longer in a run queue.
    pub(crate) fn unschedule(&self) {
        self.check(|now| !now.is_garbage(), "a scheduled cell is alive");
        self.store(self.state().0 & !SCHEDULED);
    }

    /// Removes the mark NEWBORN, because the cell's first turn begins.
    #[inline]
    pub(crate) fn end_youth(&self) {
        self.store(self.state().0 & !NEWBORN);
    }

    /// Records that the task was dropped. Returns false if that was already recorded.
    #[must_use]
    pub(crate) fn retire(&self) -> bool {
        let state = self.state();
        self.store(state.0 | STOPPED);
        !state.is_stopped()
    }

    /// Marks the cell as garbage, because it is added to the list of cells to free.
    pub(crate) fn condemn(&self) {
        self.check(
            |now| !now.is_looked_after() && now.tail().is_null(),
            "a cell is freed once, and has nothing to do",
        );
        self.store(self.state().0 | GARBAGE);
    }

    /// Marks the cell as garbage, because it is freed at the end of its activation.
    pub(crate) fn condemn_at(&self, home: Home) {
        self.check(
            |now| now.home() == home && now.tail().is_null(),
            "a cell is freed at home, and has nothing to do",
        );
        self.store(home.0 | GARBAGE);
    }

    /// Removes the cell from its worker, because the cell is freed. After that, no worker owns the
    /// block.
    pub(crate) fn vacate(&self) {
        self.check(
            |now| !now.is_scheduled() && now.tail().is_null(),
            "a cell that is scheduled, or has mail, is alive",
        );
        self.store(State::NONE.0);
    }

    /// Records that the current turn appends messages to the mailbox.
    #[inline]
    pub(crate) fn begin_append(&self) {
        self.check(State::is_scheduled, "a cell is scheduled while appended to");
        self.store(self.state().0 | APPENDED);
    }

    /// Removes the mark APPENDED, because the appended messages are committed or removed.
    #[inline]
    pub(crate) fn end_append(&self) {
        self.store(self.state().0 & !APPENDED);
    }

    /// Sets the home of the cell: the number of its owner, or of a gate if the cell has no owner.
    #[inline]
    pub(crate) fn set_home(&self, home: Home) {
        debug_assert_ne!(home, Home::STRANGER, "a stranger owns nothing");
        #[cfg(garrick_loom)]
        super::homes::note(super::header::CellPtr(std::ptr::NonNull::from(self)), home);
        self.store(self.state().0 & !HOME_MASK | home.0);
    }

    /// Sets the last envelope (memory block with messages) of the local mailbox.
    #[inline]
    pub(crate) fn set_mailbox_tail(&self, tail: *mut Envelope) {
        let bits = tail.expose_provenance() as u64;
        debug_assert_eq!(
            bits & !POINTER_MASK,
            0,
            "an envelope's address has 48 bits and is aligned"
        );
        self.store(self.state().0 & !POINTER_MASK | bits);
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    const HOME: Home = Home::new(7);

    #[test]
    fn a_state_says_what_it_holds() {
        let newborn = State::newborn(HOME);
        assert!(newborn.is_newborn() && newborn.rests_at(HOME) && !newborn.is_idle_at(HOME));
        assert!(HOME.idle().is_idle_at(HOME) && HOME.idle().rests_at(HOME));
        assert!(!HOME.idle().rests_at(Home::new(8)));
        assert_eq!((newborn.home(), newborn.home().number()), (HOME, 7));
        assert!(newborn.tail().is_null() && !newborn.is_looked_after());
        let scheduled = State(newborn.0 | SCHEDULED);
        assert!(scheduled.is_scheduled_alone_at(HOME) && scheduled.is_scheduled_whole_at(HOME));
        let appended = State(scheduled.0 | APPENDED | 1 << 20);
        assert!(!appended.is_scheduled_alone_at(HOME) && !appended.is_scheduled_whole_at(HOME));
        let has_mail = State(scheduled.0 | 1 << 20);
        assert!(has_mail.is_scheduled_whole_at(HOME) && has_mail.tail().addr() == 1 << 20);
        assert!(State(HOME.0 | STOPPED).waits_for_token());
        assert!(!State(HOME.0 | STOPPED | SCHEDULED).waits_for_token());
    }

    #[test]
    fn a_state_tells_its_parts() {
        let shown = format!("{:?}", State(HOME.0 | SCHEDULED | APPENDED));
        assert!(shown.contains("home: Home(7)"), "{shown}");
        assert!(shown.contains("scheduled: true"), "{shown}");
        assert!(shown.contains("appended: true"), "{shown}");
        assert!(shown.contains("stopped: false"), "{shown}");
    }
}
