//! State of a node that its sessions need.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use crate::counts::Counts;
use crate::export::Exports;
use crate::line::Exported;
use crate::name::NodeName;
use crate::options::Bounds;
use crate::transport::Transport;

/// State of a node that its sessions need.
pub(crate) struct Base {
    pub(crate) name: NodeName,
    /// Number of the life of the node.
    pub(crate) life: u64,
    /// Identity of the cluster.
    pub(crate) cluster: u64,
    pub(crate) bounds: Bounds,
    pub(crate) counts: Counts,
    pub(crate) transport: Arc<dyn Transport>,
    exports: Mutex<Exports>,
    services: Mutex<HashMap<Arc<str>, Arc<dyn Exported>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No foreign code is called while one of these is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            exports: Mutex::default(),
            services: Mutex::default(),
        }
    }

    pub(crate) fn exports(&self) -> MutexGuard<'_, Exports> {
        lock(&self.exports)
    }

    /// Returns a service of this node.
    pub(crate) fn offered(&self, name: &str) -> Option<Arc<dyn Exported>> {
        lock(&self.services).get(name).cloned()
    }

    /// Adds a service. Returns the one that had the name, which the caller drops.
    pub(crate) fn offer(
        &self,
        name: Arc<str>,
        offered: Arc<dyn Exported>,
    ) -> Option<Arc<dyn Exported>> {
        lock(&self.services).insert(name, offered)
    }

    /// Removes a service.
    pub(crate) fn withdraw(&self, name: &str) -> Option<Arc<dyn Exported>> {
        lock(&self.services).remove(name)
    }

    /// Removes all services.
    pub(crate) fn withdraw_all(&self) -> HashMap<Arc<str>, Arc<dyn Exported>> {
        std::mem::take(&mut *lock(&self.services))
    }
}
