//! The measurement of turns by kind of message, in timed activations (runs of ready tasks).

use std::cell::{Cell, RefCell};

use super::clocking::{Clocking, TimeBy};
use super::messages::{MESSAGES_MAX, Measured, Messages};
use crate::world::Nanos;

/// Measures turns of the timed activations, and counts them by kind of message.
///
/// An activation may have hundreds of quick turns, and reading the clock twice takes longer than
/// such a turn. So each kind of task has an [`Allowance`] for measurements, which grows with the
/// time that tasks of the kind use. Until the allowance is used up, every turn is measured. After
/// that, a [`Clocking`] selects some of the turns.
///
/// The clock is read at the beginning and at the end of each timed activation, and at the end of
/// each measured turn. If no other turn has run after the latest reading, this reading is also the
/// beginning of the next measured turn. Otherwise, the clock is read once more when the measured
/// turn begins.
pub(crate) struct Gauge {
    clocking: Clocking,
    /// Total duration of the measured activations that have ended. The times that `clocking` gets
    /// are based on this sum, not on the clock. So `clocking` does not count the time between
    /// measured activations.
    inside: Cell<Nanos>,
    activation: Cell<Option<Activation>>,
    found: RefCell<Found>,
}

/// Time in nanoseconds that the tasks of a kind have used, minus [`Allowance::EACH`] for each turn
/// that was measured because of the allowance. While the allowance is not negative, every turn is
/// measured.
///
/// A slow message among quick messages increases the allowance so much that the quick messages do
/// not use it up before the next slow message. So all slow messages are measured.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Allowance(i64);

impl Allowance {
    /// Time that each measured turn subtracts from the allowance (the budget for measurements), in
    /// nanoseconds. Measuring a turn takes about a hundredth of this time.
    const EACH: i64 = 4_000;
    /// Maximum of the allowance (the budget for measurements), in nanoseconds. This maximum is
    /// enough to measure about 60,000 turns.
    const MAX: i64 = 1 << 28;

    /// Decodes an allowance (a budget for measurements) from an integer.
    pub(super) fn from_word(word: u64) -> Self {
        Self(word.cast_signed())
    }

    /// Encodes the allowance (a budget for measurements) as an integer.
    pub(super) fn word(self) -> u64 {
        self.0.cast_unsigned()
    }

    fn is_left(self) -> bool {
        self.0 >= 0
    }

    /// Returns the allowance (the budget for measurements) after an activation that lasted for
    /// `lasted` nanoseconds. In the activation, `used` turns were measured because of the
    /// allowance.
    #[must_use]
    fn after(self, lasted: Nanos, used: u32) -> Self {
        let lasted = i64::try_from(lasted).unwrap_or(i64::MAX);
        let more = lasted.saturating_sub(i64::from(used) * Self::EACH);
        Self(self.0.saturating_add(more).min(Self::MAX))
    }
}

/// The timed activation that is running now.
#[derive(Clone, Copy)]
struct Activation {
    began: Nanos,
    allowance: Allowance,
    /// Number of turns that were measured because of the allowance (the budget for measurements).
    used: u32,
    /// Latest reading of the clock, and the number of turns that the worker had run when the clock
    /// was read.
    read: (Nanos, u64),
    turn: Option<Turn>,
}

/// A turn that is being measured.
#[derive(Clone, Copy)]
struct Turn {
    kind: usize,
    began: Nanos,
    /// Number of turns that the worker ran before this turn.
    turns: u64,
    time_by: TimeBy,
}

/// Turns of the current activation, by kind of message. All kinds with an index of [`MESSAGES_MAX`]
/// or more share the last element.
struct Found {
    places: [Measured; MESSAGES_MAX + 1],
    /// Set of the places in which turns were counted. Bit `i` stands for place `i`.
    used: u64,
}

impl Gauge {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            clocking: Clocking::new(seed),
            inside: Cell::new(0),
            activation: Cell::new(None),
            found: RefCell::new(Found {
                places: [Measured::default(); MESSAGES_MAX + 1],
                used: 0,
            }),
        }
    }

    /// Records that the worker sleeps or pauses. The next turn is then measured, and fewer and
    /// fewer of the turns after it.
    pub(super) fn rested(&self) {
        self.clocking.rested();
    }

    /// Begins a timed activation. `turns` is the number of earlier turns of the worker. `allowance`
    /// is the budget for measurements of the task's kind.
    pub(super) fn begin(&self, began: Nanos, turns: u64, allowance: Allowance) {
        self.activation.set(Some(Activation {
            began,
            allowance,
            used: 0,
            read: (began, turns),
            turn: None,
        }));
    }

    /// Returns true if turns are measured in the current activation.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.activation.get().is_some()
    }

    /// Returns how many turns may pass before [`Gauge::turns_begin`] must be called again.
    pub(crate) fn turns_max(&self) -> u64 {
        match self.activation.get() {
            None => u64::MAX,
            Some(activation) if activation.allowance.is_left() => 1,
            Some(_) => self.clocking.untimed().max(1),
        }
    }

    /// Ends the measured turn, if there is one. `turns` is the number of turns of the worker so
    /// far.
    pub(crate) fn turn_ends(&self, turns: u64, now: impl FnOnce() -> Nanos) {
        let Some(mut activation) = self.activation.get() else {
            return;
        };
        // An activation that was refused has no turn.
        let ran = activation.turn.take().filter(|turn| turn.turns < turns);
        if let Some(turn) = ran {
            let ended = now();
            activation.read = (ended, turns);
            activation.used += u32::from(activation.allowance.is_left());
            self.count(activation.began, &turn, ended);
        }
        self.activation.set(Some(activation));
    }

    /// Begins `count` turns. If the first of these turns must be measured, begins to measure it. In
    /// this case, calls `kind`, which returns the kind of the turn's message. `turns` is the number
    /// of turns of the worker so far.
    pub(crate) fn turns_begin(
        &self,
        count: u64,
        turns: u64,
        now: impl FnOnce() -> Nanos,
        kind: impl FnOnce() -> usize,
    ) {
        let Some(activation) = self.activation.get() else {
            return;
        };
        let Some(time_by) = self.select(activation.allowance, count) else {
            return;
        };
        let (read, read_at) = activation.read;
        let began = if read_at == turns { read } else { now() };
        let turn = Turn {
            kind: kind(),
            began,
            turns,
            time_by,
        };
        self.activation.set(Some(Activation {
            read: (began, turns),
            turn: Some(turn),
            ..activation
        }));
    }

    /// Returns the reason why the first of the next `count` turns is measured. Returns `None` if
    /// this turn is not measured.
    fn select(&self, allowance: Allowance, count: u64) -> Option<TimeBy> {
        if allowance.is_left() {
            return Some(TimeBy::Kind);
        }
        if self.clocking.untimed() > 0 {
            self.clocking.skip(count);
            return None;
        }
        self.clocking.step().map(TimeBy::Gap)
    }

    /// Adds a measured turn. The activation of the turn began at `activation`, and the turn ended
    /// at `ended`.
    fn count(&self, activation: Nanos, turn: &Turn, ended: Nanos) {
        let inside = |time: Nanos| {
            let since = time.saturating_sub(activation);
            self.inside.get().saturating_add(since)
        };
        let busy = (self.clocking).timed(turn.time_by, inside(turn.began), inside(ended));
        let lasted = ended.saturating_sub(turn.began);
        let place = turn.kind.min(MESSAGES_MAX);
        let found = &mut *self.found.borrow_mut();
        found.used |= 1 << place;
        found.places[place].add(Measured {
            turns: turn.time_by.weight(),
            busy,
            longest: lasted,
        });
    }

    /// Records that the activation ended at `ended`, and adds its turns to `messages`. `turns` is
    /// the number of turns of the worker so far. The activation stands for `weight` activations
    /// with a total duration of `represents`. Returns the new allowance (the budget for
    /// measurements) of the kind of task.
    pub(super) fn end(
        &self,
        turns: u64,
        ended: Nanos,
        (weight, represents): (u64, Nanos),
        messages: &Messages,
    ) -> Option<Allowance> {
        self.turn_ends(turns, || ended);
        let activation = self.activation.take()?;
        let lasted = ended.saturating_sub(activation.began);
        self.inside.set(self.inside.get().saturating_add(lasted));
        let found = &mut *self.found.borrow_mut();
        while found.used != 0 {
            let place = found.used.trailing_zeros() as usize;
            found.used &= found.used - 1;
            let measured = std::mem::take(&mut found.places[place]);
            messages.add(
                place,
                Measured {
                    turns: measured.turns.saturating_mul(weight),
                    busy: scaled(measured.busy, represents, lasted),
                    longest: measured.longest,
                },
            );
        }
        Some(activation.allowance.after(lasted, activation.used))
    }
}

/// Multiplies `time` by the ratio of `represents` to `lasted`.
fn scaled(time: Nanos, represents: Nanos, lasted: Nanos) -> Nanos {
    let scaled = u128::from(time) * u128::from(represents) / u128::from(lasted.max(1));
    Nanos::try_from(scaled).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test bench: a gauge (which measures turns) with a simulated clock.
    struct Simulated {
        gauge: Gauge,
        messages: Messages,
        allowance: Allowance,
        now: Nanos,
        turns: u64,
        /// Number of times that the clock was read.
        reads: Cell<u64>,
    }

    impl Simulated {
        fn new() -> Self {
            Self {
                gauge: Gauge::new(7),
                messages: Messages::new(&["quick", "slow"]),
                allowance: Allowance::default(),
                now: 0,
                turns: 0,
                reads: Cell::new(0),
            }
        }

        fn read(&self) -> Nanos {
            self.reads.set(self.reads.get() + 1);
            self.now
        }

        /// Runs an activation whose turns have the given kinds and durations.
        fn run(&mut self, mut turns: impl ExactSizeIterator<Item = (usize, Nanos)>) {
            let began = self.now;
            self.gauge.begin(began, self.turns, self.allowance);
            let mut unmeasured = 0;
            while let Some((kind, lasts)) = turns.next() {
                if unmeasured == 0 {
                    self.gauge.turn_ends(self.turns, || self.read());
                    let count = self.gauge.turns_max().min(turns.len() as u64 + 1);
                    let now = || self.read();
                    self.gauge.turns_begin(count, self.turns, now, || kind);
                    unmeasured = count;
                }
                unmeasured -= 1;
                self.now += lasts;
                self.turns += 1;
            }
            let represents = (1, self.now - began);
            let ended = (self.gauge).end(self.turns, self.now, represents, &self.messages);
            self.allowance = ended.expect("it has begun");
        }

        /// Returns how many turns of the given kind were counted, and their total duration.
        fn found(&self, name: &str) -> (u64, Nanos) {
            let mut samples = Vec::new();
            self.messages.add_to(&mut samples);
            let mut samples = samples.iter().filter(|sample| sample.name == name);
            samples
                .next()
                .map_or((0, 0), |sample| (sample.turns, sample.busy))
        }
    }

    #[test]
    fn all_turns_of_4_microseconds_on_average_are_measured() {
        let mut simulated = Simulated::new();
        for _ in 0..1_000 {
            simulated.run([(1, 7_900), (0, 200)].into_iter());
            simulated.run([(1, 8_000)].into_iter());
            simulated.run([(0, 100)].into_iter());
        }
        assert_eq!(simulated.found("slow"), (2_000, 15_900_000));
        assert_eq!(simulated.found("quick"), (2_000, 300_000));
    }

    #[test]
    fn quick_turns_are_estimated_with_few_readings_of_the_clock() {
        let mut simulated = Simulated::new();
        let turns = (0..200).map(|turn| if turn % 4 == 3 { (1, 30) } else { (0, 10) });
        for _ in 0..2_000 {
            simulated.run(turns.clone());
        }
        let near = |found: u64, truth: u64| found.abs_diff(truth) * 10 <= truth;
        let (quick, slow) = (simulated.found("quick"), simulated.found("slow"));
        assert!(
            near(quick.0, 300_000) && near(quick.1, 3_000_000),
            "{quick:?}"
        );
        assert!(near(slow.0, 100_000) && near(slow.1, 3_000_000), "{slow:?}");
        // A reading takes about 25 ns, so this is 2 % of the time.
        let reads = simulated.reads.get();
        assert!(reads * 25 * 100 <= simulated.now * 2, "{reads}");
    }

    #[test]
    fn slow_turns_among_thousands_of_quick_ones_are_all_measured() {
        let mut simulated = Simulated::new();
        for round in 0..2_000 {
            let is_slow = |turn| turn == 100 && round % 50 == 0;
            simulated.run((0..150).map(|turn| match turn {
                turn if is_slow(turn) => (1, 30_000_000),
                _ => (0, 100),
            }));
        }
        // Only the first one comes before the allowance is large enough.
        let (turns, busy) = simulated.found("slow");
        assert!((39..=40).contains(&turns), "{turns}");
        assert_eq!(busy, turns * 30_000_000);
    }
}
