//! Sessions: the state that two nodes share, until one of them loses the other.

use std::any::Any;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use garrick_actor::Address;
use garrick_sched::TaskId;
use hashbrown::{HashMap, HashSet};

use crate::base::Base;
use crate::frame::{Owned, Slot};
use crate::line::{Exported, Given, Line, Unencodable};
use crate::lock::lock;
use crate::message::LinkMsg;
use crate::name::NodeName;
use crate::options::Bounds;
use crate::traffic::Traffic;

/// The address of a link. It is set when the link has been spawned.
pub(crate) type LinkCell = Arc<OnceLock<Address<LinkMsg>>>;

/// A session with another node. The session ends when that node is lost.
pub(crate) struct Session {
    base: Arc<Base>,
    peer: NodeName,
    number: u64,
    link: LinkCell,
    traffic: Arc<Traffic>,
    is_over: AtomicBool,
    /// Number of bytes that were passed to the link, but not yet to the transport.
    waiting: AtomicUsize,
    imports: Mutex<Imports>,
    /// Sequence number of the other node's session, or 0 if it is not known yet. Addresses of an
    /// earlier session are no longer valid.
    peer_session: AtomicU64,
    /// Receivers on the other node whose mailboxes are full. `full_count` is the number of these
    /// receivers.
    full: Mutex<HashSet<Owned>>,
    full_count: AtomicUsize,
}

/// Addresses that the other node has exported and that this node holds.
#[derive(Default)]
struct Imports {
    held: HashMap<Slot, Import>,
    by_id: HashMap<TaskId, Slot>,
    /// Addresses that this node no longer holds. For each address: its place in the table of the
    /// addresses that the other node has exported, and the number of times that the address has
    /// arrived at this node.
    released: Vec<(Slot, u64)>,
}

struct Import {
    /// Number of values on this node that hold the address: far addresses (doors), batches that
    /// send to it, and messages that contain it and are being decoded.
    holds: usize,
    /// Number of times that the address has arrived at this node.
    travels: u64,
}

impl Session {
    pub(crate) fn new(
        base: Arc<Base>,
        (peer, traffic): (NodeName, Arc<Traffic>),
        link: LinkCell,
        number: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            base,
            peer,
            number,
            link,
            traffic,
            is_over: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            imports: Mutex::default(),
            peer_session: AtomicU64::new(0),
            full: Mutex::default(),
            full_count: AtomicUsize::new(0),
        })
    }

    /// Returns true if any bytes have not been passed to the transport yet.
    pub(crate) fn waits(&self) -> bool {
        self.waiting() > 0
    }

    /// Returns the number of bytes that were passed to the link, but not yet to the transport.
    pub(crate) fn waiting(&self) -> usize {
        // Relaxed: the number publishes nothing.
        self.waiting.load(Relaxed)
    }

    /// Sets the number of the session that the other node has begun.
    pub(crate) fn set_peer_session(&self, number: u64) {
        // Relaxed: the number publishes nothing.
        self.peer_session.store(number, Relaxed);
    }

    fn full(&self) -> MutexGuard<'_, HashSet<Owned>> {
        lock(&self.full)
    }

    /// Records that the mailbox of a receiver on the other node is full, or has room.
    pub(crate) fn set_full(&self, target: Owned, is_full: bool) {
        let mut full = self.full();
        if is_full {
            full.insert(target);
        } else {
            full.remove(&target);
        }
        // Relaxed: messages that pass meanwhile wait at the other node.
        self.full_count.store(full.len(), Relaxed);
    }

    fn imports(&self) -> MutexGuard<'_, Imports> {
        lock(&self.imports)
    }

    /// Counts one more arrival of an address at this node, and adds one to the number of holders of
    /// the address. [`Line::let_go`] subtracts one again.
    pub(crate) fn arrived(&self, slot: Slot) {
        let mut imports = self.imports();
        let import = imports.of(slot);
        import.holds += 1;
        import.travels += 1;
    }

    /// Removes and returns the addresses that this node no longer holds. For each address: its
    /// place in the table of the addresses that the other node has exported, and the number of
    /// times that the address has arrived at this node.
    pub(crate) fn take_released(&self) -> Vec<(Slot, u64)> {
        std::mem::take(&mut self.imports().released)
    }

    /// Returns the number of addresses that the other node has exported and that this node holds.
    pub(crate) fn held(&self) -> usize {
        self.imports().held.len()
    }

    /// Returns the identity of an address of the other node. The identity is the same in each run
    /// of a simulation.
    fn id_of(&self, slot: Slot) -> TaskId {
        let mut hasher = DefaultHasher::new();
        (self.base.cluster, self.base.life, self.number).hash(&mut hasher);
        (self.base.name.as_str(), self.peer.as_str()).hash(&mut hasher);
        slot.hash(&mut hasher);
        TaskId::far(hasher.finish() >> 1)
    }
}

impl Imports {
    fn of(&mut self, slot: Slot) -> &mut Import {
        self.held.entry(slot).or_insert(Import {
            holds: 0,
            travels: 0,
        })
    }
}

impl Line for Session {
    fn number(&self) -> u64 {
        self.number
    }

    fn peer(&self) -> &NodeName {
        &self.peer
    }

    fn node(&self) -> *const () {
        Arc::as_ptr(&self.base).cast()
    }

    fn cluster(&self) -> u64 {
        self.base.cluster
    }

    fn home(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.base.node()
    }

    fn is_over(&self) -> bool {
        // Relaxed: the flag publishes nothing. What passes it is refused by the link.
        self.is_over.load(Relaxed)
    }

    fn peer_session(&self) -> u64 {
        self.peer_session.load(Relaxed)
    }

    fn may_answer(&self) -> bool {
        !self.is_over() && self.waiting.load(Relaxed) < 2 * self.base.bounds.waiting
    }

    fn bounds(&self) -> &Bounds {
        &self.base.bounds
    }

    fn may_send(&self) -> bool {
        // Relaxed: a bound that need not be exact.
        !self.is_over() && self.waiting.load(Relaxed) < self.base.bounds.waiting
    }

    fn is_full(&self, target: &Owned) -> bool {
        self.full_count.load(Relaxed) > 0 && self.full().contains(target)
    }

    fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    fn waits(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Relaxed);
    }

    fn sent(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Relaxed);
    }

    fn give(&self, given: Given) -> bool {
        let link = self.link.get();
        link.is_some_and(|link| link.send(LinkMsg::Out(given)).is_ok())
    }

    fn hold(&self, slot: Slot) -> TaskId {
        let id = self.id_of(slot);
        let mut imports = self.imports();
        imports.of(slot).holds += 1;
        imports.by_id.insert(id, slot);
        id
    }

    fn keep(&self, slot: Slot) {
        self.imports().of(slot).holds += 1;
    }

    fn let_go(&self, slot: Slot) {
        let mut imports = self.imports();
        let Some(import) = imports.held.get_mut(&slot) else {
            return;
        };
        import.holds -= 1;
        if import.holds > 0 {
            return;
        }
        let travels = import.travels;
        imports.held.remove(&slot);
        imports.by_id.remove(&self.id_of(slot));
        // The link sends it soon. From here, that could be undone with the turn.
        imports.released.push((slot, travels));
    }

    fn home_of(&self, id: TaskId) -> Option<Slot> {
        if !id.is_far() {
            return None;
        }
        self.imports().by_id.get(&id).copied()
    }

    fn exported(&self, slot: Slot) -> Option<Arc<dyn Exported>> {
        self.base.exports().get(slot, &self.peer)
    }

    fn count_refused(&self, error: &Unencodable) {
        let why = format!("a message to the node {}: {error}", self.peer);
        self.base.counts.add_refused(&why);
        self.traffic.refused_message();
    }
}
