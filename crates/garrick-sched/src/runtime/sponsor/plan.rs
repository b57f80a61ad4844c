//! Plans that determine when an idle thread checks for workers that are stuck in long turns
//! (README.md, rescue).

use garrick_core::prim::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::world::Nanos;

/// Number of checks for stuck workers after something was pushed to a running worker.
const SOON: u32 = 10;
/// Time in nanoseconds before the first check for stuck workers, after something was pushed to a
/// running worker. The time between checks then doubles after each check, up to `INTERVAL`.
const FIRST_AFTER: Nanos = 100_000;
/// Longest time between two checks for stuck workers after a push to a running worker, in
/// nanoseconds.
const INTERVAL: Nanos = 1_000_000;
/// Longest time between two checks after a push to a running worker, in nanoseconds, for
/// `QUICK_FOR` after a check has found an activation that has lasted for `LONG`.
const QUICK_INTERVAL: Nanos = 250_000;
/// Shortest duration of an activation in nanoseconds after which the checks come more often.
const LONG: Nanos = 4_000_000;
/// Time in nanoseconds for which the checks come more often after a long activation. Programs that
/// have had one long activation probably have another one soon.
const QUICK_FOR: Nanos = 1_000_000_000;
/// Maximum number of times that `INTERVAL` is doubled while nothing is pushed to a running worker.
const DOUBLINGS_MAX: u32 = 4;
/// Number of times that `INTERVAL` is doubled to get the time before the first check for timers.
const DOUBLINGS_FOR_TIMERS: u32 = 2;

/// Plan of the checks for workers that are stuck in long turns. The watching thread (an idle
/// thread) makes these checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Plan {
    /// No checks for stuck workers are made.
    #[default]
    Nothing,
    /// Several further checks are made, because something was pushed to a worker, or cells are
    /// ready. The value is the number of these checks.
    Soon(u32),
    /// The previous check has found ready cells, so one check is made. The time before the check is
    /// `INTERVAL`, doubled this number of times.
    Slowly(u32),
    /// A worker has timers, so one check is made. The time before the check is `INTERVAL`, doubled
    /// this number of times.
    ForTimers(u32),
}

impl Plan {
    /// Returns the plan of checks for stuck workers after a push to a running worker.
    pub(super) fn soon() -> Self {
        Self::Soon(SOON)
    }

    /// Returns the plan for one check for stuck workers after `INTERVAL`.
    pub(super) fn once() -> Self {
        Self::Soon(1)
    }

    /// Returns the plan for the timers of a worker that may begin a long turn.
    pub(super) fn for_timers() -> Self {
        Self::ForTimers(DOUBLINGS_FOR_TIMERS)
    }

    /// Returns the time between now and the next check. Returns `Nanos::MAX` if no check follows.
    /// If `is_quick` is true, an activation was long a short time ago, so checks for ready cells
    /// come more often.
    pub(super) fn interval(self, is_quick: bool) -> Nanos {
        let longest = if is_quick { QUICK_INTERVAL } else { INTERVAL };
        match self {
            Self::Nothing => Nanos::MAX,
            Self::Soon(left) => (FIRST_AFTER << SOON.saturating_sub(left)).min(longest),
            Self::Slowly(doublings) | Self::ForTimers(doublings) => INTERVAL << doublings,
        }
    }

    /// Returns true if the next check of the plan `old` comes early enough for this plan.
    pub(super) fn continues(self, old: Self) -> bool {
        match (old, self) {
            (Self::Soon(before), Self::Soon(left)) => left <= before,
            _ => self == old,
        }
    }

    /// Returns the part of this plan that remains after one check.
    pub(super) fn after_look(self) -> Self {
        match self {
            Self::Soon(left) if left > 1 => Self::Soon(left - 1),
            _ => Self::Nothing,
        }
    }

    /// Returns the plan that replaces this plan when all its checks have been made and nothing new
    /// was pushed to a running worker. `needed` is the plan that the final check has found to be
    /// necessary.
    pub(super) fn slower(self, needed: Self) -> Self {
        let doublings = match self {
            Self::Nothing | Self::Soon(_) => 0,
            Self::Slowly(doublings) | Self::ForTimers(doublings) => doublings,
        };
        let doublings = (doublings + 1).min(DOUBLINGS_MAX);
        match needed {
            Self::Nothing => Self::Nothing,
            Self::Soon(_) | Self::Slowly(_) => Self::Slowly(doublings),
            Self::ForTimers(_) => Self::ForTimers(doublings),
        }
    }

    /// Returns true if the next check is not urgent: a delay of some milliseconds does no harm.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Self::Slowly(_) | Self::ForTimers(_))
    }

    /// Returns true if no check follows, or if the next check comes too late for ready cells that
    /// wait for a busy worker.
    pub(super) fn is_too_late_for_cells(self) -> bool {
        matches!(self, Self::Nothing | Self::ForTimers(_))
    }

    fn to_word(self) -> usize {
        let (kind, number) = match self {
            Self::Nothing => (0, 0),
            Self::Soon(left) => (1, left),
            Self::Slowly(doublings) => (2, doublings),
            Self::ForTimers(doublings) => (3, doublings),
        };
        kind << 8 | number as usize
    }

    fn from_word(word: usize) -> Self {
        let number = (word & 0xff) as u32;
        match word >> 8 {
            0 => Self::Nothing,
            1 => Self::Soon(number),
            2 => Self::Slowly(number),
            _ => Self::ForTimers(number),
        }
    }
}

/// A [`Plan`] that several threads read and change. A read value may be outdated. A thread that is
/// woken sees the latest plan, because it takes the lock of the crew's lists.
#[derive(Default)]
pub(super) struct PlanWord {
    plan: AtomicUsize,
    /// Time until which checks for ready cells come more often. Relaxed everywhere: the time
    /// publishes nothing.
    quick_until: AtomicU64,
}

impl PlanWord {
    pub(super) fn get(&self) -> Plan {
        Plan::from_word(self.plan.load(Relaxed))
    }

    pub(super) fn set(&self, plan: Plan) {
        self.plan.store(plan.to_word(), Relaxed);
    }

    /// Replaces `old` by `new`. Returns false if the plan has changed in the meantime.
    pub(super) fn replace(&self, old: Plan, new: Plan) -> bool {
        (self.plan)
            .compare_exchange(old.to_word(), new.to_word(), Relaxed, Relaxed)
            .is_ok()
    }

    /// Records that a check has found an activation that has lasted for `lasted` nanoseconds so
    /// far. If this is long, the checks come more often for some time.
    pub(super) fn note_activation(&self, lasted: Nanos, now: Nanos) {
        if lasted >= LONG {
            let until = now.saturating_add(QUICK_FOR);
            self.quick_until.store(until, Relaxed);
        }
    }

    /// Returns true if the checks for ready cells come more often, because an activation was long a
    /// short time ago.
    pub(super) fn is_quick(&self, now: Nanos) -> bool {
        now < self.quick_until.load(Relaxed)
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn looks_come_quickly_after_a_push_and_then_slowly() {
        let mut plan = Plan::soon();
        let mut times = Vec::new();
        for _ in 0..17 {
            times.push(plan.interval(false) / 100_000);
            assert_eq!(Plan::from_word(plan.to_word()), plan);
            let next = plan.after_look();
            plan = if next == Plan::Nothing {
                plan.slower(Plan::soon())
            } else {
                next
            };
        }
        assert_eq!(
            times,
            [
                1, 2, 4, 8, 10, 10, 10, 10, 10, 10, 20, 40, 80, 160, 160, 160, 160
            ]
        );
    }

    #[test]
    fn looks_come_more_often_for_a_second_after_a_long_activation() {
        let word = PlanWord::default();
        word.note_activation(LONG - 1, 5);
        assert!(!word.is_quick(5), "the activation was not long");
        word.note_activation(LONG, 5);
        assert!(word.is_quick(4 + QUICK_FOR));
        assert!(!word.is_quick(5 + QUICK_FOR));
        let intervals = |is_quick| [10, 9, 8, 7, 1].map(|left| Plan::Soon(left).interval(is_quick));
        let micros = |micros: [u64; 5]| micros.map(|micros| micros * 1_000);
        assert_eq!(intervals(true), micros([100, 200, 250, 250, 250]));
        assert_eq!(intervals(false), micros([100, 200, 400, 800, 1_000]));
    }

    #[test]
    fn a_look_for_timers_can_wait() {
        let plan = Plan::for_timers();
        assert_eq!(Plan::from_word(plan.to_word()), plan);
        assert_eq!(plan.interval(false), 4 * INTERVAL);
        assert_eq!(plan.after_look(), Plan::Nothing);
        let next = plan.slower(plan);
        assert_eq!(next.interval(true), 8 * INTERVAL);
        assert!(next.is_too_late_for_cells(), "nobody has looked for cells");
        assert_eq!(plan.slower(Plan::Nothing), Plan::Nothing);
        assert!(plan.is_too_late_for_cells());
    }
}
