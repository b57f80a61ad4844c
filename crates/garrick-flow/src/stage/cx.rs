//! The context of a step.

use std::fmt;

use garrick_sched::{Nanos, Turn};

use super::desk::Desk;
use crate::post::{Post, Wake};

/// Source of the time.
#[derive(Clone, Copy)]
pub(crate) enum Clock<'a> {
    /// The world of the stage's sponsor.
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

/// The context of a step: the time, and the graph around the stage.
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

    /// Asks all stages if the graph may end, like [`Running::stop`](crate::Running::stop). When all
    /// agree, the sources end, and then the rest of the graph, in order.
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Returns true if the graph is to stop. Stages need not check this: a stage that does not
    /// [`veto`](Self::veto) agrees to the end, and sources are ended.
    pub fn is_stopping(&self) -> bool {
        self.post.is_stopping()
    }

    /// Votes against the end of the graph, for this `reason`.
    ///
    /// The vote holds until the next step, which has to repeat it, or else agrees. While no stop
    /// was requested, this does nothing, and costs one look.
    ///
    /// Make sure that there is a next step: the stage must wait for the event that ends the reason.
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
