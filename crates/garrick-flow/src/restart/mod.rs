//! Stages that restart when they panic, with their channels intact.
//!
//! A step works with two parts. The *state* is created by a closure. After a panic, it is created
//! again, because the panic may have left the old state inconsistent. The *kept* part, which
//! outlives the panic, consists of the channel ends and all other values that the next state needs.
//!
//! ```text
//!             kept: Receiver, Sender, ...
//!               |           ^
//!   make(&kept) |           | lent to each step
//!               v           |
//!            state 1 --- step, step, panic     state 2 --- step, ...
//!                                      |         ^
//!                                      '--wait---'  (Restarts)
//! ```
//!
//! # What a panic loses
//!
//! A panic does not lose messages that are in a channel. A message that was peeked, but not yet
//! advanced over, stays in the channel. A message that was poked, but not committed, is not sent.
//! The guards ensure this while the panic unwinds. A message that was taken by value (`try_pop`,
//! `pop_each`, `map_batch_owned`) is lost with the state that owns it.
//!
//! So a step loses no message if it peeks, works, commits its output, and advances its input, in
//! this order. The step sends no message twice if nothing can panic between commit and advance.
//! [`map_batch`](crate::map_batch) does all four operations in one call.

mod policy;

use std::fmt;
use std::panic::resume_unwind;

use garrick_sched::{Nanos, nanos};

use crate::quiet;
use crate::{Cx, Ends, Stage, Wait, Wiring};

pub use policy::Restarts;

/// A stage that restarts when it panics. Created by [`restarting`].
pub struct Restarting<E, S, M, F> {
    /// The values that outlive a panic, such as the channel ends.
    kept: E,
    /// Closure that creates a state.
    make: M,
    /// Closure that takes a step with the state.
    step: F,
    /// Limit and delay of the restarts.
    policy: Restarts,
    /// The state, and the time at which it was created. `None` before the first step, and between a
    /// panic and the next start.
    up: Option<(S, Nanos)>,
    /// Time at which the stage gets a new state, after a panic has destroyed the previous state.
    due: Nanos,
    /// Function that declares the channel ends among the values that outlive a panic. Does nothing
    /// unless [`Restarting::telling`] was called.
    tell: fn(&E, &mut Wiring),
}

/// Creates a stage that restarts when it panics, with its channels intact.
///
/// `kept` is the part that outlives a panic: the channel ends, and all other values that the next
/// state needs. `make` creates a state before the first step, and a new state after each panic.
/// `make` can use the kept part. `step` takes a step like [`Stage::step`]. It borrows the state and
/// the kept part, and must not change anything else.
///
/// The stage restarts after a panic in `make` or in `step`. [`Restarting::policy`] limits the
/// number of restarts. If a panic exceeds the limit, the stage ends like any other stage that
/// panics, and [`Report::failures`](crate::Report::failures) lists it.
///
/// # Examples
///
/// This step panics several times, but loses no value. The value for which it panicked is still in
/// the channel:
///
/// ```
/// use garrick_flow::{Graph, Restarts, Wait, map_batch, restarting, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, input) = graph.channel::<u64>(64)?;
/// let (output, squares) = graph.channel::<u64>(64)?;
/// graph.source("numbers", stages::produce(numbers, 1..=1000));
/// let square = restarting(
///     (input, output),
///     |_| 0, // Number of values that this state has seen.
///     |seen, (input, output), _| {
///         map_batch(input, output, 16, |n| {
///             *seen += 1;
///             assert!(*seen < 300, "worn out");
///             n * n
///         });
///         if input.is_finished() || output.is_closed() {
///             return Wait::done();
///         }
///         Wait::readable(input, 1).and(Wait::free(output, 1))
///     },
/// );
/// graph.stage("square", square.policy(Restarts::unlimited()));
/// let mut next = 1;
/// graph.stage("check", stages::consume(squares, move |squares: &[u64]| {
///     for square in squares {
///         assert_eq!(*square, next * next);
///         next += 1;
///     }
/// }));
///
/// let report = graph.start()?.join();
/// assert!(report.failures().is_empty());
/// assert_eq!(report.channels()[1].taken, 1000);
/// let square = report.stage("square").unwrap();
/// assert_eq!((square.restarts, square.last_panic.as_deref()), (3, Some("worn out")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The next step does not use `map_batch`, but calls `peek`, `poke`, `commit` and `advance` itself.
/// After `commit`, only the `Drop` of a value in `advance` can panic. Even then, `advance` removes
/// the values from the channel, so no sum is sent twice:
///
/// ```
/// use garrick_flow::{Cx, Receiver, Sender, Wait};
///
/// /// Sends the sums of pairs.
/// fn step(_: &mut (), (input, output): &mut (Receiver<u64>, Sender<u64>), _: &mut Cx<'_>) -> Wait {
///     let mut values = input.peek();
///     let mut sums = output.poke(values.len() / 2);
///     for pair in 0..sums.remaining() {
///         let sum = values.get(2 * pair).unwrap() + values.get(2 * pair + 1).unwrap();
///         sums.push(sum).unwrap();
///     }
///     let pairs = sums.commit();
///     values.advance(2 * pairs);
///     let is_over = input.is_closed() && input.readable() < 2;
///     if is_over || output.is_closed() {
///         return Wait::done();
///     }
///     Wait::readable(input, 2).and(Wait::free(output, 1))
/// }
///
/// let mut graph = garrick_flow::Graph::new();
/// let (_numbers, input) = graph.channel(64)?;
/// let (output, _sums) = graph.channel(64)?;
/// graph.stage("sums", garrick_flow::restarting((input, output), |_| (), step));
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
pub fn restarting<E, S, M, F>(kept: E, make: M, step: F) -> Restarting<E, S, M, F>
where
    M: FnMut(&mut E) -> S,
    F: Fn(&mut S, &mut E, &mut Cx<'_>) -> Wait,
{
    Restarting {
        kept,
        make,
        step,
        policy: Restarts::default(),
        up: None,
        due: 0,
        tell: |_, _| (),
    }
}

impl<E, S, M, F> Restarting<E, S, M, F> {
    /// Sets the limit of the stage's restarts, and the delay before each restart. The default is
    /// [`Restarts::default`].
    #[must_use]
    pub fn policy(mut self, policy: Restarts) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the stage declare the channel ends in `kept`, the first argument of [`restarting`], as
    /// described in [`Stage::wiring`]. Call this method for each stage in a
    /// [feedback](crate::Graph::feedback) loop.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, Wait, map_batch, restarting};
    ///
    /// let mut graph = Graph::new();
    /// let (output, input) = graph.channel::<u64>(64)?;
    /// let echo = restarting((input, output), |_| (), |(), (input, output), _| {
    ///     map_batch(input, output, 16, |n| n + 1);
    ///     Wait::readable(input, 1).and(Wait::free(output, 1))
    /// });
    /// graph.stage("echo", echo.telling());
    /// let refused = graph.start().unwrap_err();
    /// assert!(refused.to_string().starts_with(r#"the stage "echo" -> "echo" forms a cycle"#));
    /// # Ok::<(), garrick_flow::CapacityError>(())
    /// ```
    #[must_use]
    pub fn telling(mut self) -> Self
    where
        E: Ends,
    {
        self.tell = E::tell;
        self
    }

    /// Prepares the next start of the stage, after a panic with the message `words`. Panics if the
    /// policy allows no more restarts.
    #[cold]
    fn recover(&mut self, words: String, cx: &mut Cx<'_>) -> Wait {
        let now = cx.now();
        let (state, up_since) = match self.up.take() {
            Some((state, since)) => (Some(state), since),
            None => (None, now),
        };
        // One failure is enough to restart: a panic in the destructor of the state adds nothing.
        quiet::drop(state);
        let random = now ^ u64::from(cx.desk().id).rotate_left(32);
        match self.policy.next(now, up_since, random) {
            Err(reason) => resume_unwind(Box::new(format!("{reason}; the last panic: {words}"))),
            Ok(wait) => {
                cx.desk().restarted(words);
                cx.desk().abstain();
                self.due = now.saturating_add(nanos(wait));
                self.rest(now)
            }
        }
    }

    /// Returns a [`Wait`] for the time at which the stage may start again.
    fn rest(&self, now: Nanos) -> Wait {
        if now < self.due {
            Wait::until(self.due)
        } else {
            Wait::again()
        }
    }
}

impl<E, S, M, F> Stage for Restarting<E, S, M, F>
where
    E: Send + 'static,
    S: Send + 'static,
    M: FnMut(&mut E) -> S + Send + 'static,
    F: Fn(&mut S, &mut E, &mut Cx<'_>) -> Wait + Send + 'static,
{
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        // After a panic the state is dropped, and the channel ends keep their invariants. The rest
        // of the kept part belongs to the user, as documented.
        let step = quiet::call(|| {
            cx.desk().fail_on_demand();
            if self.up.is_none() {
                let now = cx.now();
                if now < self.due {
                    cx.desk().abstain();
                    return self.rest(now);
                }
                self.up = Some(((self.make)(&mut self.kept), now));
            }
            match &mut self.up {
                Some((state, _)) => (self.step)(state, &mut self.kept, cx),
                None => Wait::again(),
            }
        });
        match step {
            Ok(wait) => wait,
            Err(words) => self.recover(words, cx),
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        (self.tell)(&self.kept, wiring);
    }
}

impl<E: fmt::Debug, S, M, F> fmt::Debug for Restarting<E, S, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restarting")
            .field("kept", &self.kept)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
