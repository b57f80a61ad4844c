//! The selection of the turns that are measured in timed activations (runs of ready tasks).

use std::cell::Cell;

use crate::world::Nanos;

/// Divisor that limits the length of a gap: a group of turns of which one is measured. After `n`
/// turns since the worker last slept or paused, a gap has at most `n / GAP_SHARE` turns, but at
/// least one turn.
pub(super) const GAP_SHARE: u64 = 8;
/// Maximum number of turns in a gap: a group of turns of which one is measured.
pub(super) const GAP_MAX: u64 = 256;
/// If at least this many nanoseconds have passed since the last measured turn, the measuring starts
/// anew. Normally, one of `n` turns is measured, and `n` grows. A new start sets `n` to 1, so that
/// every turn is measured, and then `n` grows again.
const LONG: Nanos = 50_000;
/// Divisor, in nanoseconds. If at least [`LONG`] nanoseconds have passed between two measured
/// turns, this time divided by `SHARE_OF` is the new value of [`Clocking::share`]. The value is
/// limited to the range from [`GAP_SHARE`] to [`SHARE_MAX`]. So measuring takes at most a few
/// percent of the time.
const SHARE_OF: Nanos = 8_000;
/// Upper limit of [`Clocking::share`]: the number of turns after which a gap (a group of turns of
/// which one is measured) becomes longer by one.
const SHARE_MAX: u64 = 16_384;
/// Maximum value of [`Clocking::unclaimed`] (the time that no measured turn represents yet), in
/// nanoseconds.
const UNCLAIMED_MAX: Nanos = 40_000_000;

/// Reason why a turn is measured.
#[derive(Clone, Copy)]
pub(super) enum TimeBy {
    /// The kind of the turn's task has not used up its allowance for measurements. The turn
    /// represents only itself.
    Kind,
    /// The turn was selected from a gap (a group) with this number of turns, and represents all of
    /// them.
    Gap(u64),
}

impl TimeBy {
    /// Returns the number of turns that the measured turn represents.
    pub(super) fn weight(self) -> u64 {
        match self {
            Self::Kind => 1,
            Self::Gap(weight) => weight,
        }
    }
}

/// Selects turns for measurement, after the allowance of a kind of task is used up. (Until then,
/// every turn of the kind is measured.) The turns of a worker are divided into *gaps*. One turn of
/// each gap, at a random position, is measured, and represents all turns of the gap.
///
/// The first gap after a sleep or pause of the worker has one turn. Later gaps have more and more
/// turns. If at least [`LONG`] nanoseconds have passed between two measured turns, the next gap has
/// one turn again. From then on, the gaps grow more slowly. The more time has passed between the
/// two measured turns, the slower is this growth. These rules ensure that a slow turn among many
/// quick turns is soon measured.
///
/// The total time that measured turns represent never exceeds the time that has passed.
pub(super) struct Clocking {
    /// Number of turns from the last shortening of the gaps to the end of the current gap. A gap is
    /// a group of turns of which one is measured. Gaps are shortened when the worker sleeps or
    /// pauses, and after a long time between two measured turns.
    since: Cell<u64>,
    /// Number of turns after which the gap (the group of turns of which one is measured) becomes
    /// longer by one.
    share: Cell<u64>,
    /// Number of turns in the current gap (a group of turns of which one is measured).
    gap: Cell<u64>,
    /// Number of turns before the next turn to measure.
    left: Cell<u64>,
    /// Number of turns that come after the measured turn in its gap. (A gap is a group of turns of
    /// which one is measured.)
    after: Cell<u64>,
    /// Time at which the last measured turn ended. `None` if the worker has slept or paused after
    /// this turn.
    ended: Cell<Option<Nanos>>,
    /// Time that has passed and that no measured turn represents yet. Later measured turns may
    /// represent it.
    unclaimed: Cell<Nanos>,
    random: Cell<u64>,
}

impl Clocking {
    pub(super) fn new(seed: u64) -> Self {
        let clocking = Self {
            since: Cell::new(0),
            share: Cell::new(GAP_SHARE),
            gap: Cell::new(1),
            left: Cell::new(0),
            after: Cell::new(0),
            ended: Cell::new(None),
            unclaimed: Cell::new(0),
            random: Cell::new(seed | 1),
        };
        clocking.rested();
        clocking
    }

    /// Begins again with the shortest gap (a group of turns of which one is measured), because the
    /// worker sleeps or pauses. So the next turn is measured.
    pub(super) fn rested(&self) {
        self.since.set(1);
        self.share.set(GAP_SHARE);
        self.gap.set(1);
        self.left.set(0);
        self.after.set(0);
        self.ended.set(None);
    }

    /// Advances by one turn. Returns the number of turns that this turn represents, or `None` if
    /// the turn is not measured.
    #[inline]
    pub(super) fn step(&self) -> Option<u64> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return None;
        }
        Some(self.next_gap())
    }

    /// Returns the number of turns before the next turn to measure.
    pub(super) fn untimed(&self) -> u64 {
        self.left.get()
    }

    /// Advances by at most `count` turns. Stops before the next turn to measure.
    pub(super) fn skip(&self, count: u64) {
        self.left.set(self.left.get().saturating_sub(count));
    }

    /// Chooses the length of the next gap (a group of turns of which one is measured), and returns
    /// the length of the previous gap.
    #[inline(never)]
    fn next_gap(&self) -> u64 {
        let gap = (self.since.get() / self.share.get()).clamp(1, GAP_MAX);
        self.since.set(self.since.get() + gap);
        let place = self.draw() % gap;
        self.left.set(self.after.get() + place);
        self.after.set(gap - 1 - place);
        self.gap.replace(gap)
    }

    /// Records the beginning and the end of a measured turn. Returns the time that this turn
    /// represents.
    pub(super) fn timed(&self, time_by: TimeBy, began: Nanos, ended: Nanos) -> Nanos {
        // All of this saturates: the clock of a world may jump arbitrarily, and nothing may panic
        // after a turn has committed.
        let lasted = ended.saturating_sub(began);
        let since = self.ended.get().unwrap_or(began);
        let TimeBy::Gap(weight) = time_by else {
            // The time of a slow activation is not available to the activations of the gaps.
            self.ended.set(Some(since.saturating_add(lasted)));
            return lasted;
        };
        self.ended.set(Some(ended));
        let passed = ended.saturating_sub(since);
        if passed >= LONG {
            self.since.set(1);
            self.share
                .set((passed / SHARE_OF).clamp(GAP_SHARE, SHARE_MAX));
        }
        let unclaimed = self.unclaimed.get().saturating_add(passed);
        let represents = lasted.saturating_mul(weight).min(unclaimed);
        self.unclaimed
            .set((unclaimed - represents).min(UNCLAIMED_MAX));
        represents
    }

    /// Returns the next random number of Marsaglia's xorshift64 (2003).
    fn draw(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x >> 16
    }
}
