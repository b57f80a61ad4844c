//! The other nodes that a node knows.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::Address;
use garrick_sched::Nanos;
use hashbrown::HashMap;

use crate::lock::lock;
use crate::message::LinkMsg;
use crate::name::NodeName;
use crate::session::{LinkCell, Session};
use crate::traffic::{LinkSample, Traffic};

/// Another node, with the link to it.
pub(crate) struct Peer {
    name: NodeName,
    link: LinkCell,
    /// The current session. `None` after the link has ended.
    session: Mutex<Option<Arc<Session>>>,
    /// Time at which the latest frame arrived. 0 if none has arrived.
    heard: AtomicU64,
    traffic: Arc<Traffic>,
}

impl Peer {
    pub(crate) fn new(name: NodeName) -> Arc<Self> {
        Arc::new(Self {
            name,
            link: LinkCell::default(),
            session: Mutex::default(),
            heard: AtomicU64::new(0),
            traffic: Arc::default(),
        })
    }

    pub(crate) fn name(&self) -> &NodeName {
        &self.name
    }

    /// Returns the cell (`OnceLock`) that contains the address of the link.
    pub(crate) fn cell(&self) -> &LinkCell {
        &self.link
    }

    /// Returns the counters of the link.
    pub(crate) fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Returns the counters of the link. `window` is the maximum number of bytes under way to the
    /// other node.
    pub(crate) fn sample(&self, window: usize, now: Nanos) -> LinkSample {
        let waiting = self.session().map_or(0, |session| session.waiting());
        let (name, heard) = (self.name.clone(), self.heard());
        (self.traffic).sample(name, heard, (waiting, window), now)
    }

    /// Records that a frame has arrived at `now`.
    pub(crate) fn hears(&self, now: Nanos) {
        // Relaxed: the time publishes nothing.
        self.heard.store(now.max(1), Relaxed);
    }

    /// Returns the time at which the latest frame from the other node arrived. Returns `None` if no
    /// frame has arrived.
    pub(crate) fn heard(&self) -> Option<Nanos> {
        Some(self.heard.load(Relaxed)).filter(|at| *at > 0)
    }

    /// Returns the link, if it has not ended.
    pub(crate) fn link(&self) -> Option<&Address<LinkMsg>> {
        self.link.get().filter(|link| !link.is_stopped())
    }

    /// Sends a message to the link.
    pub(crate) fn send(&self, message: LinkMsg) {
        if let Some(link) = self.link() {
            let _ = link.send(message);
        }
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    pub(crate) fn set_session(&self, session: Option<Arc<Session>>) {
        let before = mem::replace(&mut *lock(&self.session), session);
        drop(before);
    }
}

/// The other nodes that a node knows.
#[derive(Default)]
pub(crate) struct Peers {
    all: Mutex<HashMap<NodeName, Arc<Peer>>>,
}

impl Peers {
    /// Returns the entry of the node with the given name. Returns `None` if there is no entry, or
    /// if the link to the node has ended.
    pub(crate) fn get(&self, name: &NodeName) -> Option<Arc<Peer>> {
        let found = lock(&self.all).get(name).cloned();
        // A link that was spawned by a turn that was undone has ended.
        found.filter(|peer| peer.link().is_some())
    }

    /// Adds a node. If another thread has already added the node, returns the existing entry.
    pub(crate) fn add(&self, peer: Arc<Peer>) -> Arc<Peer> {
        let mut all = lock(&self.all);
        let known = all.get(peer.name());
        if let Some(known) = known.filter(|known| known.link().is_some()) {
            let known = Arc::clone(known);
            drop(all);
            return known;
        }
        let before = all.insert(peer.name().clone(), Arc::clone(&peer));
        drop(all);
        drop(before);
        peer
    }

    /// Removes a node whose link has ended.
    pub(crate) fn forget(&self, peer: &Arc<Peer>) {
        let mut all = lock(&self.all);
        let is_it = |known: &Arc<Peer>| Arc::ptr_eq(known, peer);
        let before = if all.get(peer.name()).is_some_and(is_it) {
            all.remove(peer.name())
        } else {
            None
        };
        drop(all);
        drop(before);
    }

    /// Returns the number of other nodes in the table.
    pub(crate) fn len(&self) -> usize {
        lock(&self.all).len()
    }

    /// Returns all other nodes in the table.
    pub(crate) fn all(&self) -> Vec<Arc<Peer>> {
        lock(&self.all).values().cloned().collect()
    }

    /// Removes and returns all other nodes in the table.
    pub(crate) fn take_all(&self) -> HashMap<NodeName, Arc<Peer>> {
        mem::take(&mut *lock(&self.all))
    }
}
