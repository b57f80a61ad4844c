//! The selection of the activations that are timed.

use std::cell::Cell;

use crate::world::Nanos;

/// Divisor that limits the gaps between timed activations. When the worker has run `n` activations
/// since its last rest, at least one of the next `n / GAP_SHARE` activations is timed.
pub(super) const GAP_SHARE: u64 = 8;
/// Maximum number of activations in a gap. One activation of each gap is timed.
pub(super) const GAP_MAX: u64 = 256;
/// Threshold for the time between two timed activations, in nanoseconds. If the time was at least
/// this long, the gaps become short again.
const LONG: Nanos = 50_000;
/// Divisor for a time between two timed activations that was at least [`LONG`], in nanoseconds.
/// After as many activations as the quotient, or after [`GAP_SHARE`] activations if that is more, a
/// gap becomes longer by one. So timing takes at most a few percent of the time.
const SHARE_OF: Nanos = 8_000;
/// Upper limit of the number of activations after which a gap becomes longer by one.
const SHARE_MAX: u64 = 16_384;
/// Maximum value of [`Clocking::unclaimed`], in nanoseconds.
const UNCLAIMED_MAX: Nanos = 40_000_000;

/// Reason why an activation is timed.
#[derive(Clone, Copy)]
pub(super) enum TimeBy {
    /// The activation is timed because the kind of its task is slow. It represents only itself.
    Kind,
    /// The activation was selected from a gap with this number of activations, and represents all
    /// of them.
    Gap(u64),
}

impl TimeBy {
    /// Returns the number of activations that the timed activation represents.
    pub(super) fn weight(self) -> u64 {
        match self {
            Self::Kind => 1,
            Self::Gap(weight) => weight,
        }
    }
}

/// Selects the activations that are timed, apart from those of slow kinds. The activations of a
/// worker are divided into *gaps*. One activation of each gap is timed, at a random position, and
/// represents all activations of the gap.
///
/// After a rest, a gap has a length of 1. After that, the gaps become longer as the number of
/// activations since the rest grows. If a long time ([`LONG`]) has passed between two timed
/// activations, the next gap has a length of 1 again. The longer that time was, the more slowly the
/// gaps become longer. So a slow task is soon found among many quick tasks.
///
/// The total time that timed activations represent never exceeds the time that has passed.
pub(super) struct Clocking {
    /// Number of activations up to the end of this gap, counted from the last rest or from the end
    /// of the last long time between timed activations.
    since: Cell<u64>,
    /// Number of activations after which a gap becomes longer by one.
    share: Cell<u64>,
    /// Length of this gap in activations.
    gap: Cell<u64>,
    /// Number of untimed activations that are left before the next timed activation.
    left: Cell<u64>,
    /// Number of activations after the timed activation of this gap.
    after: Cell<u64>,
    /// End of the last timed activation, or `None` after a rest.
    ended: Cell<Option<Nanos>>,
    /// Time that has passed and that no timed activation represents yet. Later timed activations
    /// may represent it.
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

    /// Makes the gaps short again, after a rest of the worker.
    pub(super) fn rested(&self) {
        self.since.set(1);
        self.share.set(GAP_SHARE);
        self.gap.set(1);
        self.left.set(0);
        self.after.set(0);
        self.ended.set(None);
    }

    /// Advances by one activation. Returns the number of activations that this activation
    /// represents, or `None` if it is not timed.
    #[inline]
    pub(super) fn step(&self) -> Option<u64> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return None;
        }
        Some(self.next_gap())
    }

    /// Returns the number of activations before the next timed activation.
    pub(super) fn untimed(&self) -> u64 {
        self.left.get()
    }

    /// Advances by at most `count` untimed activations. Stops before the next timed activation.
    pub(super) fn skip(&self, count: u64) {
        self.left.set(self.left.get().saturating_sub(count));
    }

    /// Chooses the length of the next gap, and returns the length of the previous gap.
    #[inline(never)]
    fn next_gap(&self) -> u64 {
        let gap = (self.since.get() / self.share.get()).clamp(1, GAP_MAX);
        self.since.set(self.since.get() + gap);
        let place = self.draw() % gap;
        self.left.set(self.after.get() + place);
        self.after.set(gap - 1 - place);
        self.gap.replace(gap)
    }

    /// Records the beginning and the end of a timed activation. Returns the time that this
    /// activation represents.
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
