//! The state of a supervised actor's seat. `README.md` explains the states.

use std::mem;

/// The state of a seat, which is the place for the current actor of a child.
pub(super) enum Seat<A> {
    /// There is no actor, because none has been created yet or the previous one was dropped.
    /// Messages are kept for the next actor.
    Empty,
    /// The actor's destructor is running. Messages are kept for the next actor.
    Emptying,
    /// The actor has not started yet, or has failed. It handles no message until its supervisor has
    /// decided what to do. Messages are kept until then.
    Suspended(A),
    /// The actor has started, and is waiting for the order to handle messages. Messages are kept
    /// until then.
    Started(A),
    /// The actor is handling the messages that were kept for it. New messages are added behind the
    /// kept ones.
    Draining(A),
    /// The actor handles each message when it arrives. No kept messages are left.
    Open(A),
    /// The child has stopped for good.
    Over,
}

impl<A> Seat<A> {
    /// Puts a new actor into the seat, which is the place for the current actor of a child. The new
    /// actor has not started yet.
    pub(super) fn fill(&mut self, actor: A) -> &mut A {
        debug_assert!(
            matches!(self, Self::Empty),
            "the seat already contains an actor"
        );
        *self = Self::Suspended(actor);
        match self {
            Self::Suspended(actor) => actor,
            _ => unreachable!("the seat was just filled"),
        }
    }

    /// Suspends the actor until its supervisor has decided what to do. Has no effect if there is no
    /// actor.
    pub(super) fn suspend(&mut self) {
        *self = match mem::replace(self, Self::Empty) {
            Self::Started(actor) | Self::Draining(actor) | Self::Open(actor) => {
                Self::Suspended(actor)
            }
            other => other,
        };
    }

    /// Records that the actor has started.
    pub(super) fn start(&mut self) {
        *self = match mem::replace(self, Self::Empty) {
            Self::Suspended(actor) => Self::Started(actor),
            other => unreachable!(
                "only a suspended actor can start, but the seat is {}",
                other.name()
            ),
        };
    }

    /// Makes a suspended actor handle the messages that were kept for it. Has no effect in any
    /// other state.
    pub(super) fn resume(&mut self) {
        *self = match mem::replace(self, Self::Empty) {
            Self::Suspended(actor) => Self::Draining(actor),
            other => other,
        };
    }

    /// Makes the actor handle the messages that were kept for it. Has no effect if the actor has
    /// not started or has failed.
    pub(super) fn drain(&mut self) {
        *self = match mem::replace(self, Self::Empty) {
            Self::Started(actor) | Self::Open(actor) => Self::Draining(actor),
            other => other,
        };
    }

    /// Lets the actor handle each message when it arrives. All messages that were kept for the
    /// actor must already have been taken.
    pub(super) fn open(&mut self) {
        *self = match mem::replace(self, Self::Empty) {
            Self::Draining(actor) => Self::Open(actor),
            other => unreachable!(
                "only a draining seat can be opened, but it is {}",
                other.name()
            ),
        };
    }

    /// Takes the current actor out of its place (the seat), so that it can be dropped. The caller
    /// must call [`Seat::empty`] after it has dropped the actor.
    pub(super) fn take(&mut self) -> Option<A> {
        let (actor, after) = match mem::replace(self, Self::Empty) {
            Self::Suspended(actor)
            | Self::Started(actor)
            | Self::Draining(actor)
            | Self::Open(actor) => (Some(actor), Self::Emptying),
            Self::Empty | Self::Emptying => (None, Self::Emptying),
            Self::Over => (None, Self::Over),
        };
        *self = after;
        actor
    }

    /// Records that the actor has been dropped, after it was taken out of the seat (the place for
    /// the current actor of a child).
    pub(super) fn empty(&mut self) {
        debug_assert!(
            matches!(self, Self::Emptying | Self::Over),
            "the actor has not been taken out of the seat"
        );
        if matches!(self, Self::Emptying) {
            *self = Self::Empty;
        }
    }

    /// Stops the child for good. Returns the actor, which the caller must drop.
    pub(super) fn end(&mut self) -> Option<A> {
        let actor = self.take();
        *self = Self::Over;
        actor
    }

    pub(super) fn is_draining(&self) -> bool {
        matches!(self, Self::Draining(_))
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Emptying => "emptying",
            Self::Suspended(_) => "suspended",
            Self::Started(_) => "started",
            Self::Draining(_) => "draining",
            Self::Open(_) => "open",
            Self::Over => "over",
        }
    }
}
