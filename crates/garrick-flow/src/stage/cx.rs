//! The context of a step.

use std::fmt;

use garrick_sched::{Nanos, Turn, outside_of_turns};

use super::desk::Desk;
use crate::post::{Post, Wake};

/// Source of the time for a step.
#[derive(Clone, Copy)]
pub(crate) enum Clock<'a> {
    /// The clock of the thread that runs the stage.
    Turn(&'a Turn<'a, Wake>),
    /// A time set by a test.
    Fixed(Nanos),
}

impl Clock<'_> {
    pub(crate) fn now(self) -> Nanos {
        match self {
            Self::Turn(turn) => turn.now(),
            Self::Fixed(now) => now,
        }
    }
}

/// The context of a step: the time, and access to the stage's graph.
pub struct Cx<'a> {
    /// Source of the current time.
    clock: Clock<'a>,
    /// State that the stage shares with the other stages of its graph.
    post: &'a Post,
    /// State that only this stage uses, such as its current vote on stopping the graph.
    desk: &'a mut Desk,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(clock: Clock<'a>, post: &'a Post, desk: &'a mut Desk) -> Self {
        Self { clock, post, desk }
    }

    /// Returns the time of the stage's clock, in nanoseconds.
    ///
    /// Each thread of a graph has its own clock, which starts when the thread starts. So compare
    /// this time only with other times of the same stage. In tests with a
    /// [`Stepper`](crate::testing::Stepper) or [`StageDriver`](crate::testing::StageDriver), the
    /// test sets the clock.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Asks all stages whether the graph may stop, like [`Running::stop`](crate::Running::stop).
    /// When all stages have agreed, the sources end. The other stages end after they have handled
    /// the messages in flight.
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Returns true if a stop of the graph was requested. Most stages need not call this method: a
    /// stage agrees to the stop unless it calls [`veto`](Self::veto), and the graph itself ends the
    /// sources.
    pub fn is_stopping(&self) -> bool {
        self.post.is_stopping()
    }

    /// Votes against stopping the graph, for the given `reason`.
    ///
    /// The veto counts only if a stop was requested, for example by
    /// [`Running::stop`](crate::Running::stop). If no stop was requested, this method only checks a
    /// flag. The veto holds until the stage's next step. If that step does not call `veto` again,
    /// the stage agrees.
    ///
    /// After a veto, the stage is not woken to vote again. So the step that vetoes must return a
    /// [`Wait`](crate::Wait) for the event after which the reason no longer holds. After this
    /// event, the stage takes another step, and can agree.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use garrick_flow::{Cx, Graph, Wait};
    ///
    /// let mut graph = Graph::new();
    /// let mut open = 3;
    /// graph.source("orders", move |cx: &mut Cx<'_>| {
    ///     if open > 0 {
    ///         cx.veto(format_args!("{open} orders open"));
    ///         open -= 1;
    ///     }
    ///     Wait::timer(Duration::from_millis(5))
    /// });
    ///
    /// let running = graph.start()?;
    /// running.stop();
    /// assert!(running.join().stages()[0].steps >= 4);
    /// # Ok::<(), garrick_flow::StartError>(())
    /// ```
    pub fn veto(&mut self, reason: impl fmt::Display) {
        self.desk.veto(reason);
    }

    /// Sends the wake-ups that earlier steps of the stage have delayed. A step that may block must
    /// call this method first, because the delayed wake-ups would wait for its end. So would
    /// wake-ups that are sent in the turn of the step.
    pub(crate) fn settle(&self) {
        outside_of_turns(|| self.post.settle(self.desk.id, true));
    }

    pub(crate) fn desk(&mut self) -> &mut Desk {
        self.desk
    }
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("stopping", &self.is_stopping())
            .finish_non_exhaustive()
    }
}
