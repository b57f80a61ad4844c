//! The context of a step.

use std::fmt;

use garrick_sched::{Nanos, Turn};

use super::desk::Desk;
use crate::post::{Post, Wake};

/// Source of the time.
#[derive(Clone, Copy)]
pub(crate) enum Clock<'a> {
    /// The clock of the world that the stage's sponsor runs in.
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
    /// The time.
    clock: Clock<'a>,
    /// The graph that the stage is in.
    post: &'a Post,
    /// Vote and restart records of the stage.
    desk: &'a mut Desk,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(clock: Clock<'a>, post: &'a Post, desk: &'a mut Desk) -> Self {
        Self { clock, post, desk }
    }

    /// Returns the time of the sponsor's world, in nanoseconds since that world began.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Asks all stages to agree that the graph stops, like [`Running::stop`](crate::Running::stop).
    /// When all have agreed, the sources end, and then the other stages in order.
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Returns true if a stop of the graph was requested. Stages need not check this. A stage that
    /// does not [`veto`](Self::veto) agrees to stop, and sources are stopped by the graph.
    pub fn is_stopping(&self) -> bool {
        self.post.is_stopping()
    }

    /// Votes against stopping the graph, for the given `reason`.
    ///
    /// The vote is taken when a stop was requested, by [`Running::stop`](crate::Running::stop) for
    /// example. The veto holds until the next step, which must repeat it, or else the stage agrees.
    /// If no stop was requested, this method only reads a flag.
    ///
    /// Make sure that there is a next step: the stage must wait for the event that removes the
    /// reason.
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
