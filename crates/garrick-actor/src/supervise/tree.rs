//! Creation of supervisors, and operations on a running tree.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_core::backoff::{Backoff, Intensity};
use garrick_sched::{Address, Ask, Ended, Orders, Watch};

use super::crew::Crew;
use super::face::{self, Face, Snapshot};
use super::facts::Facts;
use super::forest::Forest;
use super::member::{Branch, Leaf};
use super::note::{Desk, Line, Note};
use super::policy::{Decision, Policy, Restart, Shutdown, Strategy, policy_setters};
use super::root::{Root, SUPERVISOR};
use super::seat::Front;
use super::told::Told;
use crate::failure::fault::Fault;
use crate::failure::office::Office;
use crate::failure::path::ActorPath;
use crate::mailbox::{Bound, spawn_bound};
use crate::model::actor::Actor;
use crate::system::attached::Attached;
use crate::system::handle::Handle;

/// Default number of restarts that a supervisor allows within [`WITHIN`].
const RESTARTS_MAX: usize = 3;
/// Default period within which a supervisor allows [`RESTARTS_MAX`] restarts.
const WITHIN: Duration = Duration::from_secs(5);

/// The error returned when a supervisor or a supervised actor cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuperviseError {
    /// The system is shutting down and accepts no new actors.
    SystemEnding,
    /// The supervisor has stopped.
    SupervisorEnded,
    /// The mailbox cannot be used for a supervised actor, because it is ordered by rank or drops
    /// the oldest message.
    Mailbox,
}

impl fmt::Display for SuperviseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SystemEnding => "the system is shutting down and accepts no new actors",
            Self::SupervisorEnded => "the supervisor has stopped and accepts no new children",
            Self::Mailbox => {
                "a supervised actor cannot have a mailbox that is ordered by rank or that drops the oldest message; use an unbounded mailbox, or a bounded one with `OnFull::Wait`, `OnFull::Fail` or `OnFull::DropNewest`"
            }
        })
    }
}

impl std::error::Error for SuperviseError {}

/// A builder for a supervisor. Its settings determine which children are restarted when one of them
/// fails, and when the supervisor gives up.
///
/// The setters [`restart`](Supervisor::restart), [`shutdown`](Supervisor::shutdown),
/// [`backoff`](Supervisor::backoff) and [`decide`](Supervisor::decide) have an effect only if this
/// supervisor is a child of another supervisor. These setters configure how the parent restarts and
/// stops this supervisor.
///
/// # Examples
/// ```
/// use garrick_actor::supervise::{Strategy, Supervisor};
/// use garrick_actor::{Actor, Context, Next, Reply, System};
///
/// /// Counts, and fails at 13.
/// struct Counter(u64);
///
/// enum Msg {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// impl Actor for Counter {
///     type Msg = Msg;
///     type Outcome = Next;
///
///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
///         match msg {
///             Msg::Add(13) => return cx.fail("13 is not counted"),
///             Msg::Add(n) => self.0 += n,
///             Msg::Get(reply) => reply.send(self.0),
///         }
///         Next::Continue
///     }
/// }
///
/// let system = System::new()?;
/// let tree = Supervisor::new("app", Strategy::OneForOne).spawn(&system.handle())?;
/// let counter = system
///     .actor(|| Counter(0))
///     .named("counter")
///     .supervised_by(&tree)
///     .spawn()?;
/// counter.send(Msg::Add(5))?;
/// assert_eq!(counter.ask(Msg::Get).wait(), Ok(5));
/// counter.send(Msg::Add(13))?;
/// counter.send(Msg::Add(2))?;
/// assert_eq!(
///     counter.ask(Msg::Get).wait(),
///     Ok(2),
///     "a new one, behind the same address"
/// );
/// tree.stop().wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a supervisor is started by `Supervisor::spawn` or `Supervisor::spawn_under`"]
#[derive(Debug)]
pub struct Supervisor {
    policy: Policy,
    strategy: Strategy,
    intensity: Intensity,
    reports_restarts: bool,
}

impl Supervisor {
    /// Creates a builder for a supervisor. By default, the supervisor allows 3 restarts within 5
    /// seconds. If a fourth restart becomes necessary within 5 seconds, the supervisor gives up: it
    /// stops its children and fails.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    #[track_caller]
    pub fn new(name: impl Into<String>, strategy: Strategy) -> Self {
        let name: String = name.into();
        let policy = Policy::new(name.into(), Shutdown::DrainAll);
        ActorPath::check(&policy.name);
        Self {
            policy,
            strategy,
            intensity: Intensity::new(RESTARTS_MAX, WITHIN),
            reports_restarts: true,
        }
    }

    /// Allows at most `restarts_max` restarts within the duration `within`. If one more restart
    /// becomes necessary within this duration, the supervisor gives up: it stops its children and
    /// fails.
    pub fn intensity(mut self, restarts_max: usize, within: Duration) -> Self {
        self.intensity = Intensity::new(restarts_max, within);
        self
    }

    /// Sets whether the failures of the supervisor's children are reported. The default is true. If
    /// the system was started with `report_restarts(false)`, nothing is reported, even if `report`
    /// is true.
    ///
    /// A report contains the path of the child, the reason, and what happens to the child. By
    /// default, reports are printed to standard error, with at most one line per second for each
    /// supervisor. If reports were not printed, one more line at the end of the second states their
    /// number. [`Builder::on_failure`](crate::system::Builder::on_failure) sets a function that
    /// receives all reports instead.
    ///
    /// [`Handle::recent_failures`](crate::Handle::recent_failures) returns the latest failures even
    /// if `report` is false.
    pub fn report_restarts(mut self, report: bool) -> Self {
        self.reports_restarts = report;
        self
    }

    policy_setters!();

    /// Starts the supervisor as the root of a tree.
    ///
    /// The supervisor runs until it is stopped, until it gives up, or until the system shuts down.
    /// If it gives up, it fails like an unsupervised actor.
    ///
    /// # Errors
    /// Returns [`SuperviseError::SystemEnding`] if the system is shutting down.
    pub fn spawn(self, handle: &Handle) -> Result<Tree, SuperviseError> {
        self.spawn_below(handle, None)
    }

    /// Starts this supervisor as a child of the supervisor `tree`. When `tree` restarts this
    /// supervisor, the children of this supervisor are restarted too.
    ///
    /// # Errors
    /// Returns [`SuperviseError::SystemEnding`] if the system is shutting down, or
    /// [`SuperviseError::SupervisorEnded`] if `tree` has stopped.
    pub fn spawn_under(self, tree: &Tree) -> Result<Tree, SuperviseError> {
        let line = tree.line();
        let id = line.id;
        let mut below = self;
        let own = Policy::new(below.policy.name.clone(), below.policy.shutdown);
        let policy = mem::replace(&mut below.policy, own);
        let below = below.spawn_below(&tree.handle, Some((line, &tree.path)))?;
        let office = office_of(&tree.handle.sponsor());
        let facts = Facts::new(Some(below.path.clone()), SUPERVISOR, office);
        let branch = Branch {
            address: below.address.clone(),
            face: below.face.clone(),
            facts: Arc::new(facts),
        };
        tree.send(Note::Add(id, policy, Box::new(branch)))?;
        Ok(below)
    }

    fn spawn_below(
        self,
        handle: &Handle,
        parent: Option<(Line, &ActorPath)>,
    ) -> Result<Tree, SuperviseError> {
        let (parent, above) = parent.unzip();
        let path = ActorPath::new(above, &self.policy.name);
        let forest = Forest::of(handle);
        let changes = forest.as_ref().map(|forest| forest.changes());
        let face = Face::new(
            self.policy.name.clone(),
            path.clone(),
            self.strategy,
            changes.unwrap_or_default(),
        );
        let face = Arc::new(Mutex::new(face));
        let desk = Desk::default();
        let crew = Crew::new(self.strategy, face.clone());
        let told = Told::new(path.clone(), !self.reports_restarts);
        let is_root = parent.is_none();
        let root = Root::new(told, crew, desk.clone(), self.intensity, parent);
        let address = handle.spawn_task(root);
        let address = address.map_err(|_| SuperviseError::SystemEnding)?;
        if let Some(forest) = forest.filter(|_| is_root) {
            forest.plant(face.clone());
        }
        Ok(Tree {
            address,
            path,
            face,
            desk,
            handle: handle.clone(),
        })
    }
}

/// The name and the path of a new child, for reports.
pub(crate) struct About {
    /// Path of the child, if it has a name.
    pub(crate) path: Option<ActorPath>,
    /// Name of the actor's type.
    pub(crate) task: &'static str,
}

/// Returns the office of a system, which is the destination of its failure reports. Returns `None`
/// if the threads of `sponsor` do not belong to a system.
fn office_of(sponsor: &garrick_sched::Handle) -> Option<Arc<Office>> {
    Attached::of(sponsor).map(|attached| attached.office.clone())
}

/// A handle to a running supervisor. The `Display` implementation draws the supervisor and all of
/// its descendants as a tree.
///
/// Dropping the handle does not stop the supervisor.
#[derive(Clone)]
pub struct Tree {
    address: Address<Note>,
    path: ActorPath,
    face: Arc<Mutex<Face>>,
    desk: Desk,
    handle: Handle,
}

impl Tree {
    fn line(&self) -> Line {
        Line {
            id: self.desk.next_id(),
            supervisor: self.address.clone(),
            desk: self.desk.clone(),
        }
    }

    /// Returns the handle to the system or [`Local`](crate::Local) that runs the supervisor.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the path of the supervisor.
    pub(crate) fn path(&self) -> &ActorPath {
        &self.path
    }

    /// Spawns the seat of a new child (the task that contains the actor of the child) on the system
    /// `sponsor`.
    ///
    /// # Errors
    /// Returns a [`SuperviseError`] if the child cannot be spawned.
    pub(crate) fn seat<A>(
        &self,
        factory: Box<dyn Fn() -> A + Send>,
        policy: Policy,
        sponsor: &garrick_sched::Handle,
        bound: Option<Bound>,
        about: About,
    ) -> Result<Address<A::Msg>, SuperviseError>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        let line = self.line();
        let id = line.id;
        let orders = Arc::new(Orders::default());
        let facts = Arc::new(Facts::new(about.path, about.task, office_of(sponsor)));
        let front = Front::new(factory, line, orders.clone(), facts.clone());
        let front = spawn_bound(sponsor, bound, front);
        let front = front.map_err(|_| SuperviseError::SystemEnding)?;
        let leaf = Leaf::<A> {
            orders,
            front: front.clone(),
            sponsor: (*sponsor != self.handle.sponsor()).then(|| sponsor.clone()),
            facts,
        };
        self.send(Note::Add(id, policy, Box::new(leaf)))?;
        Ok(front)
    }

    fn send(&self, note: Note) -> Result<(), SuperviseError> {
        let sent = self.address.send(note);
        sent.map_err(|_| SuperviseError::SupervisorEnded)
    }

    /// Stops and removes the child named `name`, or the oldest one if several children have this
    /// name.
    ///
    /// The answer is true, and arrives after the child has stopped. If there is no such child, the
    /// answer is false.
    pub fn remove(&self, name: impl Into<String>) -> Ask<bool> {
        let name = name.into();
        self.address.ask(|reply| Note::Remove(name, reply))
    }

    /// Stops all children of the supervisor, and then the supervisor itself.
    ///
    /// The children are stopped permanently, in the reverse of the order in which they were
    /// started. Each child is stopped according to its [`Shutdown`]. The answer arrives after the
    /// supervisor has stopped. If the supervisor had already stopped before this call, the answer
    /// is [`NoReply::Dropped`](crate::NoReply::Dropped).
    pub fn stop(&self) -> Ask<()> {
        self.address.ask(|reply| Note::Stop(Some(reply)))
    }

    /// Calls `notice` when the supervisor has stopped, like [`Address::watch`].
    pub fn watch(&self, notice: impl FnOnce(Ended) + Send + 'static) -> Watch {
        self.address.watch(notice)
    }

    /// Returns true if the supervisor has stopped. A supervisor that has stopped never runs again,
    /// so a result of true is final. A result of false may be outdated immediately.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.address.is_stopped()
    }

    /// Returns the current state of the tree.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut left = usize::MAX;
        face::look(&self.face, &mut left)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tree").field(&self.snapshot()).finish()
    }
}
