//! Driving one stage by hand.

use std::fmt;

use garrick_sched::Nanos;

use crate::graph::Graph;
use crate::stage::{Clock, Cx, Desk, Stage};
use crate::wait::{Verdict, Wait};

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The next step may follow.
    Ready,
    /// It must wait.
    Waits,
    /// The stage has ended; its channel ends are closed.
    Done,
}

/// Drives one stage by hand, without threads: a test holds the other ends of its channels, and its clock.
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
    /// The graph whose channels the stage has.
    graph: &'a Graph,
    /// Gone when it has ended.
    stage: Option<S>,
    /// What the last step returned.
    wait: Wait,
    /// What it has to say beside that.
    desk: Desk,
    /// The time.
    now: Nanos,
}

impl<'a, S: Stage> StageDriver<'a, S> {
    /// A driver for `stage`, whose channels are of `graph`. It is time 0.
    pub fn new(graph: &'a Graph, stage: S) -> Self {
        Self {
            graph,
            stage: Some(stage),
            wait: Wait::again(),
            desk: Desk::default(),
            now: 0,
        }
    }

    /// Takes a step, due or not, and says what is then: never [`Seen::Waits`] where it could go on.
    pub fn step(&mut self) -> Seen {
        if let Some(stage) = &mut self.stage {
            let mut cx = Cx::new(Clock::Fixed(self.now), self.graph.post(), &mut self.desk);
            self.wait = stage.step(&mut cx);
            self.wait.begin(|| self.now);
        }
        self.look()
    }

    /// Takes steps until the stage must wait or has ended, at most `max` of them.
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

    /// Looks whether what the last step waits for has come.
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

    /// Sets the clock on by `nanos`.
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
