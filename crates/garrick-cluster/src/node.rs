//! A node: the part of a cluster that runs on one system.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use crate::base::Base;
use crate::batch::Lines;
use crate::counts::NodeSample;
use crate::error::JoinError;
use crate::export::exported;
use crate::far::{own_address, service_address};
use crate::frame::Head;
use crate::line::{Line, Travels};
use crate::link::Link;
use crate::lock::lock;
use crate::members::hash;
use crate::message::LinkMsg;
use crate::name::{NodeName, check_service};
use crate::named::{Named, Origin};
use crate::options::{Bounds, NodeOptions};
use crate::peer::{Peer, Peers};
use crate::traffic::LinkSample;
use crate::transport::{Incoming, Transport};
use garrick_actor::{Actor, Address, Context, Handle, Internal};
use garrick_core::random::mix;
use garrick_sched::Nanos;

/// State of a node, which all handles of the node share.
struct Core {
    base: Arc<Base>,
    peers: Arc<Peers>,
    handle: Handle,
    has_left: AtomicBool,
    /// Value that a higher layer has attached to the node. If the value contains a handle to the
    /// node, the value keeps the node alive until the node leaves.
    attached: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    /// Locked while a higher layer looks at the attached value and then attaches another one.
    attaching: Mutex<()>,
}

impl Core {
    /// Returns the entry of another node in the table of this node. Adds the entry and starts a
    /// link to that node if there is none. Returns `None` if this node has left, or if its system
    /// is shutting down.
    fn peer(&self, name: &NodeName) -> Option<Arc<Peer>> {
        if self.has_left() {
            return None;
        }
        if let Some(peer) = self.peers.get(name) {
            return Some(peer);
        }
        let peer = Peer::new(name.clone());
        let (base, peers) = (Arc::clone(&self.base), Arc::clone(&self.peers));
        let link = Link::new(base, peers, Arc::clone(&peer));
        let _ = peer.cell().set(self.handle.spawn(Internal(link)).ok()?);
        // So that the link forgets the node even if nothing is ever sent.
        peer.send(LinkMsg::Beat);
        let peer = self.peers.add(peer);
        if self.has_left() {
            // It has left meanwhile.
            peer.send(LinkMsg::Leave);
            return None;
        }
        Some(peer)
    }

    /// Leaves the cluster. Has no effect after the first call.
    fn leave(&self) {
        // Relaxed: the flag publishes nothing.
        if self.has_left.swap(true, Relaxed) {
            return;
        }
        for peer in self.peers.take_all().into_values() {
            peer.send(LinkMsg::Leave);
        }
        let base = &self.base;
        base.transport.leave(&base.name, base.life);
        let services = base.withdraw_all();
        let attached = lock(&self.attached).take();
        drop((services, attached));
    }
}

impl Lines for Core {
    fn node(&self) -> *const () {
        Arc::as_ptr(&self.base).cast()
    }

    fn cluster(&self) -> u64 {
        self.base.cluster
    }

    fn line(&self, node: &NodeName) -> Option<Arc<dyn Line>> {
        // The first link may just have forgotten the node. Then the next call returns another one.
        let session = || self.peer(node)?.session();
        Some(session().or_else(session)?)
    }

    fn heard(&self, node: &NodeName) -> Option<Nanos> {
        self.peers.get(node)?.heard()
    }

    fn waits(&self) -> bool {
        let sessions = self.peers.all();
        let mut sessions = sessions.iter().filter_map(|peer| peer.session());
        sessions.any(|session| session.waits())
    }

    fn has_left(&self) -> bool {
        // Relaxed: the flag publishes nothing.
        self.has_left.load(Relaxed)
    }
}

/// An actor that passes the frames from other nodes to the links. When the actor ends, the node
/// leaves. If the node has lost its name, the transport stops the actor.
struct Porter {
    /// State of the node, which is set when the node has joined.
    core: Arc<OnceLock<Arc<Core>>>,
}

impl Drop for Porter {
    fn drop(&mut self) {
        if let Some(core) = self.core.get() {
            core.leave();
        }
    }
}

impl Actor for Porter {
    type Msg = Incoming;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, Incoming(frame): Incoming, _: &mut Context<'_, Incoming>) {
        let Some(core) = self.core.get() else { return };
        let base = &core.base;
        let Ok((head, from, entries)) = Head::read(&frame, base.cluster) else {
            return base.counts.add_dropped();
        };
        let entries = frame.slice_ref(entries);
        let is_other = from != base.name;
        match is_other.then(|| core.peer(&from)).flatten() {
            Some(peer) => peer.send(LinkMsg::Frame(head, entries)),
            None => base.counts.add_dropped(),
        }
    }
}

/// A node of a cluster: the part of the cluster that runs on one system. Clones are handles to the
/// same node.
///
/// The node ends when it [leaves](Node::leave), or when its system ends.
///
/// # Examples
/// Two nodes in one process:
/// ```
/// use garrick_actor::{Actor, Context, Reply, System};
/// use garrick_cluster::{Carrier, LocalNet, Node, Wire};
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
/// let (net, here, there) = (LocalNet::new(), System::new()?, System::new()?);
/// let server = Node::join(&there.handle(), net.clone(), "example", "server")?;
/// server.offer("counter", &there.spawn(Counter(0))?);
///
/// let client = Node::join(&here.handle(), net, "example", "client")?;
/// let counter = client.service::<Count>("server", "counter")?;
/// counter.send(Count::Add(2))?;
/// assert_eq!(counter.ask(Count::Get).wait(), Ok(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Node {
    core: Arc<Core>,
}

impl Node {
    /// Joins the cluster `cluster` as the node `name`, on the system of `handle`.
    ///
    /// # Errors
    /// Returns [`JoinError::Name`] if the name is not allowed, [`JoinError::Taken`] if another node
    /// has the name, and [`JoinError::Closed`] if the system is shutting down. The transport can
    /// return [`JoinError::InTurn`] and [`JoinError::Transport`].
    pub fn join(
        handle: &Handle,
        transport: impl Transport,
        cluster: &str,
        name: &str,
    ) -> Result<Self, JoinError> {
        Self::join_with(handle, transport, cluster, name, NodeOptions::new())
    }

    /// Joins the cluster like [`Node::join`], with options.
    ///
    /// # Errors
    /// Returns the same errors as [`Node::join`].
    pub fn join_with(
        handle: &Handle,
        transport: impl Transport,
        cluster: &str,
        name: &str,
        options: NodeOptions,
    ) -> Result<Self, JoinError> {
        Self::join_through(handle, Arc::new(transport), cluster, name, options)
    }

    fn join_through(
        handle: &Handle,
        transport: Arc<dyn Transport>,
        cluster: &str,
        name: &str,
        options: NodeOptions,
    ) -> Result<Self, JoinError> {
        let name = NodeName::new(name)?;
        let joined = Arc::new(OnceLock::new());
        let porter = Porter {
            core: Arc::clone(&joined),
        };
        let porter = handle.spawn(Internal(porter));
        let porter = porter.map_err(|_| JoinError::Closed)?;
        let life = transport.join(cluster, &name, porter.clone())?;
        let bounds = Bounds::with(options).for_frames(transport.max_frame());
        let core = Arc::new(Core {
            base: Arc::new(Base::new(name, life, cluster, bounds, transport)),
            peers: Arc::default(),
            handle: handle.clone(),
            has_left: AtomicBool::new(false),
            attached: Mutex::default(),
            attaching: Mutex::default(),
        });
        let node: Weak<Core> = Arc::downgrade(&core);
        core.base.set_node(node);
        let _ = joined.set(Arc::clone(&core));
        if porter.is_stopped() {
            // It may have ended before it knew the node.
            core.leave();
            return Err(JoinError::Closed);
        }
        Ok(Self { core })
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.core.base.name
    }

    /// Returns the incarnation of the node, which differs each time the node starts.
    pub(crate) fn life(&self) -> u64 {
        self.core.base.life
    }

    /// Returns the handle to the system of the node.
    pub(crate) fn handle(&self) -> &Handle {
        &self.core.handle
    }

    /// Returns this node as a trait object. Addresses of services on other nodes use this object to
    /// send messages.
    pub(crate) fn lines(&self) -> Arc<dyn Lines> {
        Arc::clone(&self.core) as _
    }

    /// Lets other nodes send to `address` as the service `name`. Replaces an earlier service with
    /// this name. The node holds the address until the service is replaced or withdrawn.
    ///
    /// No node can use a service whose name is longer than
    /// [`SERVICE_NAME_BYTES_MAX`](crate::SERVICE_NAME_BYTES_MAX). Such a service is not offered,
    /// and counts as a refused message ([`NodeSample::refusal`](crate::NodeSample)).
    pub fn offer<M: Travels>(&self, name: &str, address: &Address<M>) {
        if let Err(error) = check_service(name) {
            return self.core.base.counts.add_refused(&error.to_string());
        }
        let offered = exported(address.clone());
        let before = self.core.base.offer(name.into(), offered);
        drop(before);
    }

    /// Ends the service `name` of this node. Later messages to the service are refused.
    pub fn withdraw(&self, name: &str) {
        let before = self.core.base.withdraw(name);
        drop(before);
    }

    /// Returns the address of a service of a node. Neither the node nor the service needs to exist
    /// yet. If the service has another type of messages, the other node refuses the messages.
    ///
    /// # Errors
    /// Returns [`JoinError::Name`] if the name of the node is not allowed, and
    /// [`JoinError::ServiceName`] if the name of the service is longer than
    /// [`SERVICE_NAME_BYTES_MAX`](crate::SERVICE_NAME_BYTES_MAX).
    pub fn service<M: Travels>(&self, node: &str, name: &str) -> Result<Address<M>, JoinError> {
        check_service(name)?;
        Ok(self.service_of(NodeName::new(node)?, name.into()))
    }

    /// Returns the address of a service of a node.
    pub(crate) fn service_of<M: Travels>(&self, node: NodeName, name: Arc<str>) -> Address<M> {
        if node == self.core.base.name {
            return own_address(Arc::clone(&self.core.base), name);
        }
        service_address(self.lines(), node, name)
    }

    /// Returns the address that this node offers as the service `name`, if the service receives
    /// messages of the type `M`.
    pub(crate) fn offered<M: Travels>(&self, name: &str) -> Option<Address<M>> {
        let offered = self.core.base.offered(name)?;
        offered.address().downcast_ref().cloned()
    }

    /// Returns the origin for addresses of a service on this node. Messages contain the name in the
    /// origin instead of the address.
    pub(crate) fn origin_of(&self, name: Arc<str>) -> Origin {
        let (base, node) = (&self.core.base, self.core.base.name.shared());
        Origin {
            cluster: base.cluster,
            named: Named::Service { node, name },
        }
    }

    /// Returns a number for a new stream of messages. With a high probability, the number differs
    /// from the numbers of all other streams, even of other nodes and incarnations.
    pub(crate) fn next_stream(&self) -> u64 {
        let base = &self.core.base;
        mix(hash(base.name.as_str()) ^ mix(base.life ^ mix(base.next_stream())))
    }

    /// Returns a new number for an actor that is added to the directory.
    pub(crate) fn next_served(&self) -> u64 {
        self.core.base.next_served()
    }

    /// Returns the node to which a line (the interface of a session with another node) belongs, if
    /// the node has not ended.
    pub(crate) fn of(line: &dyn Line) -> Option<Self> {
        let core = line.home()?.downcast().ok()?;
        Some(Self { core })
    }

    /// Returns a guard. While it exists, no other thread that has such a guard attaches a value.
    pub(crate) fn attaching(&self) -> MutexGuard<'_, ()> {
        lock(&self.core.attaching)
    }

    /// Attaches a value to the node until the node leaves. Replaces an earlier value.
    pub(crate) fn attach(&self, value: Arc<dyn Any + Send + Sync>) {
        let before = lock(&self.core.attached).replace(value);
        drop(before);
        if self.core.has_left() {
            // It has left meanwhile.
            let attached = lock(&self.core.attached).take();
            drop(attached);
        }
    }

    /// Returns the value that is attached to the node, if its type is `T`.
    pub(crate) fn attached<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let attached = lock(&self.core.attached).clone();
        attached?.downcast().ok()
    }

    /// Leaves the cluster. All links end. On this node and on the other nodes, questions and
    /// watches end as if the nodes had lost each other.
    pub fn leave(&self) {
        self.core.leave();
    }

    /// Returns the state and the counters of each link to another node, sorted by the names of the
    /// nodes. A node has a link to each node with which it has exchanged messages.
    #[must_use]
    pub fn links(&self) -> Vec<LinkSample> {
        let (window, now) = (self.core.base.bounds.window, self.core.handle.now());
        let peers = self.core.peers.all();
        let links = peers.iter().map(|peer| peer.sample(window, now));
        let mut links: Vec<_> = links.collect();
        links.sort_unstable_by(|one, other| one.peer.cmp(&other.peer));
        links
    }

    /// Returns the counters of the node.
    #[must_use]
    pub fn sample(&self) -> NodeSample {
        let base = &self.core.base;
        let peers = self.core.peers.all();
        let sessions = peers.iter().filter_map(|peer| peer.session());
        NodeSample {
            links: peers.len(),
            exported: base.exports().len(),
            imported: sessions.map(|session| session.held()).sum(),
            ..base.counts.sample()
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.core.base.name)
            .field("life", &self.core.base.life)
            .finish_non_exhaustive()
    }
}
