//! What a stage waits for.
//!
//! A [`Wait`] is a plain value: a few conditions, each naming a channel by its number. Whoever evaluates it
//! brings the graph's channels along, so that a wait needs neither borrows nor counted references. The channels
//! of a bundle have numbers that follow one another, so that one condition names all of them.

mod condition;
mod terms;

mod describe;

use std::sync::Arc;
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use condition::Condition;
use terms::Terms;

use crate::channel::{Line, Met, Receiver, Receivers, Sender, Senders, Side};
use crate::post::StageId;

/// How many conditions a [`Wait`] can combine.
pub const CONDITIONS_MAX: usize = 6;

/// The channels of a graph, by their numbers.
pub(crate) type Lines = Arc<[Arc<Line>]>;

/// What a stage waits for before its next step.
///
/// Conditions on channels, or on a bundle of them, which is one, timers, and combinations of at most
/// [`CONDITIONS_MAX`] of them; `and` binds
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
        Self::end(Side::Receiver, receiver.line(), count)
    }

    /// Waits until `count` slots are free, but no more than the channel has, or the receiver is gone.
    pub fn free<T>(sender: &Sender<T>, count: usize) -> Self {
        Self::end(Side::Sender, sender.line(), count)
    }

    /// Waits until one of the bundle's channels is [`readable`](Self::readable).
    ///
    /// For this and all other waits over a bundle: it is one condition, however many channels there are. A channel
    /// that is over, as above, does not count any more; the wait is over when all of them are.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::testing::{Seen, StageDriver};
    /// use garrick_flow::{Cx, Graph, Wait};
    ///
    /// let mut graph = Graph::new();
    /// let (mut senders, receivers) = graph.bundle::<u8>(10, 16)?;
    /// let wait = Wait::any_readable(&receivers, 2);
    /// let mut stage = StageDriver::new(&graph, move |_: &mut Cx<'_>| wait);
    /// assert_eq!(stage.step(), Seen::Waits);
    ///
    /// senders[7].push_slice(&[1, 2]);
    /// assert_eq!(stage.look(), Seen::Ready);
    /// # Ok::<(), garrick_flow::CapacityError>(())
    /// ```
    pub fn any_readable<T>(receivers: &Receivers<T>, count: usize) -> Self {
        Self::readable_of(1, receivers, count)
    }

    /// Waits until all of the bundle's channels are [`readable`](Self::readable).
    pub fn all_readable<T>(receivers: &Receivers<T>, count: usize) -> Self {
        Self::readable_of(receivers.len(), receivers, count)
    }

    /// Waits until `need` of the bundle's channels are [`readable`](Self::readable), whichever.
    pub fn readable_of<T>(need: usize, receivers: &Receivers<T>, count: usize) -> Self {
        let line = receivers.first().map(Receiver::line);
        Self::ends(Side::Receiver, receivers.range(), need, line, count)
    }

    /// Waits until one of the bundle's channels is [`free`](Self::free).
    pub fn any_free<T>(senders: &Senders<T>, count: usize) -> Self {
        Self::free_of(1, senders, count)
    }

    /// Waits until all of the bundle's channels are [`free`](Self::free).
    pub fn all_free<T>(senders: &Senders<T>, count: usize) -> Self {
        Self::free_of(senders.len(), senders, count)
    }

    /// Waits until `need` of the bundle's channels are [`free`](Self::free), whichever.
    pub fn free_of<T>(need: usize, senders: &Senders<T>, count: usize) -> Self {
        let line = senders.first().map(Sender::line);
        Self::ends(Side::Sender, senders.range(), need, line, count)
    }

    fn end(side: Side, line: &Line, count: usize) -> Self {
        Self::ends(side, (line.id, 1), 1, Some(line), count)
    }

    /// Waits for `need` of the `len` channels from number `first` on, which are all like `line`.
    fn ends(
        side: Side,
        (first, len): (u32, u32),
        need: usize,
        line: Option<&Line>,
        count: usize,
    ) -> Self {
        let need = need.clamp(1, (len as usize).max(1)) as u32;
        let capacity = line.map_or(1, |line| line.capacity);
        Self::of(Condition::Ends {
            side,
            first,
            len,
            need,
            count: (count as u64).clamp(1, capacity),
        })
    }

    /// Waits until somebody rings the bell at one end of a channel.
    pub(crate) fn rung(line: &Line, side: Side) -> Self {
        let channel = line.id;
        Self::of(Condition::Rung { side, channel })
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
                let delay = nanos(delay);
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

    /// Whether each way for it to end needs a channel that `is_inside` and is not ready.
    pub(crate) fn is_stuck(&self, lines: &[Arc<Line>], is_inside: &dyn Fn(u32) -> bool) -> bool {
        let Kind::For(terms) = &self.0 else {
            return false;
        };
        let is_up_to = |condition: &Condition| condition.is_up_to(lines, is_inside);
        terms.terms().all(|term| term.iter().any(is_up_to))
            && matches!(self.look(lines, || 0), Verdict::NotYet(_))
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
            let conditions = terms.used().iter();
            conditions.for_each(|condition| condition.count_stalls(lines));
        }
    }
}
