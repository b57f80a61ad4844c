//! Conditions that a stage waits for.
//!
//! A [`Wait`] is a plain value that consists of a few conditions. Each condition refers to a
//! channel by its index in the graph. The code that evaluates a `Wait` passes the graph's channels
//! in, so a `Wait` needs neither borrows nor counted references. The channels of a bundle have
//! consecutive indices, so one condition can refer to all of them.

mod condition;
mod end;
mod terms;

mod describe;

use std::sync::Arc;
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use condition::Condition;
pub(crate) use condition::Lack;
use end::End;
use terms::Terms;

use crate::channel::{Line, Met, Receiver, Receivers, Sender, Senders, Side};
use crate::post::StageId;

/// Maximum number of conditions that a [`Wait`] can combine.
pub const CONDITIONS_MAX: usize = 6;

/// Error message for a stage that fails because it waits for a channel of another graph.
const OTHER_GRAPH: &str = "the stage waits for a channel of another graph: create the channel by the graph of the \
     stage, or use an `AsyncSender` or `AsyncReceiver`";

/// The channels of a graph, ordered by index.
pub(crate) type Lines = Arc<[Arc<Line>]>;

/// The condition for the next step of a stage.
///
/// A wait combines at most [`CONDITIONS_MAX`] conditions on channels, on bundles, or on time. A
/// condition on a bundle counts as one condition. `and` and `or` apply to the whole `Wait` on their
/// left: `a.or(b).and(c)` is `(a or b) and c`.
///
/// A closed channel does not keep a stage waiting. If the sender is gone, a condition on the
/// receiver counts as met, even if no values are left. If the receiver is gone, a condition on the
/// sender counts as met. If no more values can be taken from a channel or sent to it, the whole
/// wait is over, regardless of its other conditions. After such an event, the next step should end
/// the stage, or at least not wait for the closed channel again.
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
#[must_use = "a `Wait` has an effect only if a step returns it"]
pub struct Wait(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The next step may follow immediately.
    Again,
    /// The stage takes no more steps.
    Done,
    /// The next step follows when all conditions of at least one term are met.
    For(Terms),
}

/// Result of checking whether the next step of a stage is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The next step is due.
    Due,
    /// The next step is not due. If the stage waits for a time, contains the earliest time at which
    /// the next step can become due.
    NotYet(Option<Nanos>),
    /// There is no next step.
    Done,
}

impl Wait {
    /// Waits until at least `count` values can be taken, or the sender is gone.
    ///
    /// A `count` of 0 is treated as 1. A `count` above the channel's capacity is treated as the
    /// capacity.
    pub fn readable<T>(receiver: &Receiver<T>, count: usize) -> Self {
        Self::end(Side::Receiver, receiver.line(), count)
    }

    /// Waits until at least `count` slots are free, or the receiver is gone.
    ///
    /// If the channel is not full, use a `count` of 1. The receiver may wait for more values than
    /// the channel contains, and then frees no slot.
    ///
    /// A `count` of 0 is treated as 1. A `count` above the channel's capacity is treated as the
    /// capacity.
    pub fn free<T>(sender: &Sender<T>, count: usize) -> Self {
        Self::end(Side::Sender, sender.line(), count)
    }

    /// Waits until at least `count` values can be taken from at least one channel of a bundle.
    ///
    /// A channel whose sender is gone also counts as ready if at least one value is left. As in
    /// [`readable`](Self::readable), a `count` of 0 is treated as 1, and a `count` above the
    /// capacity as the capacity.
    ///
    /// A wait on a bundle is one condition, regardless of the number of channels. A channel is
    /// ignored if its sender is gone and no values are left. When all channels are ignored, the
    /// wait is over.
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

    /// Waits until at least `count` values can be taken from each channel of a bundle. Closed
    /// channels are treated as described for [`any_readable`](Self::any_readable).
    pub fn all_readable<T>(receivers: &Receivers<T>, count: usize) -> Self {
        Self::readable_of(receivers.len(), receivers, count)
    }

    /// Waits until at least `count` values can be taken from each of at least `need` channels of a
    /// bundle. Closed channels are treated as described for [`any_readable`](Self::any_readable).
    pub fn readable_of<T>(need: usize, receivers: &Receivers<T>, count: usize) -> Self {
        let line = receivers.first().map(Receiver::line);
        Self::ends(Side::Receiver, receivers.range(), need, line, count)
    }

    /// Waits until at least one channel of a bundle has at least `count` free slots.
    ///
    /// As in [`free`](Self::free), a `count` of 0 is treated as 1, and a `count` above the capacity
    /// as the capacity. A channel is ignored if its receiver is gone. When all channels are
    /// ignored, the wait is over.
    pub fn any_free<T>(senders: &Senders<T>, count: usize) -> Self {
        Self::free_of(1, senders, count)
    }

    /// Waits until each channel of a bundle has at least `count` free slots. Closed channels are
    /// treated as described for [`any_free`](Self::any_free).
    pub fn all_free<T>(senders: &Senders<T>, count: usize) -> Self {
        Self::free_of(senders.len(), senders, count)
    }

    /// Waits until at least `need` channels of a bundle have at least `count` free slots each.
    /// Closed channels are treated as described for [`any_free`](Self::any_free).
    pub fn free_of<T>(need: usize, senders: &Senders<T>, count: usize) -> Self {
        let line = senders.first().map(Sender::line);
        Self::ends(Side::Sender, senders.range(), need, line, count)
    }

    fn end(side: Side, line: &Line, count: usize) -> Self {
        Self::ends(side, (line.id, 1), 1, Some(line), count)
    }

    /// Returns a condition that is met when `need` of `len` channels are ready. The indices of
    /// these channels are consecutive and begin with `first`. A channel is ready if the end on
    /// `side` can take `count` values or fill `count` slots. All of these channels have the same
    /// capacity as `line`.
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
            graph: line.map_or(0, |line| line.short_graph),
            first,
            len,
            need,
            count: (count as u64).clamp(1, capacity),
        })
    }

    /// Returns a condition that is met when the bell (the wake-up flag) at one end of a channel is
    /// rung, for example by the waker of a future.
    pub(crate) fn rung(line: &Line, side: Side) -> Self {
        let channel = line.id;
        Self::of(Condition::Rung { side, channel })
    }

    /// Waits until the time `delay` has passed since the step returned.
    pub fn timer(delay: Duration) -> Self {
        Self::of(Condition::After(delay))
    }

    /// Waits until [`Cx::now`](crate::Cx::now) has reached `deadline`.
    pub fn until(deadline: Nanos) -> Self {
        Self::of(Condition::Until(deadline))
    }

    /// Takes the next step without waiting. Before this step, the other stages of the team can run,
    /// and so can the stages that are waiting for stages of the team.
    pub fn again() -> Self {
        Self(Kind::Again)
    }

    /// Ends the stage. The stage is dropped, together with its channel ends.
    pub fn done() -> Self {
        Self(Kind::Done)
    }

    /// Waits until both `self` and `other` are met.
    ///
    /// # Panics
    ///
    /// Panics if the result has more than [`CONDITIONS_MAX`] conditions. If one side consists of
    /// alternatives combined with [`or`](Self::or), each condition of the other side counts once
    /// for each alternative.
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

    /// Waits until `self` or `other` is met.
    ///
    /// # Panics
    ///
    /// Panics if the result has more than [`CONDITIONS_MAX`] conditions.
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

    /// Checks that all channels of this `Wait` belong to the graph whose id has the short form
    /// `graph`.
    ///
    /// # Errors
    ///
    /// Returns the reason why the stage fails.
    #[inline]
    pub(crate) fn check(&self, graph: u16) -> Result<(), String> {
        match &self.0 {
            Kind::For(terms) if !terms.used().iter().all(|one| one.is_of(graph)) => {
                Err(OTHER_GRAPH.to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Converts each delay into a point in time, counted from `now()`. The function `now` is called
    /// only if there are timers.
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

    /// Checks whether the next step is due.
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

    /// Returns true if the stage must wait, and if only changes of the channels for which
    /// `is_inside` returns true can let the stage continue. The argument of `is_inside` is the
    /// index of a channel.
    pub(crate) fn is_stuck(&self, lines: &[Arc<Line>], is_inside: &dyn Fn(u32) -> bool) -> bool {
        let Kind::For(terms) = &self.0 else {
            return false;
        };
        let is_up_to = |condition: &Condition| condition.is_up_to(lines, is_inside);
        terms.terms().all(|term| term.iter().any(is_up_to))
            && matches!(self.look(lines, || 0), Verdict::NotYet(_))
    }

    /// Registers `stage` to be woken by all channels of this `Wait`. After the call, the caller
    /// must check again whether the next step is due.
    pub(crate) fn arm(&self, lines: &[Arc<Line>], stage: StageId) {
        if let Kind::For(terms) = &self.0 {
            let conditions = terms.used();
            End::each(conditions, lines, |end| end.arm(stage));
            let conditions = conditions.iter();
            conditions.for_each(|condition| condition.arm_bell(lines, stage));
        }
    }

    /// Called when the stage goes to sleep with this `Wait`. Increments the stall counter of each
    /// channel end for which the stage waits. Increments a counter only once, even if several
    /// conditions refer to the end.
    pub(crate) fn count_stalls(&self, lines: &[Arc<Line>]) {
        if let Kind::For(terms) = &self.0 {
            End::each(terms.used(), lines, |end| end.count_stall());
        }
    }

    /// Returns the kind of thing that the stage waits for.
    pub(crate) fn lack(&self, lines: &[Arc<Line>]) -> Lack {
        let Kind::For(terms) = &self.0 else {
            return Lack::Other;
        };
        let lacks = terms
            .used()
            .iter()
            .filter_map(|condition| condition.lack(lines));
        lacks.max().unwrap_or(Lack::Other)
    }
}
