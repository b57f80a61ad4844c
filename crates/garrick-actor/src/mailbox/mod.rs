//! Mailboxes: how many messages may wait for an actor, what happens to one too many, and which comes next.
//!
//! An actor's own mailbox is unbounded: a chain of arrays that grow, so that a flood costs one store a message
//! (the chunked queue of seed 001's table). A bound is part of the actor's cell: senders count what they send, the actor what it
//! takes, and actors without a bound pay nothing. Another order, and dropping the oldest, are done by a door in front of the actor.
//!
//! ```text
//!              Address<M>
//!   senders ---------------> room? ----------------------> actor
//!                             |                              |
//!                             +-- no: wait, fail, drop       +-- one more is handled
//! ```

mod behind;
mod inlet;
mod latest;
mod outlet;

mod bounded;
mod priority;
mod sink;

use std::fmt;
use std::sync::Arc;

use garrick_sched::{Address, SpawnError};

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::system::handle::Handle;
use crate::system::pool::System;
use crate::system::workload::Workload;
pub use garrick_sched::TrySendError;
pub use inlet::Inlet;
pub use outlet::Outlet;
pub use sink::{InletSink, SinkError};

/// Messages that wait for an I/O-bound actor, by seed 001's table.
const IO_BOUND_CAPACITY: usize = 10_000;

/// What happens to a message for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// The sender waits: [`Inlet::send`] as a future, [`Address::send`] on a plain thread by blocking it. In a turn
    /// nobody may wait, and the message comes back as with [`OnFull::Fail`].
    Wait,
    /// The message comes back to the sender.
    Fail,
    /// The message is dropped, and counted by [`Inlet::dropped`].
    DropNewest,
    /// The message that has waited longest is dropped for it, and counted. What turns send is put in its place when the
    /// actor gets to it; until then as many again, or 1,024, may be on their way, and beyond that the newest is dropped.
    DropOldest,
}

/// A bound that leaves room for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CapacityError;

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mailbox of capacity 0 takes no message: it must be at least 1")
    }
}

impl std::error::Error for CapacityError {}

type Rank<M> = Arc<dyn Fn(&M) -> i64 + Send + Sync>;

enum Kind<M> {
    /// What suits the workload of the sponsor.
    Suited,
    Unbounded,
    Bounded {
        capacity: usize,
        on_full: OnFull,
    },
    Priority(Rank<M>),
}

/// A kind of mailbox, to spawn an actor with.
///
/// # Examples
/// ```
/// use garrick_actor::{Mailbox, OnFull, System, behavior};
///
/// let system = System::new()?;
/// let mailbox = Mailbox::bounded(100, OnFull::Wait)?;
/// let slow = system.spawn_with(mailbox, behavior(|n: u64, _| {
///     std::hint::black_box(n);
/// }))?;
/// for n in 0..10_000 {
///     // Waits while a hundred are there already.
///     slow.address().send(n)?;
/// }
/// system.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mailbox<M> {
    kind: Kind<M>,
}

impl<M> Mailbox<M> {
    /// No bound, in order of arrival; as [`System::spawn`] has it.
    #[must_use]
    pub fn unbounded() -> Self {
        Self {
            kind: Kind::Unbounded,
        }
    }

    /// At most `capacity` messages wait, those included that were sent in turns which are still to commit.
    ///
    /// # Errors
    /// [`CapacityError`] if there is room for none.
    pub fn bounded(capacity: usize, on_full: OnFull) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError);
        }
        Ok(Self {
            kind: Kind::Bounded { capacity, on_full },
        })
    }

    /// The message of the highest rank is next, and of those with the same the one that came first. Unbounded.
    /// A message costs two turns: one puts it in its place.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Mailbox, behavior};
    /// use std::sync::mpsc;
    ///
    /// let local = Local::new()?;
    /// let (told, heard) = mpsc::channel();
    /// let actor = behavior(move |n: i64, _| {
    ///     told.send(n).unwrap();
    /// });
    /// let inlet = local.handle().spawn_with(Mailbox::priority(|n: &i64| *n), actor)?;
    /// for n in [1, 3, 2] {
    ///     inlet.address().send(n)?;
    /// }
    /// local.run();
    /// assert_eq!(heard.try_iter().collect::<Vec<_>>(), [3, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(rank: impl Fn(&M) -> i64 + Send + Sync + 'static) -> Self {
        Self {
            kind: Kind::Priority(Arc::new(rank)),
        }
    }

    /// The mailbox that suits a workload.
    #[must_use]
    pub fn for_workload(workload: Workload) -> Self {
        match workload {
            Workload::IoBound => Self {
                kind: Kind::Bounded {
                    capacity: IO_BOUND_CAPACITY,
                    on_full: OnFull::Wait,
                },
            },
            Workload::CpuBound | Workload::Mixed => Self::unbounded(),
        }
    }
}

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Suited => f.write_str("Mailbox::Suited"),
            Kind::Unbounded => f.write_str("Mailbox::Unbounded"),
            Kind::Bounded { capacity, on_full } => {
                write!(f, "Mailbox::Bounded({capacity}, {on_full:?})")
            }
            Kind::Priority(_) => f.write_str("Mailbox::Priority"),
        }
    }
}

/// The mailbox that suits the workload of the sponsor where the actor is made, see
/// [`Builder::workload`](crate::Builder::workload).
///
/// # Examples
/// ```
/// use garrick_actor::{Mailbox, Next, System, Workload, behavior};
///
/// let system = System::builder().workload(Workload::IoBound).start()?;
/// let inlet = system.spawn_with(Mailbox::default(), behavior(|_: u32, _| Next::Continue))?;
/// assert_eq!(inlet.capacity(), Some(10_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        Self { kind: Kind::Suited }
    }
}

/// Where the actor behind a mailbox is made.
trait Place {
    /// The sponsor, as the scheduler has it.
    fn sponsor(&self) -> garrick_sched::Handle;

    /// What the sponsor's actors do.
    fn workload(&self) -> Workload {
        self.sponsor()
            .attachment()
            .copied()
            .unwrap_or(Workload::Mixed)
    }

    fn spawn<A>(&self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send;
}

impl Place for Handle {
    fn sponsor(&self) -> garrick_sched::Handle {
        Handle::sponsor(self)
    }

    fn spawn<A>(&self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        Handle::spawn(self, actor)
    }
}

impl<M: 'static> Place for Context<'_, M> {
    fn sponsor(&self) -> garrick_sched::Handle {
        self.turn().sponsor()
    }

    fn spawn<A>(&self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        Ok(Context::spawn(self, actor))
    }
}

fn spawn_at<A>(
    place: &impl Place,
    mailbox: Mailbox<A::Msg>,
    actor: A,
) -> Result<Inlet<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    match mailbox.kind {
        Kind::Suited => spawn_at(place, Mailbox::for_workload(place.workload()), actor),
        Kind::Unbounded => place.spawn(actor).map(Inlet::open),
        Kind::Bounded {
            capacity,
            on_full: OnFull::DropOldest,
        } => latest::spawn(place, capacity, actor),
        Kind::Bounded { capacity, on_full } => bounded::spawn(place, capacity, on_full, actor),
        Kind::Priority(rank) => priority::spawn(place, rank, actor).map(Inlet::open),
    }
}

impl Handle {
    /// Makes an actor behind a mailbox of that kind.
    ///
    /// # Errors
    /// Gives the actor back if the system is ending.
    pub fn spawn_with<A>(
        &self,
        mailbox: Mailbox<A::Msg>,
        actor: A,
    ) -> Result<Inlet<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        spawn_at(self, mailbox, actor)
    }
}

impl System {
    /// Makes an actor behind a mailbox of that kind.
    ///
    /// # Errors
    /// Gives the actor back if the system is ending.
    ///
    /// # Examples
    /// See [`Mailbox`].
    pub fn spawn_with<A>(
        &self,
        mailbox: Mailbox<A::Msg>,
        actor: A,
    ) -> Result<Inlet<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.handle().spawn_with(mailbox, actor)
    }
}

impl<M: 'static> Context<'_, M> {
    /// Makes an actor on this worker behind a mailbox of that kind. If the turn is undone, nothing can have
    /// reached it, and it is dropped with its address.
    pub fn spawn_with<A>(&self, mailbox: Mailbox<A::Msg>, actor: A) -> Inlet<A::Msg>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        spawn_at(self, mailbox, actor)
            .unwrap_or_else(|_| unreachable!("a turn can always make an actor"))
    }
}
