//! Hosts, which create the entities of a kind on a node.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Backoff, Restart, Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Ask, Handle};

use super::kind::EntityError;
use super::leased::Leased;
use crate::members::{Hosted, SHARDS_MAX, Tenure, Versions};

/// Time before an entity that has failed is created again. The time doubles with each failure.
const BACKOFF: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Options of a kind of entities on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindOptions {
    pub(super) shards: u32,
    pub(super) versions: Versions,
    pub(super) writes: Option<u32>,
    pub(super) idle: Option<Duration>,
    pub(super) hand_over_within: Duration,
    pub(super) is_fenced: bool,
    /// Capacity of the mailbox of each entity. `None` if the mailboxes have no bound.
    pub(super) capacity: Option<usize>,
}

impl Default for KindOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl KindOptions {
    /// Returns the default options. A kind has 256 shards, entities stop after 5 minutes without a
    /// message and have unbounded mailboxes, and the hand-over of a shard takes at most 30 seconds.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            shards: 256,
            versions: Versions::NONE,
            writes: None,
            idle: Some(Duration::from_secs(300)),
            hand_over_within: Duration::from_secs(30),
            is_fenced: false,
            capacity: None,
        }
    }

    /// Sets the number of shards, from 1 to 1,024. A shard is a group of entities that move between
    /// nodes together. The first node that runs the kind sets the number for all nodes, and the
    /// number never changes. On later nodes, this option has no effect.
    #[must_use]
    pub const fn shards(mut self, shards: u32) -> Self {
        self.shards = shards;
        self
    }

    /// Sets which versions of the kind's journals this node can read. The node writes the newest of
    /// these versions, unless [`KindOptions::writes`] is called. By default, the node reads and
    /// writes version 1.
    ///
    /// When the first node that writes a newer version becomes a member, the version of the kind
    /// changes to this version. Only nodes that can read the version of the kind get shards, and
    /// all other nodes hand their shards over. So no node gets an entity whose journal it cannot
    /// read. A node that cannot run the kind reports this in
    /// [`MembersSample::failure`](crate::MembersSample::failure).
    #[must_use]
    pub const fn versions(mut self, versions: RangeInclusive<u32>) -> Self {
        self.versions = Versions {
            min: *versions.start(),
            max: *versions.end(),
        };
        self
    }

    /// Sets the version that this node writes. Without this option, the node writes the newest
    /// version that it can read.
    #[must_use]
    pub const fn writes(mut self, version: u32) -> Self {
        self.writes = Some(version);
        self
    }

    /// Sets the time after which an entity without messages stops. An entity without messages can
    /// run for up to twice this time before it stops. A time below 500 ms counts as 500 ms. The
    /// next message for a stopped entity creates it again. With `None`, entities run until their
    /// shards move to another node.
    ///
    /// If the kind is run by `Entities::host_durable`, an entity that has something to do does not
    /// stop.
    #[must_use]
    pub const fn idle(mut self, idle: Option<Duration>) -> Self {
        self.idle = idle;
        self
    }

    /// Sets the time within which the entities of a shard must have ended when the shard is handed
    /// over. After this time, the shard moves to another node even if some entities have not ended.
    /// The turns of these entities have no effect any more, and the messages that they have not
    /// handled are lost.
    ///
    /// While the shard is handed over, messages to all its entities wait, for at most 10 seconds.
    /// Choose a time that is long enough for each turn, but less than 8 seconds. Then a slow entity
    /// does not cause the loss of messages to other entities.
    #[must_use]
    pub const fn hand_over_within(mut self, time: Duration) -> Self {
        self.hand_over_within = time;
        self
    }

    /// Declares that all entities of the kind are durable actors with the option `fenced`, and that
    /// their journals are in a log that all nodes share. Such a journal refuses events of a node
    /// that was lost, so the other nodes need not wait for the end of the lost node's lease. Other
    /// nodes take over the shards after the node was silent for 2 seconds instead of 5. A turn
    /// without events takes effect at once only within 1.8 seconds after the node has renewed its
    /// membership. A later turn takes effect with the next renewal.
    ///
    /// Set this option on all nodes that run the kind. Do not set it if an entity of the kind is
    /// not a fenced durable actor: two instances of such an entity may have effects at the same
    /// time.
    #[must_use]
    pub const fn fenced(mut self) -> Self {
        self.is_fenced = true;
        self
    }

    /// Gives each entity of the kind a mailbox that holds at most `capacity` messages. Without this
    /// option, the mailboxes are unbounded. [`Entities::host`](crate::Entities::host) returns an
    /// error if the capacity is 0.
    ///
    /// A message that finds the mailbox full is dropped on the node of the entity. It counts as a
    /// dead letter with the reason `Full`, and in
    /// [`EntitiesSample::refused`](crate::EntitiesSample::refused). Its question ends at once with
    /// [`NoReply::Dropped`](garrick_actor::NoReply::Dropped). `send` has succeeded before, because
    /// the sender may be on another node. So use questions if a sender must know that its message
    /// was refused. A letter is sent again if the handler of its answer calls `deliver_again` for
    /// an error, so no letter is lost.
    ///
    /// Like every full mailbox, the mailbox accepts answers to the entity's own questions, and
    /// messages of timers, reminders, effects and letters of the entity itself. It also accepts up
    /// to 16,384 messages that have waited for an owner of the shard, or for the end of an earlier
    /// instance of the entity. Later messages are refused until the entity has handled enough of
    /// them. Nodes with an older version of Garrick do not say that a message has waited, so such
    /// messages are refused like all others. Orders to stop an entity are not messages, and need no
    /// room.
    #[must_use]
    pub const fn mailbox(mut self, capacity: usize) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Returns what other nodes must know of the kind, or an error if an option is not allowed.
    pub(super) fn check(&self) -> Result<Hosted, EntityError> {
        let (shards, versions) = (self.shards, self.versions);
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(EntityError::Shards { shards });
        }
        let (min, max) = (versions.min, versions.max);
        let writes = self.writes.unwrap_or(max);
        if min == 0 || !versions.include(writes) {
            return Err(EntityError::Versions { min, max, writes });
        }
        if self.capacity == Some(0) {
            return Err(EntityError::Capacity);
        }
        Ok(Hosted {
            shards,
            versions,
            writes,
            is_fenced: self.is_fenced,
        })
    }
}

/// Returns true if a durable entity has something to do, so that it must not stop because it is
/// idle. Returns `None` until this is known.
pub(super) type HasDuties = Box<dyn Fn() -> Option<bool> + Send>;

/// An entity that a host has created.
pub(super) struct Created<M> {
    pub(super) address: Address<M>,
    /// `None` if the entity is not durable.
    pub(super) has_duties: Option<HasDuties>,
}

/// Implemented by hosts, which create the entities of a kind on a node.
pub(super) trait Host<M>: Send + Sync {
    /// Creates the entity with a key, in the shard with the number `shard`. `tenure` is the right
    /// of this node to run entities of the shard. Returns `None` if the system is shutting down.
    fn create(&self, shard: u32, key: &Arc<str>, tenure: &Arc<Tenure>) -> Option<Created<M>>;

    /// Opens the list of those entities of a shard that have something to do, unless it is open.
    /// Asks for the keys of these entities. Returns `None` if the entities are not durable, or if
    /// the system is shutting down.
    fn open_list(&self, shard: u32, tenure: &Arc<Tenure>) -> Option<Ask<Vec<String>>> {
        let _ = (shard, tenure);
        None
    }

    /// Closes the list of those entities of a shard that have something to do.
    fn close_list(&self, shard: u32) {
        let _ = shard;
    }

    /// Returns the options of the kind of entities.
    fn options(&self) -> &KindOptions;
}

/// The place where the actors of a kind run: a system, and a supervisor that restarts them.
pub(super) struct Stage {
    handle: Handle,
    tree: Tree,
}

impl Stage {
    pub(super) fn new(handle: Handle, kind: &'static str) -> Result<Self, EntityError> {
        let supervisor = Supervisor::new(kind, Strategy::OneForOne);
        // An entity that fails again and again does not stop the others.
        let supervisor = supervisor.intensity(usize::MAX, Duration::from_nanos(1));
        let tree = supervisor.spawn(&handle);
        Ok(Self {
            tree: tree.map_err(|_| EntityError::Closed)?,
            handle,
        })
    }

    /// Spawns an actor that is created again after each failure. `capacity` is the capacity of its
    /// mailbox. Returns `None` if the system is shutting down.
    pub(super) fn spawn<A: Actor + Send>(
        &self,
        make: impl Fn() -> A + Send + 'static,
        capacity: Option<usize>,
    ) -> Option<Address<A::Msg>>
    where
        A::Msg: Send,
    {
        let mailbox = match capacity {
            // `KindOptions::check` has checked that the capacity is not 0.
            Some(capacity) => Mailbox::bounded(capacity, OnFull::Fail).ok()?,
            None => Mailbox::unbounded(),
        };
        let actor = self.handle.actor(make).mailbox(mailbox);
        let actor = actor.supervised_by(&self.tree);
        let actor = actor.restart(Restart::Transient);
        let actor = actor.backoff(Backoff::exponential(BACKOFF, BACKOFF_MAX));
        actor.spawn().ok()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.tree.stop());
    }
}

/// A host (an object that creates the entities of a kind). Calls a function to create the actor of
/// each entity.
pub(super) struct HostOf<F> {
    stage: Stage,
    make: Arc<F>,
    options: KindOptions,
    /// A token that lives as long as this host (the creator of a kind's entities). Weak references
    /// to the token show whether the host still exists.
    _exists: Arc<()>,
}

impl<F> HostOf<F> {
    pub(super) fn new(stage: Stage, options: KindOptions, make: F, exists: Arc<()>) -> Self {
        Self {
            stage,
            make: Arc::new(make),
            options,
            _exists: exists,
        }
    }
}

impl<M, A, F> Host<M> for HostOf<F>
where
    M: Send + 'static,
    A: Actor<Msg = M> + Send,
    F: Fn(&str) -> A + Send + Sync + 'static,
{
    fn create(&self, _: u32, key: &Arc<str>, tenure: &Arc<Tenure>) -> Option<Created<M>> {
        let (make, key, tenure) = (self.make.clone(), key.clone(), tenure.clone());
        let make = move || Leased::<_, false>::new(make(&key), tenure.clone(), key.clone());
        Some(Created {
            address: self.stage.spawn(make, self.options.capacity)?,
            has_duties: None,
        })
    }

    fn options(&self) -> &KindOptions {
        &self.options
    }
}
