//! What a step sees of the world.

use std::fmt;

use garrick_sched::{Nanos, Turn};

use crate::post::{Post, Wake};

/// Where the time comes from.
#[derive(Clone, Copy)]
pub(crate) enum Clock<'a> {
    /// The world of the stage's sponsor.
    Turn(&'a Turn<'a, Wake>),
    /// A test's word.
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

/// What a step sees of the world around its stage.
pub struct Cx<'a> {
    /// The time.
    clock: Clock<'a>,
    /// The graph that the stage is in.
    post: &'a Post,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(clock: Clock<'a>, post: &'a Post) -> Self {
        Self { clock, post }
    }

    /// The time of the sponsor's world, in nanoseconds since that began.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Ends the sources of the graph, and so the graph, in order: as
    /// [`Running::stop`](crate::Running::stop).
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Whether the graph is to stop. Sources need not ask, they are ended.
    pub fn is_stopping(&self) -> bool {
        self.post.is_stopping()
    }
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("stopping", &self.is_stopping())
            .finish_non_exhaustive()
    }
}
