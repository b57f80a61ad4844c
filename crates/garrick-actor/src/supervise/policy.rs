//! What a supervisor is told about its children: whom to restart, when, and how they are stopped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::backoff::Backoff;

use crate::failure::fault::Fault;
use crate::quiet;

/// How long a child that is stopped for good may take for what waits in its mailbox, unless told.
const DRAIN: Duration = Duration::from_secs(5);

/// Whom a supervisor restarts when one child is to be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// That child.
    OneForOne,
    /// All children.
    OneForAll,
    /// That child, and those that were started after it.
    RestForOne,
}

/// Which ends of a child lead to its restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Restart {
    /// Every end: also when it stops of its own will.
    #[default]
    Permanent,
    /// A failure. If it stops of its own will it has done its work, and is removed.
    Transient,
    /// None. It is removed when it has ended, and also when a sibling's failure takes it down.
    Temporary,
}

/// What is to be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// A new actor takes the failed one's place, behind the same address; what waits in the mailbox is kept
    /// for it. Counted against the supervisor's intensity.
    Restart,
    /// The actor goes on with its fields as the failure left them. If it is a supervisor that gave up, it
    /// begins anew.
    Resume,
    /// The child is dropped and removed; messages that wait are dropped with it.
    Stop,
    /// The supervisor stops all children and fails itself.
    Escalate,
}

/// How a child is stopped for good: when it is removed, or with the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// It first handles what was sent to it before, for so long at most.
    Drain(Duration),
    /// After the turn under way; messages that wait are dropped.
    Now,
    /// It first handles what was sent to it before, however long that takes.
    DrainAll,
}

impl Default for Shutdown {
    /// Five seconds.
    fn default() -> Self {
        Self::Drain(DRAIN)
    }
}

/// Looks at a fault and decides.
pub(super) type Decider = Box<dyn Fn(&Fault) -> Decision + Send>;

/// What a supervisor knows of a child beside how to make it.
pub(super) struct Policy {
    pub(super) name: Arc<str>,
    pub(super) restart: Restart,
    pub(super) shutdown: Shutdown,
    pub(super) backoff: Backoff,
    /// None restarts whatever the fault.
    pub(super) decider: Option<Decider>,
}

impl Policy {
    pub(super) fn new(name: impl Into<String>, shutdown: Shutdown) -> Self {
        Self {
            name: name.into().into(),
            restart: Restart::default(),
            shutdown,
            backoff: Backoff::NONE,
            decider: None,
        }
    }

    /// What is to be done about a fault.
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

    /// A restart, if it is one of those that are restarted.
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

/// The setters of a policy, for whatever has one.
macro_rules! policy_setters {
    () => {
        /// Which ends lead to a restart; [`Restart::Permanent`] unless told.
        pub fn restart(mut self, restart: Restart) -> Self {
            self.policy.restart = restart;
            self
        }

        /// How it is stopped for good; see [`Shutdown`] for what happens unless told.
        pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
            self.policy.shutdown = shutdown;
            self
        }

        /// How long to wait before a restart; not at all unless told.
        pub fn backoff(mut self, backoff: Backoff) -> Self {
            self.policy.backoff = backoff;
            self
        }

        /// What to do about each failure; [`Decision::Restart`] unless told. A decider that panics decides to
        /// escalate.
        pub fn decide(mut self, decider: impl Fn(&Fault) -> Decision + Send + 'static) -> Self {
            self.policy.decider = Some(Box::new(decider));
            self
        }
    };
}
pub(super) use policy_setters;
