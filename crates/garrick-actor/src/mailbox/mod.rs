//! Mailboxes: how many messages may wait for an actor, what happens on overflow, and which message
//! comes next.
//!
//! An actor's own mailbox is unbounded. It is a chain of arrays that grow, so that a flood costs
//! one store per message. A bound is part of the actor's cell: senders count the messages that they
//! send, the actor those that it takes. Actors without a bound pay nothing. A door in front of the
//! actor implements another order, and dropping the oldest message.
//!
//! ```text
//!              Address<M>
//!   senders ---------------> room? ----------------------> actor
//!                             |                              |
//!                             +-- no: wait, fail, drop       +-- handles one more
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

/// Capacity of the default mailbox of an I/O-bound actor.
const IO_BOUND_CAPACITY: usize = 10_000;

/// The policy for a message for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// The sender waits: [`Inlet::send`] as a future, [`Address::send`] on a plain thread by
    /// blocking it. A turn must not wait, so its message comes back as with [`OnFull::Fail`].
    Wait,
    /// The message is returned to the sender.
    Fail,
    /// The new message is dropped, and counted by [`Inlet::dropped`].
    DropNewest,
    /// The message that has waited longest is dropped instead, and counted. Messages sent in turns
    /// are queued when the actor gets to them. Until then as many messages as the capacity, or
    /// 1,024 if that is more, may be on their way. Beyond that the newest is dropped.
    DropOldest,
}

/// The error for a mailbox of capacity zero.
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
    /// The mailbox that suits the workload of the sponsor.
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
    /// Creates an unbounded mailbox in the order of arrival, as [`System::spawn`] uses it.
    #[must_use]
    pub fn unbounded() -> Self {
        Self {
            kind: Kind::Unbounded,
        }
    }

    /// Creates a mailbox in which at most `capacity` messages wait. Messages of turns that have not
    /// committed yet are included.
    ///
    /// # Errors
    /// Returns [`CapacityError`] if the capacity is zero.
    pub fn bounded(capacity: usize, on_full: OnFull) -> Result<Self, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError);
        }
        Ok(Self {
            kind: Kind::Bounded { capacity, on_full },
        })
    }

    /// Creates an unbounded mailbox ordered by rank. The message of the highest rank is next. Among
    /// messages of the same rank the first to arrive is next. A message costs two turns: one of
    /// them sorts it in.
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

    /// Creates the mailbox that suits a workload.
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

/// The mailbox that suits the workload of the sponsor that runs the actor. See
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

/// The place where the actor behind a mailbox is spawned.
trait Place {
    /// Returns the scheduler's handle of the sponsor.
    fn sponsor(&self) -> garrick_sched::Handle;

    /// Returns the workload of the sponsor's actors.
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
    /// Spawns an actor behind the given mailbox.
    ///
    /// # Errors
    /// Returns the actor if the system is shutting down.
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
    /// Spawns an actor behind the given mailbox.
    ///
    /// # Errors
    /// Returns the actor if the system is shutting down.
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
    /// Spawns an actor on this worker behind the given mailbox. If the turn is undone, no message
    /// can have reached the new actor, and it is dropped with its address.
    pub fn spawn_with<A>(&self, mailbox: Mailbox<A::Msg>, actor: A) -> Inlet<A::Msg>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        spawn_at(self, mailbox, actor)
            .unwrap_or_else(|_| unreachable!("a turn can always make an actor"))
    }
}
