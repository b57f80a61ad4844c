//! Inspection of a single actor. The worker and the supervisor of the actor provide the data.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Look, Looking, Standing};

use crate::failure::path::ActorPath;
use crate::failure::short::short_type_name;
use crate::supervise::{ChildState, LastFailure, SnapshotOf};
use crate::system::handle::Handle;
use crate::system::pool::System;

/// Maximum time for which [`Handle::inspect`] waits for the worker of the actor.
const PATIENCE: Duration = Duration::from_millis(200);

/// The facts that are known about a single actor, as returned by [`Handle::inspect`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Name of the actor's type, without modules. For a [`door`](crate::door) without an actor, the
    /// name of the door.
    pub task: String,
    /// Name of the actor. A child that was spawned without a name has the name that its supervisor
    /// uses in reports. `None` if the actor has no name, or if `path` is `None`.
    pub name: Option<String>,
    /// Path of the actor. For an actor without a name, the path consists of the actor's type and
    /// id. `None` for an actor without a supervisor if no worker has answered, or if the state is
    /// [`ActorState::Aside`].
    pub path: Option<ActorPath>,
    /// State of the actor.
    pub state: ActorState,
    /// Number of messages that wait in the mailbox. The message that is being handled and the
    /// messages in the stash are not counted. `None` if the number is not known, which is the case
    /// in these situations:
    ///
    /// - The actor is async, or its mailbox has priorities.
    /// - The mailbox is unbounded, and the worker has not answered.
    /// - The state is [`ActorState::Child`], for example because the actor has failed and has not
    ///   been restarted yet.
    pub waiting: Option<u64>,
    /// Maximum number of waiting messages, if the mailbox is bounded.
    pub capacity: Option<usize>,
    /// Number of times that the supervisor has restarted the actor. `None` for an actor without a
    /// supervisor.
    pub restarts: Option<u64>,
    /// Latest failure of the actor, if it has a supervisor and has failed.
    pub last_failure: Option<LastFailure>,
}

/// The state of an actor, in an [`Inspection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActorState {
    /// The actor has nothing to do.
    Idle,
    /// The actor has messages, and waits until its worker runs it.
    Ready,
    /// A turn of the actor has begun but does not occupy the worker. The turn is in
    /// [`cx.blocking`](crate::Context::blocking), waits for a thread on which it can block, or
    /// waits until its events are durable.
    Aside,
    /// The worker of the actor did not answer in time. The worker is running a long turn, possibly
    /// of this actor.
    Unanswered,
    /// The supervisor of the actor reports this state. The state is never [`ChildState::Up`].
    Child(ChildState),
    /// The actor has ended.
    Ended,
    /// The state is not known. Either the address leads to a [`door`](crate::door) instead of an
    /// actor, or the caller is in a turn, which must not wait.
    Unknown,
}

impl Handle {
    /// Returns what is known about the actor with this address. The actor must belong to this
    /// system.
    ///
    /// The data come from the worker of the actor and from the records of its supervisor. The
    /// worker answers between two activations (runs of ready actors), so the call starts no turn,
    /// does not change the order of messages, and delays no other actor. The call waits at most 200
    /// ms for the worker. If the worker is in a longer turn, the result contains what is known
    /// without the answer of the worker. A call from within a turn does not wait.
    ///
    /// A [`Local`](crate::Local) answers only while its thread runs its actors.
    ///
    /// To answer, the worker needs about 1 ns for each of its ready actors.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::inspect::ActorState;
    /// use garrick_actor::{System, behavior};
    ///
    /// let system = System::new()?;
    /// let till = system.actor(behavior(|_: u32, _| ())).named("till").spawn()?;
    /// let seen = system.inspect(&till);
    /// assert_eq!((seen.state, seen.waiting), (ActorState::Idle, Some(0)));
    /// assert_eq!(seen.name.as_deref(), Some("till"));
    /// assert!(seen.path.unwrap().as_str().starts_with("/user/till#"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn inspect<M: 'static>(&self, address: &Address<M>) -> Inspection {
        let Look { name, looking } = address.look();
        let looking = match looking {
            Looking::Asked(asking) => asking.wait(PATIENCE),
            known => known,
        };
        let mut inspection = Inspection {
            task: short_type_name(name),
            name: None,
            path: None,
            state: state_of(&looking, address.is_stopped()),
            waiting: None,
            capacity: address.capacity(),
            restarts: None,
            last_failure: None,
        };
        if let Looking::Seen(seen) = looking {
            let unnamed = || ActorPath::of_unnamed(name, address.id());
            let path = seen.label.as_deref().map(ActorPath::of_text);
            // The label of an actor that is in use is not known.
            let is_known = seen.standing != Standing::Aside;
            inspection.path = path.or_else(|| is_known.then(unnamed));
            inspection.waiting = seen.waiting;
        }
        if let Some(waiting) = address.waiting() {
            inspection.waiting.get_or_insert(waiting as u64);
        }
        let name = inspection.path.as_ref().and_then(ActorPath::name);
        inspection.name = name.map(ToOwned::to_owned);
        if let Some(child) = self.supervised(address.id()) {
            inspection.add(child);
        }
        inspection
    }
}

impl System {
    /// Returns what is known about the actor with this address, like [`Handle::inspect`].
    #[must_use]
    pub fn inspect<M: 'static>(&self, address: &Address<M>) -> Inspection {
        self.as_handle().inspect(address)
    }
}

/// Returns the state of an actor, according to the answer of its worker. `is_stopped` is true if
/// the actor is known to have stopped.
fn state_of(looking: &Looking, is_stopped: bool) -> ActorState {
    match looking {
        Looking::Seen(seen) => match seen.standing {
            Standing::Idle => ActorState::Idle,
            Standing::Ready => ActorState::Ready,
            Standing::Aside => ActorState::Aside,
        },
        Looking::Asked(_) => ActorState::Unanswered,
        Looking::Ended => ActorState::Ended,
        Looking::Unknown if is_stopped => ActorState::Ended,
        Looking::Unknown => ActorState::Unknown,
    }
}

impl Inspection {
    /// Adds the data in `child`, which the supervisor of the actor has recorded.
    fn add(&mut self, child: SnapshotOf) {
        self.name = Some(child.name);
        self.path = Some(child.path);
        self.task = short_type_name(child.task);
        self.restarts = Some(child.restarts);
        self.last_failure = child.last_failure;
        if child.state != ChildState::Up {
            self.state = ActorState::Child(child.state);
            // Messages that have arrived meanwhile are not in the mailbox.
            self.waiting = None;
        }
    }
}

impl fmt::Display for ActorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Ready => "ready",
            Self::Aside => "aside",
            Self::Unanswered => "no answer from its worker",
            Self::Child(state) => return state.fmt(f),
            Self::Ended => "ended",
            Self::Unknown => "unknown",
        })
    }
}
