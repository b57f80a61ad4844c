//! The handle with which a program uses and runs entities on a node.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Ask, Internal};
use hashbrown::HashMap;

#[cfg(feature = "journal")]
use super::durable::DurableHost;
use super::gate::{Gate, WAITING_MAX, entity_address, region_address};
use super::host::{Host, HostOf, KindOptions, Stage};
use super::kind::{EntityError, Kind, check_key, check_kind};
use super::message::RegionMsg;
use super::region::Region;
use crate::error::JoinError;
use crate::line::Travels;
use crate::lock::lock;
use crate::members::{
    KINDS_MAX, MemberSample, MembersSample, Order, Own, Placer, PlacerMsg, Regional, ShardCounts,
    Standings,
};
use crate::node::Node;
use crate::placement::Placement;

impl<M: Travels> Regional for Address<RegionMsg<M>> {
    fn order(&self, order: Order) {
        // Also if the mailbox is full. A region that has ended needs no orders.
        let _ = self.send_promised(RegionMsg::Order(order));
    }
}

/// A kind of entities that a node uses. Hides the type of their messages.
struct Used {
    /// The address of the region (the actor that passes on all messages of the kind). The type of
    /// the address is `Address<RegionMsg<M>>`.
    region: Box<dyn Any + Send + Sync>,
    gate: Arc<Gate>,
    /// Weak reference to a marker that exists as long as the host, which creates the entities of
    /// the kind. If the turn that passed the host to the region (the actor that passes on the
    /// messages of the kind) was undone, the host no longer exists.
    host: Weak<()>,
}

impl Used {
    /// Returns the counters of the kind.
    fn sample(&self, kind: &Arc<str>, shards: ShardCounts) -> EntitiesSample {
        let gate = &self.gate;
        EntitiesSample {
            kind: kind.clone(),
            active: gate.active.load(Relaxed),
            created: gate.created.load(Relaxed),
            passivated: gate.passivated.load(Relaxed),
            is_hosted: self.host.strong_count() > 0,
            shards: shards.all,
            owned: shards.own,
            unowned: shards.unowned,
            handing_over: shards.own_moving,
            moving: shards.moving,
            waiting: gate.waiting(),
            strays: gate.strays.load(Relaxed),
            expired: gate.expired.load(Relaxed),
            refused: gate.refused.load(Relaxed),
            abandoned: gate.abandoned.load(Relaxed),
        }
    }
}

struct Shared {
    node: Node,
    placement: Arc<dyn Placement>,
    placer: Address<PlacerMsg>,
    members: Arc<Mutex<MembersSample>>,
    standings: Arc<Mutex<Standings>>,
    kinds: Mutex<HashMap<Arc<str>, Used>>,
    /// Values that higher layers, such as topics, keep for this node, by type and name.
    kept: Mutex<BTreeMap<(TypeId, Box<str>), Kept>>,
}

/// A value that a higher layer, such as topics, keeps for a node.
type Kept = Box<dyn Any + Send + Sync>;

/// Reason why a higher layer, such as topics, cannot keep another value for a node.
pub(crate) enum NotKept {
    /// The maximum number of values is already kept for the node.
    Many,
    /// The system is shutting down.
    Closed,
}

/// Counters of the entities of a kind on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntitiesSample {
    /// Name of the kind of entities.
    pub kind: Arc<str>,
    /// Number of entities that run on this node.
    pub active: usize,
    /// Number of times that an entity was created on this node.
    pub created: u64,
    /// Number of entities that were stopped because they were idle.
    pub passivated: u64,
    /// True if this node runs the kind.
    pub is_hosted: bool,
    /// Number of shards of the kind, or 0 if this node does not know the number yet. This field and
    /// the other counts of shards are updated once per second.
    pub shards: u32,
    /// Number of shards of the kind that this node owns.
    pub owned: u32,
    /// Number of shards of the kind that no node owns.
    pub unowned: u32,
    /// Number of shards of the kind that this node is handing over to other nodes.
    pub handing_over: u32,
    /// Number of shards of the kind that are being handed over, by any node.
    pub moving: u32,
    /// Number of messages on this node that wait until their shard has an owner, or until a
    /// stopping entity has ended.
    pub waiting: usize,
    /// Number of messages that were dropped because this node did not own their shard. This kind of
    /// loss happens only if the sender could not know the owner. The number also includes messages
    /// from other nodes that were dropped because 16,384 messages of the kind already waited.
    pub strays: u64,
    /// Number of messages that were dropped because no node accepted them within 10 seconds.
    pub expired: u64,
    /// Number of messages that were dropped on this node because the mailbox of their entity was
    /// full ([`KindOptions::mailbox`]).
    pub refused: u64,
    /// Number of entities that did not end within [`KindOptions::hand_over_within`] when their
    /// shard was handed over. After that time, the turns of such an entity have no effect.
    pub abandoned: u64,
}

/// Entities of a node: actors that have a key, and run on one node of the cluster at a time. Clones
/// are handles to the same node.
///
/// A *kind* of entities is divided into *shards*. Each node that [hosts](Entities::host) a kind
/// owns some of its shards, and creates an entity when the first message for the entity arrives. If
/// a node is lost, other nodes take over its shards. If a node joins or leaves, shards are handed
/// over: their entities handle the messages in their mailboxes, and stop.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, Reply, System};
/// use garrick_cluster::placement::LocalPlacement;
/// use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
///
/// struct Counter(u64);
///
/// #[derive(Wire)]
/// #[wire(name = "example.Count", context = Carrier)]
/// enum Count {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// impl Actor for Counter {
///     type Msg = Count;
///     type Outcome = ();
///
///     fn receive(&mut self, count: Count, _: &mut Context<'_, Count>) {
///         match count {
///             Count::Add(number) => self.0 += number,
///             Count::Get(reply) => reply.send(self.0),
///         }
///     }
/// }
///
/// const COUNTER: Kind<Count> = Kind::new("counter");
///
/// let system = System::new()?;
/// let placement = LocalPlacement::new(&system.handle())?;
/// let node = Node::join(&system.handle(), LocalNet::new(), "example", "node-1")?;
/// let entities = Entities::start(&node, placement)?;
/// entities.host(COUNTER, KindOptions::new(), |_key| Counter(0))?;
///
/// let visits = entities.get(COUNTER, "visits")?;
/// visits.send(Count::Add(2))?;
/// assert_eq!(visits.ask(Count::Get).wait(), Ok(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Entities {
    shared: Arc<Shared>,
}

impl Entities {
    /// Makes a node a member of the cluster, so that it can use and run entities. Do this once for
    /// each node. All nodes of the cluster must use the same placement.
    ///
    /// # Errors
    /// Returns [`JoinError::Started`] if the node already uses entities. After it has left, they
    /// can be started again. Returns [`JoinError::Closed`] if the system is shutting down.
    pub fn start(node: &Node, placement: impl Placement) -> Result<Self, JoinError> {
        // Two members with one name would both own all shards of the node.
        let _attaching = node.attaching();
        if Self::of(node).is_some_and(|known| known.is_running()) {
            return Err(JoinError::Started);
        }
        let members = Arc::<Mutex<MembersSample>>::default();
        let own = Own::new(node.name().clone(), node.life());
        let placement: Arc<dyn Placement> = Arc::new(placement);
        let standings = Arc::<Mutex<Standings>>::default();
        let placer = Placer::new(
            own,
            node.lines(),
            placement.clone(),
            members.clone(),
            standings.clone(),
        );
        let placer = node.handle().spawn(Internal(placer));
        let shared = Shared {
            node: node.clone(),
            placement,
            placer: placer.map_err(|_| JoinError::Closed)?,
            members,
            standings,
            kinds: Mutex::default(),
            kept: Mutex::default(),
        };
        let shared = Arc::new(shared);
        node.attach(Arc::clone(&shared) as _);
        Ok(Self { shared })
    }

    /// Returns true if the node is a member, or tries to become one.
    fn is_running(&self) -> bool {
        // A placer that was started in a turn that was undone has ended.
        !self.shared.placer.is_stopped() && !lock(&self.shared.standings).has_left()
    }

    /// Returns the handle for the entities of a node. Returns `None` if the node does not use
    /// entities.
    pub(crate) fn of(node: &Node) -> Option<Self> {
        let shared = node.attached()?;
        Some(Self { shared })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.shared.node
    }

    pub(crate) fn placer(&self) -> &Address<PlacerMsg> {
        &self.shared.placer
    }

    pub(crate) fn placement(&self) -> Arc<dyn Placement> {
        self.shared.placement.clone()
    }

    /// Returns the value that a higher layer, such as topics, keeps for this node under a name. If
    /// there is no such value, or if it can no longer be used, creates a new one. Fails if `max`
    /// values are already kept.
    pub(crate) fn kept<T: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
        max: usize,
        is_good: impl Fn(&T) -> bool,
        start: impl FnOnce() -> Option<T>,
    ) -> Result<T, NotKept> {
        let mut all = lock(&self.shared.kept);
        let key = (TypeId::of::<T>(), Box::from(name));
        let known = all.get(&key);
        let known = known.and_then(|known| known.downcast_ref::<T>());
        if let Some(known) = known.filter(|known| is_good(known)) {
            return Ok(known.clone());
        }
        if all.len() >= max {
            return Err(NotKept::Many);
        }
        let started = start().ok_or(NotKept::Closed)?;
        let before = all.insert(key, Box::new(started.clone()));
        drop(all);
        drop(before);
        Ok(started)
    }

    /// Returns the region of a kind (the actor that passes on all messages of the kind) and the
    /// region's counters. Creates both on first use.
    fn used<M: Travels>(
        &self,
        kind: &str,
        host: Option<&Arc<()>>,
    ) -> Result<(Address<RegionMsg<M>>, Arc<Gate>), EntityError> {
        check_kind(kind)?;
        let shared = &*self.shared;
        let mut kinds = lock(&shared.kinds);
        if let Some(used) = kinds.get_mut(kind) {
            let region: Option<&Address<RegionMsg<M>>> = used.region.downcast_ref();
            let Some(region) = region.cloned() else {
                return Err(EntityError::Message { kind: kind.into() });
            };
            // If the region was created in a turn that was undone, there is none.
            let was_undone = region.is_stopped() && used.gate.is_open();
            if !was_undone {
                if let Some(host) = host {
                    if used.host.strong_count() > 0 {
                        return Err(EntityError::Hosted { kind: kind.into() });
                    }
                    used.host = Arc::downgrade(host);
                }
                return Ok((region, used.gate.clone()));
            }
            kinds.remove(kind);
        }
        if kinds.len() >= KINDS_MAX {
            return Err(EntityError::Kinds);
        }
        if shared.placer.is_stopped() {
            return Err(EntityError::Closed);
        }
        let (node, gate) = (&shared.node, Arc::<Gate>::default());
        let region = Region::new(
            kind.into(),
            node.name().clone(),
            node.lines(),
            shared.placer.clone(),
            gate.clone(),
        );
        let mailbox = Mailbox::bounded(WAITING_MAX, OnFull::Fail);
        let mailbox = mailbox.map_err(|_| EntityError::Closed)?;
        let region = node.handle().actor(Internal(region)).mailbox(mailbox);
        let region = region.spawn().map_err(|_| EntityError::Closed)?;
        let from_others = region_address(region.clone());
        node.offer(&Region::<M>::service(kind), &from_others);
        let used = Used {
            region: Box::new(region.clone()),
            gate: gate.clone(),
            host: host.map(Arc::downgrade).unwrap_or_default(),
        };
        kinds.insert(kind.into(), used);
        Ok((region, gate))
    }

    /// Lets this node run entities of a kind. `make` creates the actor for a key, and creates it
    /// again after a failure. If `make` panics, it is called again after a delay.
    ///
    /// The actor for a key is created when a message for the key arrives, also after an earlier
    /// actor has stopped. If the actor fails, the message that it was handling is lost, and the
    /// next actor handles the waiting messages. If the actor stops by itself, the messages in its
    /// mailbox are lost.
    ///
    /// # Errors
    /// Returns an [`EntityError`] if the name of the kind, the number of shards, the versions or
    /// the capacity of the mailboxes are not allowed. Also returns an error if the node already
    /// runs the kind, uses the kind with another message type, uses too many kinds, or has left.
    pub fn host<M, A>(
        &self,
        kind: Kind<M>,
        options: KindOptions,
        make: impl Fn(&str) -> A + Send + Sync + 'static,
    ) -> Result<(), EntityError>
    where
        M: Travels,
        A: Actor<Msg = M> + Send,
    {
        self.host_by(kind, options, |stage, exists| {
            Arc::new(HostOf::new(stage, options, make, exists))
        })
    }

    /// Lets this node run durable entities of a kind, like [`Entities::host`]. `make` creates the
    /// entity for a key in `journal`. The log of this journal must be shared by all nodes.
    ///
    /// An entity has something to do if an effect or a reminder is not done, or if a letter is not
    /// confirmed. Such an entity runs without a message, and does not stop when it is idle. If it
    /// stops by itself, it is created again after a second. When a node gets a shard, for example
    /// because another node was lost, the node creates all entities of the shard that have
    /// something to do.
    ///
    /// The entities that have something to do are kept in durable lists, one for each shard. The
    /// journals of the lists have the names `garrick.duties/<kind>/<shard>`, so no entity may have
    /// such a name. [`DutyList`](garrick_journal::DutyList) describes the cost of a list. An entity
    /// that was run by [`Entities::host`] before is added to its list when it starts.
    ///
    /// All entities of the kind are [fenced](KindOptions::fenced). Each entity appends an event to
    /// its journal when it starts. Call this method on all nodes that run the kind.
    ///
    /// # Errors
    /// Returns the same errors as [`Entities::host`].
    ///
    /// # Examples
    /// ```no_run
    /// # use garrick_actor::System;
    /// # use garrick_cluster::{Entities, Kind, KindOptions, Travels};
    /// # use garrick_journal::{DurableActor, Journal};
    /// # fn host<M: Travels, A: DurableActor<Msg = M> + Clone + Sync>(
    /// #     entities: &Entities, kind: Kind<M>, journal: Journal, account: A,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let of_entities = journal.clone();
    /// entities.host_durable(kind, KindOptions::new(), journal, move |key| {
    ///     let entity = of_entities.entity(format!("account/{key}"), account.clone());
    ///     entity.expect("the program uses only keys that are allowed in names")
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "journal")]
    pub fn host_durable<M, A>(
        &self,
        kind: Kind<M>,
        options: KindOptions,
        journal: garrick_journal::Journal,
        make: impl Fn(&str) -> garrick_journal::Entity<A> + Send + Sync + 'static,
    ) -> Result<(), EntityError>
    where
        M: Travels,
        A: garrick_journal::DurableActor<Msg = M>,
    {
        let options = options.fenced();
        self.host_by(kind, options, |stage, exists| {
            let name = kind.name();
            Arc::new(DurableHost::new(
                stage, name, options, journal, make, exists,
            ))
        })
    }

    /// Lets this node run entities of a kind, which are created by the host that `make` returns.
    fn host_by<M: Travels>(
        &self,
        kind: Kind<M>,
        options: KindOptions,
        make: impl FnOnce(Stage, Arc<()>) -> Arc<dyn Host<M>>,
    ) -> Result<(), EntityError> {
        let hosted = options.check()?;
        let handle = self.shared.node.handle().clone();
        let exists = Arc::new(());
        let (region, _) = self.used(kind.name(), Some(&exists))?;
        let host = make(Stage::new(handle, kind.name())?, exists);
        region
            .send_promised(RegionMsg::Host(host))
            .map_err(|_| EntityError::Closed)?;
        let hosted = PlacerMsg::Host {
            kind: kind.name().into(),
            hosted,
        };
        let closed = |_| EntityError::Closed;
        self.shared.placer.send(hosted).map_err(closed)
    }

    /// Returns the address of the entity with the given kind and key, on any node. The entity need
    /// not run.
    ///
    /// The address works as long as this node has not left. A message that contains the address is
    /// encoded with the kind and the key. A node that receives the message gets the address that
    /// this method returns on that node. Messages wait for at most 10 seconds if no node owns the
    /// shard of the entity. Sending fails and returns the message in two cases: 16,384 messages of
    /// the kind already wait on this node for an owner or for the end of an entity, or 16,384 other
    /// messages of the kind are in the queue of this node. Stopping the entity through this address
    /// has no effect. Watching the entity reports an end only when this node leaves.
    ///
    /// # Errors
    /// Returns an [`EntityError`] if the name of the kind or the key is not allowed. Also returns
    /// an error if this node uses the kind with another message type, uses too many kinds, or has
    /// left before the first use of the kind.
    pub fn get<M: Travels>(&self, kind: Kind<M>, key: &str) -> Result<Address<M>, EntityError> {
        self.find(kind.name(), key)
    }

    /// Returns the address of the entity with the given kind and key.
    pub(crate) fn find<M: Travels>(
        &self,
        kind: &str,
        key: &str,
    ) -> Result<Address<M>, EntityError> {
        check_key(key)?;
        let (region, gate) = self.used(kind, None)?;
        let cluster = self.shared.node.lines().cluster();
        Ok(entity_address(cluster, kind.into(), key, region, gate))
    }

    /// Hands the shards of this node over to other nodes, and ends the membership of this node in
    /// the cluster. Entities handle the messages in their mailboxes before they stop. The returned
    /// question is answered when the last shard was handed over, and the waiting messages of this
    /// node were sent to other nodes. If no other node runs a kind, the entities of that kind stop,
    /// and no node takes over their shards.
    ///
    /// If the node cannot reach the placement, it cannot hand shards over. When its lease has been
    /// invalid for 12 seconds, it [leaves](Entities::leave) instead, and the question is answered.
    /// The other nodes take its shards over as after the loss of a node.
    ///
    /// After the last shard was handed over, addresses of entities refuse messages on this node.
    /// The node itself does not [leave](Node::leave).
    pub fn drain(&self) -> Ask<()> {
        self.shared.placer.ask(PlacerMsg::Drain)
    }

    /// Returns a question that is answered when this node is no longer a member, because it was
    /// drained or has left. An operator can order a node to drain by `garrick cluster drain`. So
    /// the program of a node should wait for the answer to this question, and then end. If the node
    /// has already left, the question fails. At most 1,024 calls of this method and of
    /// [`Entities::drain`] can wait. Further questions end with
    /// [`NoReply::Refused`](garrick_actor::NoReply::Refused), even if the earlier callers have
    /// given up. So do not ask this question again and again.
    pub fn left(&self) -> Ask<()> {
        self.shared.placer.ask(PlacerMsg::Await)
    }

    /// Ends the membership of this node at once. Turns of entities are undone, unless they have
    /// already taken effect. Other nodes take over the shards.
    pub fn leave(&self) {
        // A placer that has ended has left.
        let _ = self.shared.placer.send(PlacerMsg::Leave);
    }

    /// Returns counters about the membership and the shards of this node.
    #[must_use]
    pub fn members(&self) -> MembersSample {
        let now = self.shared.node.handle().now();
        let sample = lock(&self.shared.members).clone();
        let standings = lock(&self.shared.standings);
        let left = |until: u64| Duration::from_nanos(until.saturating_sub(now));
        MembersSample {
            lease_left: standings.lease_until.map(left),
            held_turns: standings.held_turns,
            ..sample
        }
    }

    /// Returns the members of the cluster as this node sees them, sorted by name. The list contains
    /// this node itself, even if it is not a member. Nodes that were removed or have left stay in
    /// the list for up to 5 minutes. The list is updated four times per second.
    #[must_use]
    pub fn roster(&self) -> Vec<MemberSample> {
        let now = self.shared.node.handle().now();
        lock(&self.shared.standings).members(now)
    }

    /// Returns the counters of all kinds that this node uses, sorted by name.
    #[must_use]
    pub fn sample(&self) -> Vec<EntitiesSample> {
        let kinds = lock(&self.shared.kinds);
        let standings = lock(&self.shared.standings);
        let sample = kinds
            .iter()
            .map(|(kind, used)| used.sample(kind, standings.shards(kind)));
        let mut sample: Vec<_> = sample.collect();
        sample.sort_unstable_by(|one, other| one.kind.cmp(&other.kind));
        sample
    }
}

impl fmt::Debug for Entities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities")
            .field("node", self.shared.node.name())
            .finish_non_exhaustive()
    }
}
