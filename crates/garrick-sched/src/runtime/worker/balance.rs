//! Rules by which a worker gives ready cells (tasks) to other workers, takes cells, and interrupts
//! a running cell.
//!
//! There are four rules, and each rule is a separate type. The rules rarely read the clock:
//! - [`SharedWait`]: a busy worker takes cells from the shared queue after some activations or some
//!   time.
//! - [`Kept`]: while another worker is idle, a worker keeps one cell in addition to the cell that
//!   it runs next. The kept cell is given away if the two cells send each other no messages.
//! - [`Patience`]: cells whose turns take less time than a message to another worker takes are
//!   given only to a worker that has been idle for a long time.
//! - [`Pace`]: about once a millisecond, a worker measures how long its cells wait for each other.
//!   If its cells wait longer than the cells of the average worker, the worker gives some of them
//!   away. An activation handles fewer messages if the messages take a long time.

use std::cell::Cell;

use crate::world::Nanos;

/// Number of activations after which a worker that has other ready cells takes a cell from the
/// shared queue.
const CLAIM_EVERY: u32 = if cfg!(garrick_loom) { 2 } else { 16 };
/// Limit for the time that cells wait in the shared queue. If cells have waited longer, a worker
/// takes them at its next read of the clock.
const SHARED_WAIT_MAX: Nanos = 50_000;
/// Maximum number of cells that a worker takes from the shared queue at a time.
const CLAIMED_MAX: usize = 64;

/// Time after which two cells on one worker are separated, if they are always ready and do not wake
/// each other.
const KEPT_MAX: Nanos = 50_000;
/// Threshold for the duration of an activation. If activations take longer, each cell should have
/// its own core, even if the cells wake each other.
const LONG: Nanos = 20_000;

/// Turns are called *fine* if they take less than this time. A message between two workers takes
/// about as long, in total on both workers.
const FINE: Nanos = 250;
/// Time for which another worker must be idle before this worker gives it cells whose turns are
/// short (*fine*).
const PATIENCE: Nanos = 10_000_000;
/// Time for which another worker must be idle before this worker gives it cells, if it takes longer
/// than `ROUND_MIN` to run each ready cell of this worker once.
const PATIENCE_LONG_ROUND: Nanos = 100_000;
/// Number of checks between two reads of the clock, while another worker is idle and turns are
/// short (*fine*).
const PATIENT_EVERY: u32 = 64;

/// Target for the time between two reads of the clock, within the limits `TURNS_MIN` and
/// `TURNS_MAX`.
const LOOK_AFTER: Nanos = 1_000_000;
/// Time over which a worker measures the duration of its activations. The operating system runs a
/// thread for several milliseconds at a time, which would influence shorter measurements too much.
const BALANCE_AFTER: Nanos = 10_000_000;
/// Minimum number of turns between two reads of the clock. `TURNS_MAX` is the maximum.
const TURNS_MIN: u64 = 16;
const TURNS_MAX: u64 = 2_048;
/// Target for the maximum duration of an activation, if each of its turns takes the average time.
const ACTIVATION_MAX: Nanos = 100_000;
/// Maximum number of messages that an activation handles before other cells run.
const MESSAGES_MAX: u32 = 256;
/// Moving ready cells to other workers is useful only if a worker needs at least this time to run
/// each of its ready cells once.
const ROUND_MIN: Nanos = 100_000;

/// Measures how long cells wait in the shared queue. Used by a worker that has other ready cells.
#[derive(Default)]
pub(crate) struct SharedWait {
    /// Number of checks since the worker last took a cell from the shared queue.
    looks: Cell<u32>,
    /// Time of the second check of the shared queue. The first check does not read the clock,
    /// because a worker that soon has no other work takes a cell before the second check.
    since: Cell<Nanos>,
    /// True if this worker has pushed cells to the shared queue, and other workers have not had
    /// time to take them yet.
    gave: Cell<bool>,
}

impl SharedWait {
    /// Records that the shared queue is empty.
    #[inline]
    pub(crate) fn is_over(&self) {
        self.looks.set(0);
        self.gave.set(false);
    }

    /// Records that the worker takes a cell from the shared queue because it has no ready cells.
    #[inline]
    pub(crate) fn claims(&self) {
        self.looks.set(0);
    }

    /// Records that the other workers have had time to take the cells that this worker gave away.
    pub(crate) fn others_had_time(&self) {
        self.gave.set(false);
    }

    /// Records that the worker has pushed cells to the shared queue for other workers.
    pub(crate) fn gave(&self) {
        self.gave.set(true);
    }

    /// Records a check of the shared queue, which has `queued` cells. Returns the number of cells
    /// that this worker should take now. `workers` is the total number of workers.
    pub(crate) fn look(&self, queued: usize, workers: usize, now: impl Fn() -> Nanos) -> usize {
        if self.gave.get() {
            return 0;
        }
        let looks = self.looks.get() + 1;
        self.looks.set(looks);
        if looks.is_multiple_of(CLAIM_EVERY) {
            self.looks.set(0);
            return 1;
        }
        if looks == 2 {
            self.since.set(now());
        } else if looks > 2
            && looks.is_power_of_two()
            && now().saturating_sub(self.since.get()) > SHARED_WAIT_MAX
        {
            // The remaining cells have waited for the same time: more of them are due at the next
            // check.
            self.looks.set(3);
            return queued.div_ceil(workers).min(CLAIMED_MAX);
        }
        0
    }
}

/// Measures how long a worker has kept a ready cell in addition to the cell that it runs next,
/// while another worker is idle.
#[derive(Default)]
pub(crate) struct Kept {
    /// Number of checks since the worker began to keep an additional cell.
    looks: Cell<u32>,
    /// Sequence number of the turn in which the worker made its first check since it began to keep
    /// an additional cell. `since` is the time of this check.
    turn: Cell<u64>,
    since: Cell<Nanos>,
}

impl Kept {
    /// Records that this worker keeps no additional cell, or that no other worker is idle.
    #[inline]
    pub(crate) fn is_over(&self) {
        self.looks.set(0);
    }

    /// Returns true if the worker should now give away the ready cell that it keeps in addition to
    /// the next one. `turn` is the sequence number of the current turn. `woke` is the sequence
    /// number of the last turn that has woken a cell.
    pub(crate) fn look(&self, turn: u64, woke: u64, now: impl Fn() -> Nanos) -> bool {
        let looks = self.looks.get() + 1;
        self.looks.set(looks);
        if looks == 1 {
            self.turn.set(turn);
            self.since.set(now());
            return false;
        }
        if !looks.is_power_of_two() && !looks.is_multiple_of(CLAIM_EVERY) {
            return false;
        }
        let waited = now().saturating_sub(self.since.get());
        if woke > self.turn.get() {
            // The two cells talk to each other.
            self.looks.set(0);
            return waited / u64::from(looks) > LONG;
        }
        waited > KEPT_MAX
    }
}

/// Measures how long another worker has been idle without a break, while this worker could give
/// cells to it. Used while the turns of these cells are short (*fine*).
#[derive(Default)]
pub(crate) struct Patience {
    /// Number of consecutive checks that have found the other worker idle.
    looks: Cell<u32>,
    /// Number of times that threads had begun to run a worker, counted until the latest check.
    /// `since` is the time of the first check that `looks` counts.
    sits: Cell<usize>,
    since: Cell<Nanos>,
}

impl Patience {
    /// Returns true if cells should be given away now. `sits` is the number of times that threads
    /// have begun to run a worker. `round` is the time it takes to run each ready cell once.
    pub(crate) fn look(&self, sits: usize, round: Nanos, now: impl Fn() -> Nanos) -> bool {
        let looks = self.looks.get() + 1;
        self.looks.set(looks);
        if looks == 1 || self.sits.replace(sits) != sits {
            self.looks.set(1);
            self.since.set(now());
            return false;
        }
        if !looks.is_power_of_two() && !looks.is_multiple_of(PATIENT_EVERY) {
            return false;
        }
        let waited = now().saturating_sub(self.since.get());
        let max = if round > ROUND_MIN {
            PATIENCE_LONG_ROUND
        } else {
            PATIENCE
        };
        // Turns may have become long since the last measurement.
        let is_over = waited > max || waited / u64::from(looks) > LONG;
        if is_over {
            self.looks.set(0);
        }
        is_over
    }
}

/// Measures the pace of a worker: how long its turns and activations take.
pub(crate) struct Pace {
    /// Average duration of a turn, measured at the last read of the clock. `lately` is the average
    /// duration of an activation, measured at the same time.
    turn: Cell<Nanos>,
    lately: Cell<Nanos>,
    /// Number of activations at the last read of the clock.
    picks: Cell<u32>,
    /// Number of turns at the last read of the clock. `looked` is the time that was read, or `None`
    /// if the worker has slept after that.
    turns: Cell<u64>,
    looked: Cell<Option<Nanos>>,
    /// Total number of activations when the average duration of an activation was last measured.
    /// `counted` is the moment of this measurement.
    activations: Cell<u32>,
    counted: Cell<Nanos>,
    /// Number of turns until the next read of the clock.
    stride: Cell<u64>,
    /// Maximum number of messages that an activation handles. This is 1 if `is_one_by_one` is true,
    /// and otherwise `fitting`.
    messages_max: Cell<u32>,
    fitting: Cell<u32>,
    is_one_by_one: Cell<bool>,
    /// Average duration of an activation. Set by each measurement, and removed when it is used.
    activation: Cell<Option<Nanos>>,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            turn: Cell::new(Nanos::MAX),
            lately: Cell::new(0),
            picks: Cell::new(0),
            turns: Cell::new(0),
            looked: Cell::new(None),
            activations: Cell::new(0),
            counted: Cell::new(0),
            stride: Cell::new(TURNS_MIN),
            messages_max: Cell::new(MESSAGES_MAX),
            fitting: Cell::new(MESSAGES_MAX),
            is_one_by_one: Cell::new(false),
            activation: Cell::new(None),
        }
    }

    /// Returns the maximum number of messages that an activation handles before other cells run.
    #[inline]
    pub(crate) fn messages_max(&self) -> u32 {
        self.messages_max.get()
    }

    /// Returns true if recent turns were *fine*, which means that they were shorter than the cost
    /// of a message between two workers.
    #[inline]
    pub(crate) fn is_fine(&self) -> bool {
        self.turn.get() < FINE
    }

    /// Marks turns as short (fine) in a loom model, which has no clock to measure them.
    #[cfg(all(test, garrick_loom))]
    pub(crate) fn be_fine(&self) {
        self.turn.set(0);
    }

    /// Returns the expected duration of `activations` activations, according to recent activations.
    pub(crate) fn round(&self, activations: usize) -> Nanos {
        self.lately.get().saturating_mul(activations as u64)
    }

    /// Returns true if it probably takes longer than [`ROUND_MIN`] to run `ready` cells once each.
    pub(crate) fn is_long_round(&self, ready: usize) -> bool {
        self.round(ready) > ROUND_MIN
    }

    /// Limits each activation to one message if `is_so` is true. Removes this limit if `is_so` is
    /// false.
    pub(crate) fn set_one_by_one(&self, is_so: bool) {
        self.is_one_by_one.set(is_so);
        self.messages_max
            .set(if is_so { 1 } else { self.fitting.get() });
    }

    /// Records that the worker has been idle.
    #[inline]
    pub(crate) fn rests(&self) {
        self.looked.set(None);
        self.activation.set(None);
        self.stride.set(TURNS_MIN);
    }

    /// Returns true if it is time to read the clock.
    #[inline]
    pub(crate) fn wants_look(&self, turns: u64) -> bool {
        turns.wrapping_sub(self.turns.get()) >= self.stride.get()
    }

    /// Removes and returns the average duration of an activation, once after each measurement.
    #[inline]
    pub(crate) fn take_activation(&self) -> Option<Nanos> {
        self.activation.take()
    }

    /// Records a read of the clock, with the numbers of turns and activations so far.
    pub(crate) fn look(&self, turns: u64, activations: u32, now: Nanos) {
        let taken = turns.wrapping_sub(self.turns.get()).max(1);
        self.turns.set(turns);
        let picked = activations.wrapping_sub(self.picks.replace(activations));
        let Some(since) = self.looked.replace(Some(now)) else {
            self.count_from(activations, now);
            return;
        };
        let elapsed = now.saturating_sub(since);
        let turn = (elapsed / taken).max(1);
        self.turn.set(turn);
        self.lately.set(elapsed / u64::from(picked.max(1)));
        let fitting = (ACTIVATION_MAX / turn).clamp(1, u64::from(MESSAGES_MAX)) as u32;
        self.fitting.set(fitting);
        if !self.is_one_by_one.get() {
            self.messages_max.set(fitting);
        }
        let stride = if elapsed < LOOK_AFTER {
            2 * self.stride.get()
        } else {
            LOOK_AFTER / turn
        };
        self.stride.set(stride.clamp(TURNS_MIN, TURNS_MAX));
        let counted = now.saturating_sub(self.counted.get());
        if counted >= BALANCE_AFTER {
            let activated = activations.wrapping_sub(self.activations.get()).max(1);
            self.activation.set(Some(counted / u64::from(activated)));
            self.count_from(activations, now);
        }
    }

    fn count_from(&self, activations: u32, now: Nanos) {
        self.activations.set(activations);
        self.counted.set(now);
    }
}

/// Returns how many of its `ready` cells a worker should give away. `round` is the time it takes to
/// run each of these cells once, and `average` is the average of this time over all workers. If
/// `round` exceeds the average by more than a quarter, returns the number of cells that account for
/// the excess.
pub(crate) fn surplus(round: Nanos, average: Nanos, ready: usize) -> usize {
    if round < ROUND_MIN || round <= average.saturating_add(average / 4) {
        return 0;
    }
    let share = u128::from(round - average) * ready as u128 / u128::from(round);
    share as usize
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    /// Calls `look` until it tells the worker to take cells. Returns the number of calls, and the
    /// number of cells to take. The clock advances by `each` between two calls.
    fn looks_until_claim(each: Nanos, queued: usize, workers: usize) -> (u32, usize) {
        let (wait, now) = (SharedWait::default(), Cell::new(0));
        for look in 1.. {
            let claimed = wait.look(queued, workers, || now.get());
            if claimed > 0 {
                return (look, claimed);
            }
            now.set(now.get() + each);
        }
        unreachable!("it claims after some looks")
    }

    #[test]
    fn what_is_shared_is_claimed_by_age() {
        // Short activations: one cell for some of them.
        assert_eq!(looks_until_claim(10, 100, 2), (CLAIM_EVERY, 1));
        // Long ones: at the fourth look, as many as there are for each worker.
        assert_eq!(looks_until_claim(1_000_000, 100, 2), (4, 50));
        assert_eq!(looks_until_claim(1_000_000, 1_000, 2), (4, CLAIMED_MAX));
        assert_eq!(looks_until_claim(10_000, 3, 2), (8, 2));
    }

    #[test]
    fn who_gave_does_not_take_it_back() {
        let wait = SharedWait::default();
        wait.gave();
        assert!((0..1_000).all(|now| wait.look(10, 2, || now * 1_000_000) == 0));
        wait.is_over();
        assert!((0..5).any(|now| wait.look(10, 2, || now * 1_000_000) > 0));
    }

    /// Returns the number of calls to `look` after which a kept cell is given away. `each` is the
    /// time between two calls. If `wakes` is true, each turn wakes a cell.
    fn kept_for(each: Nanos, wakes: bool) -> Option<u64> {
        let kept = Kept::default();
        (1..100_000).find(|&look| {
            let woke = if wakes { look } else { 0 };
            kept.look(look, woke, || look * each)
        })
    }

    #[test]
    fn those_who_talk_stay_together_and_others_part() {
        assert_eq!(kept_for(100, true), None);
        assert_eq!(kept_for(1_000_000, true), Some(2));
        assert_eq!(kept_for(1_000_000, false), Some(2));
        let looks = kept_for(100, false).unwrap();
        assert!((500..600).contains(&looks), "{looks}");
    }

    /// Returns the number of calls to `look` after which cells with short turns are given away.
    /// `each` is the time between two calls, and `round` is the time it takes to run each cell
    /// once. At each call for which `sits` returns true, another worker is woken.
    fn patient_for(each: Nanos, round: Nanos, sits: impl Fn(u64) -> bool) -> Option<u64> {
        let (patience, mut sat) = (Patience::default(), 0);
        (1..100_000).find(|&look| {
            sat += usize::from(sits(look));
            patience.look(sat, round, || look * each)
        })
    }

    #[test]
    fn fine_turns_go_to_a_worker_that_is_idle_for_long() {
        let never = |_| false;
        let looks = patient_for(1_000, ROUND_MIN, never).unwrap();
        assert!((10_001..10_100).contains(&looks), "{looks}");
        // Sooner where many wait.
        let looks = patient_for(1_000, ROUND_MIN + 1, never).unwrap();
        assert!((101..200).contains(&looks), "{looks}");
        // At once where turns have become long.
        assert_eq!(patient_for(1_000_000, 0, never), Some(2));
    }

    #[test]
    fn a_worker_that_has_something_to_do_now_and_then_is_not_idle_for_long() {
        let often = |look: u64| look.is_multiple_of(5_000);
        assert_eq!(patient_for(1_000, 0, often), None);
        let once = |look| look == 5_000;
        let looks = patient_for(1_000, 0, once).unwrap();
        assert!((15_001..15_100).contains(&looks), "{looks}");
    }

    #[test]
    fn turns_are_fine_once_it_was_found_out() {
        let pace = Pace::new();
        assert!(!pace.is_fine());
        pace.look(0, 0, 0);
        assert!(!pace.is_fine());
        // Ten messages an activation.
        pace.look(1_000, 100, 1_000 * (FINE - 1));
        assert!(pace.is_fine());
        assert_eq!(pace.round(3), 3 * 10 * (FINE - 1));
        assert!(!pace.is_long_round(3));
        assert!(pace.is_long_round(1_000));
        pace.look(2_000, 200, 1_000 * (FINE - 1) + 1_000 * FINE);
        assert!(!pace.is_fine());
    }

    #[test]
    fn messages_of_an_activation_are_as_many_as_its_time_allows() {
        let pace = Pace::new();
        let (mut turns, mut now) = (0, 0);
        let mut work = |turn: Nanos, looks: u32| {
            for _ in 0..looks {
                while !pace.wants_look(turns) {
                    turns += 1;
                    now += turn;
                }
                pace.look(turns, turns as u32, now);
            }
            (pace.messages_max(), pace.stride.get())
        };
        assert_eq!(work(5, 20), (MESSAGES_MAX, TURNS_MAX));
        assert_eq!(work(100_000, 20), (1, TURNS_MIN));
        assert_eq!(work(10_000, 20), (10, 100));
        assert_eq!(work(5, 20), (MESSAGES_MAX, TURNS_MAX));
    }

    #[test]
    fn a_rest_is_no_work() {
        let pace = Pace::new();
        pace.look(16, 16, 1_000);
        assert_eq!(pace.take_activation(), None);
        pace.look(32, 24, 17_000);
        assert_eq!(pace.take_activation(), None);
        pace.look(48, 32, 1_000 + 2 * BALANCE_AFTER);
        assert_eq!(pace.take_activation(), Some(BALANCE_AFTER / 8));
        assert_eq!(pace.take_activation(), None);
        pace.rests();
        pace.look(48, 48, 1_000_000_000);
        assert_eq!(pace.take_activation(), None);
    }

    #[test]
    fn who_has_more_than_the_average_gives_it() {
        assert_eq!(surplus(1_000_000, 500_000, 900), 450);
        assert_eq!(surplus(1_000_000, 900_000, 900), 0);
        assert_eq!(surplus(ROUND_MIN - 1, 0, 900), 0);
        assert_eq!(surplus(2_000_000, 1_500_000, 2), 0);
        assert_eq!(surplus(Nanos::MAX, 0, usize::MAX), usize::MAX);
        assert_eq!(surplus(Nanos::MAX, Nanos::MAX, 10), 0);
    }
}
