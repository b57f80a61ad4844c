//! Policies for children. A policy determines whether and when a child is restarted, and how it is
//! stopped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::backoff::Backoff;

use crate::failure::fault::Fault;
use crate::quiet;

/// Default time limit for a child to handle the messages in its mailbox when it is stopped for
/// good.
const DRAIN: Duration = Duration::from_secs(5);

/// A setting that determines which children a supervisor restarts when one of them has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Only the failed child is restarted.
    OneForOne,
    /// All children are restarted.
    OneForAll,
    /// The failed child and all children that were started after it are restarted.
    RestForOne,
}

impl Strategy {
    /// Returns the strategy in words, for example `one for one`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneForOne => "one for one",
            Self::OneForAll => "one for all",
            Self::RestForOne => "rest for one",
        }
    }
}

/// A setting that determines when a child is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Restart {
    /// The child is restarted when it fails and when it stops by itself.
    #[default]
    Permanent,
    /// The child is restarted only when it fails. If it stops by itself, it is removed.
    Transient,
    /// The child is never restarted. It is removed when it fails, when it stops by itself, or when
    /// it is stopped because a sibling is restarted.
    Temporary,
}

/// The reaction of a supervisor to the failure of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// A new actor replaces the failed one at the same address.
    ///
    /// The new actor receives the messages that are waiting in the mailbox. This decision counts as
    /// a restart for the limit set by
    /// [`Supervisor::intensity`](crate::supervise::Supervisor::intensity).
    Restart,
    /// The failed actor continues. Its fields keep the values that the failed turn left in them. If
    /// the child is a supervisor that has given up, it starts its children again.
    Resume,
    /// The child is dropped and removed. The messages that are waiting in its mailbox become dead
    /// letters.
    Stop,
    /// The supervisor first stops all of its children. Then the supervisor itself fails.
    Escalate,
}

/// A setting that determines how a child is stopped when it is removed or when its tree is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// The child first handles the messages that are already in its mailbox, but for at most this
    /// duration. The child is then stopped, even if some of these messages are left.
    Drain(Duration),
    /// The child stops after its current turn. The messages that are waiting in its mailbox become
    /// dead letters.
    Now,
    /// The child first handles the messages that are already in its mailbox, without a time limit.
    DrainAll,
}

impl Default for Shutdown {
    /// Returns [`Shutdown::Drain`] with a limit of five seconds.
    fn default() -> Self {
        Self::Drain(DRAIN)
    }
}

/// A function that chooses the reaction to a fault.
pub(crate) type Decider = Box<dyn Fn(&Fault) -> Decision + Send>;

/// The supervisor's settings for a child, apart from its factory.
pub(crate) struct Policy {
    pub(crate) name: Arc<str>,
    pub(crate) restart: Restart,
    pub(crate) shutdown: Shutdown,
    pub(crate) backoff: Backoff,
    /// Function that chooses the reaction to a fault. If this is `None`, the child is restarted
    /// after every fault.
    pub(crate) decider: Option<Decider>,
}

impl Policy {
    pub(crate) fn new(name: Arc<str>, shutdown: Shutdown) -> Self {
        Self {
            name,
            restart: Restart::default(),
            shutdown,
            backoff: Backoff::NONE,
            decider: None,
        }
    }

    /// Replaces each decision to resume with a decision to restart. Used for actors that cannot
    /// resume after a failure.
    pub(crate) fn restart_instead_of_resuming(&mut self) {
        let decider = self.decider.take();
        self.decider = decider.map(|decider| -> Decider {
            Box::new(move |fault| match decider(fault) {
                Decision::Resume => Decision::Restart,
                decision => decision,
            })
        });
    }

    /// Returns the reaction to a fault.
    pub(super) fn decide(&self, fault: &Fault) -> Decision {
        let decision = match (fault, &self.decider) {
            (Fault::Stopped, _) if self.restart == Restart::Permanent => Decision::Restart,
            (Fault::Stopped, _) => Decision::Stop,
            (_, None) => Decision::Restart,
            // A decider that panics has made no decision, so the parent decides.
            (_, Some(decider)) => quiet::call(|| decider(fault)).unwrap_or(Decision::Escalate),
        };
        match decision {
            Decision::Restart => self.restart(),
            decision => decision,
        }
    }

    /// Returns `Restart`, or `Stop` if the child is never restarted.
    pub(super) fn restart(&self) -> Decision {
        match self.restart {
            Restart::Temporary => Decision::Stop,
            Restart::Permanent | Restart::Transient => Decision::Restart,
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &self.name)
            .field("restart", &self.restart)
            .field("shutdown", &self.shutdown)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

/// Defines setters for the fields of a policy. Used in the `impl` blocks of types that contain a
/// policy.
macro_rules! policy_setters {
    () => {
        /// Sets when the child is restarted. The default is [`Restart::Permanent`].
        pub fn restart(mut self, restart: Restart) -> Self {
            self.policy.restart = restart;
            self
        }

        /// Sets how the child is stopped when it is removed or when its tree is stopped. The
        /// default is [`Shutdown::Drain`] with a limit of five seconds for an actor, and
        /// [`Shutdown::DrainAll`] for a supervisor.
        pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
            self.policy.shutdown = shutdown;
            self
        }

        /// Sets the delay before a restart. By default, there is no delay.
        pub fn backoff(mut self, backoff: Backoff) -> Self {
            self.policy.backoff = backoff;
            self
        }

        /// Sets the function that chooses the supervisor's reaction when the child has failed. The
        /// default reaction is [`Decision::Restart`]. If the function panics, the reaction is
        /// [`Decision::Escalate`].
        pub fn decide(mut self, decider: impl Fn(&Fault) -> Decision + Send + 'static) -> Self {
            self.policy.decider = Some(Box::new(decider));
            self
        }
    };
}
pub(crate) use policy_setters;
