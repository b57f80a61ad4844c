//! The part of a node's state that all sessions with other nodes share.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use hashbrown::HashMap;

use crate::counts::Counts;
use crate::export::Exports;
use crate::line::Exported;
use crate::lock::lock;
use crate::name::NodeName;
use crate::options::Bounds;
use crate::transport::Transport;

/// The part of a node's state that all sessions with other nodes share.
pub(crate) struct Base {
    pub(crate) name: NodeName,
    /// Incarnation of the node: a number that differs each time the node starts.
    pub(crate) life: u64,
    /// Hash of the name of the cluster. This number identifies the cluster.
    pub(crate) cluster: u64,
    pub(crate) bounds: Bounds,
    pub(crate) counts: Counts,
    pub(crate) transport: Arc<dyn Transport>,
    /// The node to which this state belongs. A link uses the node to find the receiver of an
    /// address that was sent as a name.
    node: OnceLock<Weak<dyn Any + Send + Sync>>,
    exports: Mutex<Exports>,
    services: Mutex<HashMap<Arc<str>, Arc<dyn Exported>>>,
    /// Sequence number of the latest session that this node has begun with any other node. The
    /// numbers of sessions, questions and watch requests are never used twice. So a new link to a
    /// node never uses a number that an earlier link to the same node has used.
    session: AtomicU64,
    question: AtomicU64,
    watch: AtomicU64,
    /// Sequence number of the latest actor that this node has added to the directory.
    served: AtomicU64,
    /// Sequence number of the latest stream that this node has begun. A stream is the numbered
    /// messages of a topic that go to one other node.
    stream: AtomicU64,
}

impl Base {
    pub(crate) fn new(
        name: NodeName,
        life: u64,
        cluster: &str,
        bounds: Bounds,
        transport: Arc<dyn Transport>,
    ) -> Self {
        let cluster = garrick_wire::MessageId::of(cluster).to_bytes();
        Self {
            name,
            life,
            cluster: u64::from_le_bytes(cluster),
            bounds,
            counts: Counts::default(),
            transport,
            node: OnceLock::new(),
            exports: Mutex::default(),
            services: Mutex::default(),
            session: AtomicU64::new(0),
            question: AtomicU64::new(0),
            watch: AtomicU64::new(0),
            served: AtomicU64::new(0),
            stream: AtomicU64::new(0),
        }
    }

    /// Sets the node to which this state belongs. Must be called only once.
    pub(crate) fn set_node(&self, node: Weak<dyn Any + Send + Sync>) {
        let _ = self.node.set(node);
    }

    /// Returns the node to which this state belongs. Returns `None` if the node has ended.
    pub(crate) fn node(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.node.get()?.upgrade()
    }

    pub(crate) fn exports(&self) -> MutexGuard<'_, Exports> {
        lock(&self.exports)
    }

    /// Returns a new number for a session.
    pub(crate) fn next_session(&self) -> u64 {
        // Relaxed: the numbers order nothing.
        self.session.fetch_add(1, Relaxed) + 1
    }

    /// Reserves `count` question numbers. Returns the first one.
    pub(crate) fn next_questions(&self, count: u64) -> u64 {
        self.question.fetch_add(count, Relaxed) + 1
    }

    /// Returns a new number for a watch request.
    pub(crate) fn next_watch(&self) -> u64 {
        self.watch.fetch_add(1, Relaxed) + 1
    }

    /// Returns a new number for an actor that is added to the directory.
    pub(crate) fn next_served(&self) -> u64 {
        self.served.fetch_add(1, Relaxed) + 1
    }

    /// Returns a number for a new stream (the numbered messages of a topic that go to one other
    /// node).
    pub(crate) fn next_stream(&self) -> u64 {
        self.stream.fetch_add(1, Relaxed) + 1
    }

    /// Returns the service that this node offers under the given name, if there is one.
    pub(crate) fn offered(&self, name: &str) -> Option<Arc<dyn Exported>> {
        lock(&self.services).get(name).cloned()
    }

    /// Adds a service. Removes and returns the earlier service with this name, if there is one.
    pub(crate) fn offer(
        &self,
        name: Arc<str>,
        offered: Arc<dyn Exported>,
    ) -> Option<Arc<dyn Exported>> {
        lock(&self.services).insert(name, offered)
    }

    /// Removes and returns the service that this node offers under the given name, if there is one.
    pub(crate) fn withdraw(&self, name: &str) -> Option<Arc<dyn Exported>> {
        lock(&self.services).remove(name)
    }

    /// Removes and returns all services that this node offers.
    pub(crate) fn withdraw_all(&self) -> HashMap<Arc<str>, Arc<dyn Exported>> {
        std::mem::take(&mut *lock(&self.services))
    }
}
