//! Stages that are started again when they fail, with their channels as they were.
//!
//! What a step works with is in two parts. The *state* is made by a closure, and made anew after a panic, for it may
//! be left in any shape. What is *kept* outlives the panic: the channel ends, and whatever else is to be there for
//! the next state.
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
//! # What is lost, and what is not
//!
//! A message is safe as long as it is in the channel. One that was peeked at and not advanced over stays, and what
//! was poked and not committed is taken back: the guards see to that while the panic unwinds. A message that was taken
//! by value (`try_pop`, `pop_each`, `map_batch_owned`) is in the state's hands, and goes with it.
//!
//! So nothing is lost by a step that peeks, works, commits its output, and advances its input, in this order; and
//! nothing is sent twice if nothing can panic between the last two. [`map_batch`](crate::map_batch) does all four as
//! one.

mod policy;

use std::fmt;
use std::panic::resume_unwind;

use garrick_sched::Nanos;

use crate::quiet;
use crate::{Cx, Ends, Stage, Wait, Wiring};

pub use policy::Restarts;

/// A stage that is started again when it fails; from [`restarting`].
pub struct Restarting<E, S, M, F> {
    /// What outlives a panic.
    kept: E,
    /// Makes a state.
    make: M,
    /// Takes a step with it.
    step: F,
    /// How often to begin anew.
    policy: Restarts,
    /// The state and since when it is there; none before the first step and between a panic and the next start.
    up: Option<(S, Nanos)>,
    /// When the next one is to be made.
    due: Nanos,
    /// Tells the ends in what is kept, if it can.
    tell: fn(&E, &mut Wiring),
}

/// Makes a stage that begins anew when it panics, with its channels intact.
///
/// `kept` is what outlives a panic: channel ends, and whatever the next state is to find. `make` makes a state of it,
/// before the first step and after each panic. `step` is a [`Stage::step`] with both lent to it; what it changes is in
/// one of them.
///
/// A panic in any of them counts, also in `make`. How often is too often is [`Restarting::policy`]'s word. Then the
/// stage fails as any other: the panic ends it, and it is one of [`Report::failures`](crate::Report::failures).
///
/// # Examples
///
/// A step that fails now and then, and loses nothing: the value it failed on is still there.
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
///     |_| 0, // How many values this state has seen.
///     |seen, (input, output), _| {
///         map_batch(input, output, 16, |n| {
///             *seen += 1;
///             assert!(*seen < 300, "worn out");
///             n * n
///         });
///         if input.is_finished() {
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
/// A step by hand. Between `commit` and `advance` nothing can panic but the `Drop` of a value that is advanced over,
/// and that comes too late to keep it in the channel:
///
/// ```
/// use garrick_flow::{Cx, Receiver, Sender, Wait};
///
/// /// Sends pairs' sums.
/// fn step(_: &mut (), (input, output): &mut (Receiver<u64>, Sender<u64>), _: &mut Cx<'_>) -> Wait {
///     let mut values = input.peek();
///     let mut sums = output.poke(values.len() / 2);
///     for pair in 0..sums.remaining() {
///         let sum = values.get(2 * pair).unwrap() + values.get(2 * pair + 1).unwrap();
///         sums.push(sum).unwrap();
///     }
///     let pairs = sums.commit();
///     values.advance(2 * pairs);
///     if input.is_closed() && input.readable() < 2 {
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
    /// How often it may be started again, and when; see [`Restarts::default`] for what happens unless told.
    #[must_use]
    pub fn policy(mut self, policy: Restarts) -> Self {
        self.policy = policy;
        self
    }

    /// Has the stage tell the channel ends in what is kept, as [`Stage::wiring`] has it: a loop has to know them, see
    /// [`Graph::feedback`](crate::Graph::feedback).
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

    /// Gets ready for the next start, or fails.
    #[cold]
    fn recover(&mut self, words: String, cx: &mut Cx<'_>) -> Wait {
        let now = cx.now();
        let (state, up_since) = match self.up.take() {
            Some((state, since)) => (Some(state), since),
            None => (None, now),
        };
        // One failure is enough to begin anew: what its state says at its end adds nothing.
        quiet::drop(state);
        let random = now ^ u64::from(cx.desk().id).rotate_left(32);
        match self.policy.next(now, up_since, random) {
            Err(reason) => resume_unwind(Box::new(format!("{reason}, the last: {words}"))),
            Ok(wait) => {
                cx.desk().restarted(words);
                cx.desk().abstain();
                self.due = now.saturating_add(wait.as_nanos() as Nanos);
                self.rest(now)
            }
        }
    }

    /// Until the next start.
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
        // What a panic leaves in a strange shape is dropped (the state) or keeps its invariants (the ends); the rest
        // of what is kept is the user's, who was told.
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
