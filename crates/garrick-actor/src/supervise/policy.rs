//! Policies for children: which are restarted, when, and how they are stopped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::backoff::Backoff;

use crate::failure::fault::Fault;
use crate::quiet;

/// Default time limit for a child that is stopped for good to handle the messages in its mailbox.
const DRAIN: Duration = Duration::from_secs(5);

/// The set of children that are restarted when one child is to be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Only the child.
    OneForOne,
    /// All children.
    OneForAll,
    /// The child, and the children that were started after it.
    RestForOne,
}

/// The kinds of a child's end that lead to its restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Restart {
    /// Every end, also when the child stops by itself.
    #[default]
    Permanent,
    /// A failure. A child that stops by itself has done its work, and is removed.
    Transient,
    /// No end. The child is removed when it has ended, and also when a sibling's failure takes it
    /// down.
    Temporary,
}

/// The reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// A new actor takes the failed actor's place, behind the same address. Messages in the mailbox
    /// are kept for it. Counts against the supervisor's intensity.
    Restart,
    /// The actor goes on with its fields as the failure left them. A supervisor that gave up begins
    /// again.
    Resume,
    /// The child is dropped and removed. Messages that wait are dropped with it.
    Stop,
    /// The supervisor stops all children and fails itself.
    Escalate,
}

/// The way in which a child is stopped for good: when it is removed, or with the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// The child first handles the messages sent to it before, for at most this long.
    Drain(Duration),
    /// The child ends after the turn under way. Messages that wait are dropped.
    Now,
    /// The child first handles the messages sent to it before, however long that takes.
    DrainAll,
}

impl Default for Shutdown {
    /// Returns a drain of five seconds.
    fn default() -> Self {
        Self::Drain(DRAIN)
    }
}

/// A function that decides about a fault.
pub(crate) type Decider = Box<dyn Fn(&Fault) -> Decision + Send>;

/// The supervisor's settings for a child, apart from its factory.
pub(crate) struct Policy {
    pub(crate) name: Arc<str>,
    pub(crate) restart: Restart,
    pub(crate) shutdown: Shutdown,
    pub(crate) backoff: Backoff,
    /// Decider. `None` restarts after every fault.
    pub(crate) decider: Option<Decider>,
}

impl Policy {
    pub(crate) fn new(name: impl Into<String>, shutdown: Shutdown) -> Self {
        Self {
            name: name.into().into(),
            restart: Restart::default(),
            shutdown,
            backoff: Backoff::NONE,
            decider: None,
        }
    }

    /// Turns a decision to resume into a restart, for an actor that cannot go on after a failure.
    pub(crate) fn restart_instead_of_resuming(&mut self) {
        let decider = self.decider.take();
        self.decider = decider.map(|decider| -> Decider {
            Box::new(move |fault| match decider(fault) {
                Decision::Resume => Decision::Restart,
                decision => decision,
            })
        });
    }

    /// Returns the decision about a fault.
    pub(super) fn decide(&self, fault: &Fault) -> Decision {
        let decision = match (fault, &self.decider) {
            (Fault::Stopped, _) if self.restart == Restart::Permanent => Decision::Restart,
            (Fault::Stopped, _) => Decision::Stop,
            (_, None) => Decision::Restart,
            // A decider that panics cannot be trusted with the answer: the parent decides.
            (_, Some(decider)) => quiet::call(|| decider(fault)).unwrap_or(Decision::Escalate),
        };
        match decision {
            Decision::Restart => self.restart(),
            decision => decision,
        }
    }

    /// Returns a restart, or a stop if the child is never restarted.
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

/// Defines the setters of a policy for any type that has one.
macro_rules! policy_setters {
    () => {
        /// Sets which ends lead to a restart. [`Restart::Permanent`] by default.
        pub fn restart(mut self, restart: Restart) -> Self {
            self.policy.restart = restart;
            self
        }

        /// Sets how it is stopped for good. See [`Shutdown`] for the default.
        pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
            self.policy.shutdown = shutdown;
            self
        }

        /// Sets the wait before a restart. No wait by default.
        pub fn backoff(mut self, backoff: Backoff) -> Self {
            self.policy.backoff = backoff;
            self
        }

        /// Sets the decider for failures. [`Decision::Restart`] by default. A decider that panics
        /// decides to escalate.
        pub fn decide(mut self, decider: impl Fn(&Fault) -> Decision + Send + 'static) -> Self {
            self.policy.decider = Some(Box::new(decider));
            self
        }
    };
}
pub(crate) use policy_setters;
