//! A driver that steps one stage by hand.

use std::fmt;

use garrick_sched::Nanos;

use crate::channel::short_of;
use crate::graph::Graph;
use crate::stage::{Clock, Cx, Desk, Stage};
use crate::wait::{Verdict, Wait};

/// The state of a stage in a test without threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The next step is due.
    Ready,
    /// The stage is waiting: the condition for its next step is not met.
    Waits,
    /// The stage has ended, and its channel ends are closed.
    Done,
}

/// A driver that runs the steps of one stage on the test's thread. The test holds the other ends of
/// the stage's channels, and sets the stage's clock.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
/// use garrick_flow::testing::{Seen, StageDriver};
///
/// let mut graph = Graph::new();
/// let (mut numbers, input) = graph.channel(4)?;
/// let (output, mut doubles) = graph.channel(4)?;
/// let mut driver = StageDriver::new(&graph, stages::map(input, output, |n: &u32| n * 2));
///
/// driver.step();
/// assert_eq!(driver.look(), Seen::Waits);
///
/// numbers.push_slice(&[1, 2]);
/// assert_eq!(driver.look(), Seen::Ready);
/// driver.step();
/// assert_eq!(doubles.peek().as_slices().0, [2, 4]);
///
/// drop(numbers);
/// driver.step();
/// assert_eq!(driver.look(), Seen::Done);
/// assert!(doubles.is_closed());
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
pub struct StageDriver<'a, S> {
    /// The graph that the stage's channels belong to.
    graph: &'a Graph,
    /// The stage, or `None` after it has ended.
    stage: Option<S>,
    /// The condition that the latest step returned for the next step.
    wait: Wait,
    /// The stage's current vote on stopping the graph, and the stage's restarts and panics.
    desk: Desk,
    /// The current time of the stage's clock.
    now: Nanos,
}

impl<'a, S: Stage> StageDriver<'a, S> {
    /// Creates a driver for `stage`, whose channels belong to `graph`. The clock starts at 0.
    pub fn new(graph: &'a Graph, stage: S) -> Self {
        Self {
            graph,
            stage: Some(stage),
            wait: Wait::again(),
            desk: Desk::default(),
            now: 0,
        }
    }

    /// Takes a step, even if no step is due, and returns the state of the stage after the step. If
    /// the stage has already ended, the method takes no step, and returns [`Seen::Done`].
    ///
    /// # Panics
    ///
    /// Panics if the stage panics, or if it waits for a channel of another graph.
    #[track_caller]
    pub fn step(&mut self) -> Seen {
        if let Some(stage) = &mut self.stage {
            let mut cx = Cx::new(Clock::Fixed(self.now), self.graph.post(), &mut self.desk);
            self.wait = stage.step(&mut cx);
            let checked = self.wait.check(short_of(self.graph.post().graph()));
            checked.unwrap_or_else(|reason| panic!("{reason}"));
            self.wait.begin(|| self.now);
        }
        self.look()
    }

    /// Takes steps until the stage must wait or has ended, but at most `max` steps. Returns the
    /// state of the stage after the last step.
    pub fn run(&mut self, max: usize) -> Seen {
        let mut seen = self.look();
        for _ in 0..max {
            if seen != Seen::Ready {
                break;
            }
            seen = self.step();
        }
        seen
    }

    /// Checks whether the condition that the latest step returned is met, and returns the state of
    /// the stage. If the latest step returned [`Wait::done`], this method drops the stage.
    pub fn look(&mut self) -> Seen {
        match self.wait.look(self.graph.lines(), || self.now) {
            Verdict::Due => Seen::Ready,
            Verdict::NotYet(_) => Seen::Waits,
            Verdict::Done => {
                self.stage = None;
                Seen::Done
            }
        }
    }

    /// Advances the stage's clock by `nanos` nanoseconds.
    pub fn pass(&mut self, nanos: Nanos) {
        self.now += nanos;
    }
}

impl<S> fmt::Debug for StageDriver<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageDriver")
            .field("wait", &self.wait)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
