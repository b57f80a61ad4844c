//! What a stage waits for.
//!
//! A [`Wait`] is a plain value: a few conditions, each naming a channel by its number. Whoever evaluates it
//! brings the graph's channels along, so that a wait needs neither borrows nor counted references.

mod describe;

use std::sync::Arc;
use std::time::Duration;

use garrick_core::gate::CLOSE_ONLY;
use garrick_sched::Nanos;

use crate::channel::{Line, Receiver, Sender};
use crate::post::StageId;

/// How many conditions a [`Wait`] can combine.
pub const CONDITIONS_MAX: usize = 6;

/// The channels of a graph, by their numbers.
pub(crate) type Lines = Arc<[Arc<Line>]>;

/// What a stage waits for before its next step.
///
/// Conditions on channels, timers, and combinations of at most [`CONDITIONS_MAX`] of them; `and` binds
/// its whole right side, as in `a.or(b).and(c)`, which is `(a or b) and c`.
///
/// A closed channel counts as ready: a receiver's when the sender is gone, with or without values left, and
/// a sender's when the receiver is gone. If a channel has nothing more to give, or nobody to give to, all of the
/// wait is over, whatever else it asked for: the next step should end the stage, or at least leave that
/// channel out of its waits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use garrick_flow::{Graph, Wait};
///
/// let mut graph = Graph::new();
/// let (tx, rx) = graph.channel::<u64>(64)?;
/// let wait = Wait::readable(&rx, 32).or(Wait::timer(Duration::from_millis(5)));
/// # let _ = (tx, wait);
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a step returns what it waits for"]
pub struct Wait(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The next step may follow at once.
    Again,
    /// There is no next step.
    Done,
    /// It follows when all conditions of one of the terms are met.
    For(Terms),
}

/// Terms of conditions: "or" between the terms, "and" inside.
#[derive(Debug, Clone, Copy)]
struct Terms {
    /// The conditions, term after term; the first `len` count.
    conditions: [Condition; CONDITIONS_MAX],
    /// Bit `i` says that condition `i` is the first of its term.
    firsts: u8,
    /// How many conditions there are.
    len: u8,
}

#[derive(Debug, Clone, Copy)]
enum Condition {
    /// So many values can be taken.
    Readable { channel: u32, count: u64 },
    /// So many slots are free.
    Free { channel: u32, count: u64 },
    /// So much time has passed since the step.
    After(Duration),
    /// It is so late.
    Until(Nanos),
}

/// How a condition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    No,
    Yes,
    /// Its channel is over, and with it the whole wait.
    Over,
}

/// What a wait comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The next step is due.
    Due,
    /// It is not; the earliest time that the wait asks for, if any.
    NotYet(Option<Nanos>),
    /// There is none.
    Done,
}

impl Wait {
    /// Waits until `count` values can be taken, but no more than the channel holds, or the sender is gone.
    pub fn readable<T>(receiver: &Receiver<T>, count: usize) -> Self {
        let line = receiver.line();
        let count = (count as u64).clamp(1, line.capacity);
        Self::of(Condition::Readable {
            channel: line.id,
            count,
        })
    }

    /// Waits until `count` slots are free, but no more than the channel has, or the receiver is gone.
    pub fn free<T>(sender: &Sender<T>, count: usize) -> Self {
        let line = sender.line();
        let count = (count as u64).clamp(1, line.capacity);
        Self::of(Condition::Free {
            channel: line.id,
            count,
        })
    }

    /// Waits for so long, counted from the end of the step.
    pub fn timer(delay: Duration) -> Self {
        Self::of(Condition::After(delay))
    }

    /// Waits until [`Cx::now`](crate::Cx::now) is `deadline`.
    pub fn until(deadline: Nanos) -> Self {
        Self::of(Condition::Until(deadline))
    }

    /// Waits for nothing: the others of the team, and whoever is awaited by them, get their turn, and then
    /// the next step follows.
    pub fn again() -> Self {
        Self(Kind::Again)
    }

    /// Ends the stage: it is dropped, and its channel ends with it.
    pub fn done() -> Self {
        Self(Kind::Done)
    }

    /// Waits for both.
    ///
    /// # Panics
    ///
    /// If that makes more than [`CONDITIONS_MAX`] conditions; one that is combined with several others
    /// counts as often.
    #[track_caller]
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Kind::Done, _) | (_, Kind::Done) => Self::done(),
            (Kind::Again, rest) | (rest, Kind::Again) => Self(rest),
            (Kind::For(left), Kind::For(right)) => {
                let mut both = Terms::NONE;
                for left in left.terms() {
                    for right in right.terms() {
                        both.push_term(left.iter().chain(right));
                    }
                }
                Self(Kind::For(both))
            }
        }
    }

    /// Waits for either.
    ///
    /// # Panics
    ///
    /// If that makes more than [`CONDITIONS_MAX`] conditions.
    #[track_caller]
    pub fn or(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Kind::Done, _) | (_, Kind::Done) => Self::done(),
            (Kind::Again, _) | (_, Kind::Again) => Self::again(),
            (Kind::For(mut either), Kind::For(right)) => {
                right.terms().for_each(|term| either.push_term(term.iter()));
                Self(Kind::For(either))
            }
        }
    }

    fn of(condition: Condition) -> Self {
        let mut terms = Terms::NONE;
        terms.push_term([&condition].into_iter());
        Self(Kind::For(terms))
    }

    /// Counts the timers from `now()`, which is asked for only if there are any.
    pub(crate) fn begin(&mut self, now: impl Fn() -> Nanos) {
        let Kind::For(terms) = &mut self.0 else {
            return;
        };
        for condition in terms.used_mut() {
            if let Condition::After(delay) = *condition {
                let delay = Nanos::try_from(delay.as_nanos()).unwrap_or(Nanos::MAX);
                *condition = Condition::Until(now().saturating_add(delay));
            }
        }
    }

    /// Looks whether the next step is due.
    pub(crate) fn look(&self, lines: &[Arc<Line>], now: impl Fn() -> Nanos) -> Verdict {
        let terms = match &self.0 {
            Kind::Again => return Verdict::Due,
            Kind::Done => return Verdict::Done,
            Kind::For(terms) => terms,
        };
        let mut earliest = None;
        for term in terms.terms() {
            let mut unmet = false;
            for condition in term {
                match condition.look(lines, &now) {
                    Met::Yes => {}
                    Met::Over => return Verdict::Due,
                    Met::No => {
                        unmet = true;
                        earliest = condition.sooner(earliest);
                    }
                }
            }
            if !unmet {
                return Verdict::Due;
            }
        }
        Verdict::NotYet(earliest)
    }

    /// Asks all its channels to wake `stage`. Look once more afterwards.
    pub(crate) fn arm(&self, lines: &[Arc<Line>], stage: StageId) {
        if let Kind::For(terms) = &self.0 {
            terms
                .used()
                .iter()
                .for_each(|condition| condition.arm(lines, stage));
        }
    }

    /// The stage rests: counts that at each channel that it waits for.
    pub(crate) fn count_stalls(&self, lines: &[Arc<Line>]) {
        if let Kind::For(terms) = &self.0 {
            for condition in terms.used() {
                if let Some((channel, side)) = condition.end()
                    && condition.look(lines, &|| 0) == Met::No
                {
                    lines[channel as usize].stalled(side);
                }
            }
        }
    }
}

impl Terms {
    const NONE: Self = Self {
        conditions: [Condition::Until(0); CONDITIONS_MAX],
        firsts: 0,
        len: 0,
    };

    fn used(&self) -> &[Condition] {
        &self.conditions[..self.len.into()]
    }

    fn used_mut(&mut self) -> &mut [Condition] {
        &mut self.conditions[..self.len.into()]
    }

    fn terms(&self) -> impl Iterator<Item = &[Condition]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let used = self.used();
            if start == used.len() {
                return None;
            }
            let next = (start + 1..used.len()).find(|index| self.firsts >> index & 1 == 1);
            let end = next.unwrap_or(used.len());
            let term = &used[start..end];
            start = end;
            Some(term)
        })
    }

    #[track_caller]
    fn push_term<'a>(&mut self, term: impl Iterator<Item = &'a Condition>) {
        self.firsts |= 1 << self.len;
        for condition in term {
            let index = usize::from(self.len);
            assert!(
                index < CONDITIONS_MAX,
                "a wait combines {CONDITIONS_MAX} conditions at most"
            );
            self.conditions[index] = *condition;
            self.len += 1;
        }
    }
}

impl Condition {
    fn look(&self, lines: &[Arc<Line>], now: &impl Fn() -> Nanos) -> Met {
        let met = match *self {
            Self::Readable { channel, count } => {
                let line = &lines[channel as usize];
                // In this order: if it is closed, the values seen afterwards are the last ones.
                let closed = line.sent.is_closed();
                let readable = line.readable();
                if closed && readable == 0 {
                    return Met::Over;
                }
                closed || readable >= count
            }
            Self::Free { channel, count } => {
                let line = &lines[channel as usize];
                if line.taken.is_closed() {
                    return Met::Over;
                }
                line.capacity - line.readable() >= count
            }
            Self::After(_) => false,
            Self::Until(deadline) => now() >= deadline,
        };
        if met { Met::Yes } else { Met::No }
    }

    fn arm(&self, lines: &[Arc<Line>], stage: StageId) {
        let (moving, target) = match *self {
            Self::Readable { channel, count } => {
                let line = &lines[channel as usize];
                line.rests_here(1);
                (&line.sent, line.taken.count() + count)
            }
            Self::Free { channel, count } => {
                let line = &lines[channel as usize];
                line.rests_here(0);
                // What is free is `taken + capacity - sent`; a target below 0 is reached.
                (
                    &line.taken,
                    (line.sent.count() + count).saturating_sub(line.capacity),
                )
            }
            Self::After(_) | Self::Until(_) => return,
        };
        // What is reached already need not wake us again, only its close.
        let reached = moving.count() >= target;
        moving.arm(if reached { CLOSE_ONLY } else { target }, stage);
    }

    /// The channel that it is about, and the side of it that waits: 0 the sender's, 1 the receiver's.
    fn end(&self) -> Option<(u32, usize)> {
        match *self {
            Self::Free { channel, .. } => Some((channel, 0)),
            Self::Readable { channel, .. } => Some((channel, 1)),
            Self::After(_) | Self::Until(_) => None,
        }
    }

    /// The sooner of `earliest` and the time that this waits for, if it does.
    fn sooner(&self, earliest: Option<Nanos>) -> Option<Nanos> {
        match *self {
            Self::Until(deadline) => Some(earliest.map_or(deadline, |time| time.min(deadline))),
            _ => earliest,
        }
    }
}
