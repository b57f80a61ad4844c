//! Stages, and the code that runs them.

mod desk;

mod cx;
mod work;

mod runner;
mod task;

#[cfg(feature = "sim")]
mod simulated;

pub(crate) use cx::Clock;
pub use cx::Cx;
pub(crate) use desk::{Desk, LastPanic};
pub(crate) use runner::{Env, Outcome, Runner};
#[cfg(feature = "sim")]
pub(crate) use simulated::{OnFailure, SimulatedTask};
#[cfg(feature = "sim")]
pub use simulated::{SIMULATED_STAGE, STEP, WAKE};
pub(crate) use task::StageTask;
pub(crate) use work::{Work, WorkReader};

use crate::wait::Wait;
use crate::wiring::Wiring;

/// A part of a pipeline. A stage consists of a state, which owns channel ends, and a function that
/// takes a step.
///
/// A step checks the channels, does all work that is possible now, and returns the condition for
/// the next step. A step must not block, because it would also block the other stages of its team.
/// A step may run before the condition is met, so it must check its channels itself. Any closure
/// that takes a `&mut Cx` and returns a [`Wait`] is a stage.
///
/// # Thresholds
///
/// A stage that returns `Wait::readable(&input, 32)` is woken by the 32nd value, and not by the
/// values before it. Such a threshold saves wake-ups, and has a price: fewer values wait until more
/// arrive, the channel is closed, or another condition of the wait is met. After a step that has
/// moved values, return [`Wait::again`], so that the next step takes what this step has left
/// behind. Use a threshold above 1 for free slots only if the channel is full. Otherwise the
/// receiver may wait for more values, and both stages sleep forever. The guide `docs/pipelines.md`
/// contains all rules, and a stage with a threshold and a time limit.
///
/// # Examples
///
/// This stage sends the sums of pairs of consecutive values:
///
/// ```
/// use garrick_flow::{Cx, Graph, Receiver, Sender, Stage, Wait, stages};
///
/// struct Pairs {
///     input: Receiver<u64>,
///     output: Sender<u64>,
/// }
///
/// impl Stage for Pairs {
///     fn step(&mut self, _: &mut Cx<'_>) -> Wait {
///         let mut peek = self.input.peek();
///         let pairs = (peek.len() / 2).min(self.output.free());
///         for pair in 0..pairs {
///             let sum = peek.get(2 * pair).unwrap() + peek.get(2 * pair + 1).unwrap();
///             self.output.try_push(sum).unwrap();
///         }
///         peek.advance(2 * pairs);
///         let is_over = self.input.is_closed() && self.input.readable() < 2;
///         if is_over || self.output.is_closed() {
///             return Wait::done();
///         }
///         Wait::readable(&self.input, 2).and(Wait::free(&self.output, 1))
///     }
/// }
///
/// let mut graph = Graph::new();
/// let (numbers, input) = graph.channel(16)?;
/// let (output, sums) = graph.channel(16)?;
/// graph.source("numbers", stages::produce(numbers, 0..100u64));
/// graph.stage("pairs", Pairs { input, output });
/// graph.stage("check", stages::consume(sums, |sums| assert!(sums.iter().all(|sum| sum % 4 == 1))));
///
/// let report = graph.start()?.join();
/// assert!(report.failures().is_empty());
/// assert_eq!(report.channels()[1].taken, 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Stage: Send + 'static {
    /// Takes a step: does the work that is possible now, and returns the condition for the next
    /// step.
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait;

    /// Declares the channel ends that the stage has. The default implementation declares none.
    ///
    /// The graph calls this method before the first step. [`Graph::start`](crate::Graph::start)
    /// uses the declared ends to detect unintended cycles: cycles of stages without a
    /// [feedback](crate::Graph::feedback) channel. If there is such a cycle, `start` returns an
    /// error. An end that is not declared is detected when the stage uses it. If the stages then
    /// form an unintended cycle, the stage fails. A closure cannot declare its ends. Use
    /// [`with_ends`](crate::with_ends) to create a stage from a closure and declared ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Cx, Receiver, Sender, Stage, Wait, Wiring};
    ///
    /// struct Pass {
    ///     input: Receiver<u64>,
    ///     output: Sender<u64>,
    /// }
    ///
    /// impl Stage for Pass {
    ///     fn step(&mut self, _: &mut Cx<'_>) -> Wait {
    ///         garrick_flow::map_batch(&mut self.input, &mut self.output, 64, |n| *n);
    ///         if self.input.is_finished() || self.output.is_closed() {
    ///             return Wait::done();
    ///         }
    ///         Wait::readable(&self.input, 1).and(Wait::free(&self.output, 1))
    ///     }
    ///
    ///     fn wiring(&self, wiring: &mut Wiring) {
    ///         wiring.has(&self.input).has(&self.output);
    ///     }
    /// }
    /// ```
    fn wiring(&self, wiring: &mut Wiring) {
        let _ = wiring;
    }
}

impl<F: FnMut(&mut Cx<'_>) -> Wait + Send + 'static> Stage for F {
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        self(cx)
    }
}
