//! Mailboxes. A mailbox determines how many messages can wait for an actor, what happens to a
//! message if the mailbox is full, and which message is handled next.
//!
//! By default, the mailbox of an actor is unbounded. An unbounded mailbox is a linked list of
//! arrays of increasing size, so each message costs one store, no matter how many messages wait. A
//! bounded mailbox also has counters next to the actor: senders count the messages that they send,
//! and the actor counts the messages that it takes. Unbounded mailboxes have no such cost.
//! Mailboxes that order messages by rank or drop the oldest message are implemented by a
//! [`door`](crate::door) in front of the actor.
//!
//! ```text
//!              Address<M>
//!   senders ---------------> room? ----------------------> actor
//!                             |                              |
//!                             +-- no: wait, fail, drop       +-- handles one message
//! ```

mod behind;

mod latest;
mod outlet;
mod priority;
mod sink;

use std::fmt;
use std::sync::Arc;

use garrick_sched::{Address, SpawnError, Spawns, Task, WhenFull};

use crate::model::actor::{Actor, Cell};
use crate::system::attached::Attached;
pub use crate::system::workload::Workload;
pub use garrick_sched::TrySendError;
pub use outlet::Outlet;
pub use sink::{AddressSink, SinkError};

/// Capacity of the default mailbox of an I/O-bound actor.
const IO_BOUND_CAPACITY: usize = 10_000;

/// The policy that determines what happens to a message that is sent to a full mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// The sender waits until there is room. [`Address::send_async`] waits as a future, and
    /// [`Address::send`] blocks the thread.
    ///
    /// An actor must not wait during a turn. If the mailbox is full, a message that is sent during
    /// a turn is returned to the sending actor, as with [`OnFull::Fail`]. A thread that alone runs
    /// the receiving actor, such as the thread of a [`Local`](crate::Local), gets its message back,
    /// too: it would wait for itself.
    Wait,
    /// The message is returned to the sender.
    Fail,
    /// The new message is dropped. [`Address::dropped`] returns the number of dropped messages.
    DropNewest,
    /// The oldest waiting message is dropped to make room for the new one. [`Address::dropped`]
    /// returns the number of dropped messages.
    ///
    /// A message that is sent during a turn is in transit until the receiving actor adds it to the
    /// queue. The number of messages in transit is limited to the capacity or to 1,024, whichever
    /// is larger. Beyond this limit, new messages are dropped. A message that is sent outside of
    /// turns can overtake messages in transit from the same actor, for example a message that is
    /// sent during [`Context::blocking`](crate::Context::blocking).
    ///
    /// This also applies to answers, messages of timers, and messages from the stash of the actor.
    /// Such a mailbox may drop them.
    DropOldest,
}

/// The error returned when a mailbox with a capacity of zero is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CapacityError;

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the capacity of a mailbox must be at least 1 message, but is 0")
    }
}

impl std::error::Error for CapacityError {}

type Rank<M> = Arc<dyn Fn(&M) -> i64 + Send + Sync>;

enum Kind<M> {
    Unbounded,
    Bounded { capacity: usize, on_full: OnFull },
    Priority(Rank<M>),
}

impl<M> Kind<M> {
    fn for_workload(workload: Workload) -> Self {
        match workload {
            Workload::IoBound => Self::Bounded {
                capacity: IO_BOUND_CAPACITY,
                on_full: OnFull::Wait,
            },
            Workload::CpuBound | Workload::Mixed => Self::Unbounded,
        }
    }

    /// Returns the kind of mailbox that suits the workload of the actors on `sponsor`, which is a
    /// system or a `Local`.
    fn suited(sponsor: &garrick_sched::Handle) -> Self {
        let attached = Attached::of(sponsor);
        Self::for_workload(attached.map_or(Workload::Mixed, |attached| attached.workload))
    }
}

/// The configuration of an actor's mailbox. Pass it to
/// [`Spawn::mailbox`](crate::spawn::Spawn::mailbox).
///
/// # Examples
/// ```
/// use garrick_actor::mailbox::{Mailbox, OnFull};
/// use garrick_actor::{System, behavior};
///
/// let system = System::new()?;
/// let mailbox = Mailbox::bounded(100, OnFull::Wait)?;
/// let slow = system
///     .actor(behavior(|n: u64, _| {
///         std::hint::black_box(n);
///     }))
///     .mailbox(mailbox)
///     .spawn()?;
/// for n in 0..10_000 {
///     // Waits while the mailbox contains 100 messages.
///     slow.send(n)?;
/// }
/// system.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mailbox<M> {
    /// Kind of the mailbox. `None` for the default mailbox, which depends on the workload of the
    /// system or [`Local`](crate::Local) that runs the actor.
    kind: Option<Kind<M>>,
}

impl<M> From<Kind<M>> for Mailbox<M> {
    fn from(kind: Kind<M>) -> Self {
        Self { kind: Some(kind) }
    }
}

impl<M> Mailbox<M> {
    /// Creates an unbounded mailbox that delivers messages in the order of arrival. Actors have
    /// this mailbox by default.
    #[must_use]
    pub fn unbounded() -> Self {
        Kind::Unbounded.into()
    }

    /// Creates a mailbox that holds at most `capacity` messages, in the order of arrival. `on_full`
    /// determines what happens to a message if the mailbox is full.
    ///
    /// A message that is sent during a turn counts towards the capacity immediately, even before
    /// the turn commits.
    ///
    /// # Errors
    /// Returns [`CapacityError`] if the capacity is zero.
    pub fn bounded(capacity: usize, on_full: OnFull) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError);
        }
        Ok(Kind::Bounded { capacity, on_full }.into())
    }

    /// Creates an unbounded priority mailbox. `rank` returns the rank of a message. Of all waiting
    /// messages, the one with the highest rank is handled next.
    ///
    /// Messages with the same rank are handled in the order of arrival. Each message costs two
    /// turns: one to insert it into a heap and one to handle it.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use garrick_actor::mailbox::Mailbox;
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let (told, heard) = mpsc::channel();
    /// let actor = behavior(move |n: i64, _| {
    ///     told.send(n).unwrap();
    /// });
    /// let highest_first = local
    ///     .actor(actor)
    ///     .mailbox(Mailbox::priority(|n: &i64| *n))
    ///     .spawn();
    /// for n in [1, 3, 2] {
    ///     highest_first.send(n)?;
    /// }
    /// local.run();
    /// assert_eq!(heard.try_iter().collect::<Vec<_>>(), [3, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(rank: impl Fn(&M) -> i64 + Send + Sync + 'static) -> Self {
        Kind::Priority(Arc::new(rank)).into()
    }

    /// Creates the default mailbox for a workload. For [`Workload::IoBound`], the mailbox is
    /// bounded and has a capacity of 10,000 messages. When it is full, senders wait. For any other
    /// workload, the mailbox is unbounded.
    #[must_use]
    pub fn for_workload(workload: Workload) -> Self {
        Kind::for_workload(workload).into()
    }
}

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            None => f.write_str("Mailbox::Suited"),
            Some(Kind::Unbounded) => f.write_str("Mailbox::Unbounded"),
            Some(Kind::Bounded { capacity, on_full }) => {
                write!(f, "Mailbox::Bounded({capacity}, {on_full:?})")
            }
            Some(Kind::Priority(_)) => f.write_str("Mailbox::Priority"),
        }
    }
}

/// Creates the default mailbox for the workload of the system that runs the actor.
/// [`Builder::workload`](crate::system::Builder::workload) sets this workload.
///
/// # Examples
/// ```
/// use garrick_actor::mailbox::{Mailbox, Workload};
/// use garrick_actor::{System, behavior};
///
/// let system = System::builder().workload(Workload::IoBound).start()?;
/// let io = system
///     .actor(behavior(|_: u32, _| ()))
///     .mailbox(Mailbox::default())
///     .spawn()?;
/// assert_eq!(io.capacity(), Some(10_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        Self { kind: None }
    }
}

/// Implemented by everything that can spawn the actor behind a mailbox.
pub(crate) trait Ground: Spawns {
    /// Returns the scheduler's handle to the threads that run the actor.
    fn sponsor(&self) -> garrick_sched::Handle;
}

/// The capacity of a bounded mailbox that delivers messages in the order of arrival, and the policy
/// that applies when the mailbox is full.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Bound {
    pub(crate) capacity: usize,
    pub(crate) when_full: WhenFull,
}

impl Bound {
    fn new(capacity: usize, on_full: OnFull) -> Option<Self> {
        let when_full = match on_full {
            OnFull::Wait => WhenFull::Wait,
            OnFull::Fail => WhenFull::Fail,
            OnFull::DropNewest => WhenFull::Drop,
            OnFull::DropOldest => return None,
        };
        Some(Self {
            capacity,
            when_full,
        })
    }
}

impl<M> Mailbox<M> {
    /// Returns the capacity of this mailbox, and the policy for messages that arrive when it is
    /// full (a [`Bound`]). Returns `None` if the mailbox is unbounded. `sponsor` is the handle of
    /// the threads that will run the actor.
    ///
    /// # Errors
    /// Fails if this mailbox orders messages by rank or drops the oldest message.
    pub(crate) fn into_bound(self, sponsor: &garrick_sched::Handle) -> Result<Option<Bound>, ()> {
        match self.kind.unwrap_or_else(|| Kind::suited(sponsor)) {
            Kind::Unbounded => Ok(None),
            Kind::Bounded { capacity, on_full } => {
                Bound::new(capacity, on_full).map(Some).ok_or(())
            }
            Kind::Priority(_) => Err(()),
        }
    }
}

/// Spawns an actor with a mailbox.
///
/// # Errors
/// Returns the actor if the system is shutting down.
pub(crate) fn spawn_at<A>(
    ground: &impl Ground,
    mailbox: Mailbox<A::Msg>,
    actor: A,
) -> Result<Address<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let taken = |SpawnError(Cell(actor))| SpawnError(actor);
    let suited = || Kind::suited(&ground.sponsor());
    match mailbox.kind.unwrap_or_else(suited) {
        Kind::Unbounded => spawn_bound(ground, None, Cell(actor)).map_err(taken),
        Kind::Bounded { capacity, on_full } => match Bound::new(capacity, on_full) {
            None => latest::spawn(ground, capacity, actor),
            bound => spawn_bound(ground, bound, Cell(actor)).map_err(taken),
        },
        Kind::Priority(rank) => priority::spawn(ground, rank, actor),
    }
}

/// Spawns a task whose mailbox delivers messages in the order of arrival.
///
/// # Errors
/// Returns the task if it cannot be spawned.
pub(crate) fn spawn_bound<T>(
    ground: &impl Spawns,
    bound: Option<Bound>,
    task: T,
) -> Result<Address<T::Message>, SpawnError<T>>
where
    T: Task + Send,
    T::Message: Send,
{
    match bound {
        None => ground.spawn_task(task),
        Some(bound) => ground.spawn_bounded(bound.capacity, bound.when_full, task),
    }
}
