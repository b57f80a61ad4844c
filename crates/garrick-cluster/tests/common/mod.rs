//! A cluster whose nodes share a network and a placement.

use std::thread;

use garrick_actor::System;
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, LocalNet, Node};

/// Network and placement of a cluster. The system that runs them is dropped last.
pub(crate) struct Cluster {
    pub(crate) net: LocalNet,
    pub(crate) placement: LocalPlacement,
    _store: System,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let store = System::new().unwrap();
        Self {
            net: LocalNet::new(),
            placement: LocalPlacement::new(&store.handle()).unwrap(),
            _store: store,
        }
    }

    /// Joins the cluster as a node that has its own system.
    pub(crate) fn join(&self, name: &str) -> (System, Node, Entities) {
        let system = System::new().unwrap();
        let node = Node::join(&system.handle(), self.net.clone(), "test", name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        (system, node, entities)
    }
}

/// Waits until a condition holds. There is no time limit except that of the test program.
#[allow(dead_code, reason = "not every scenario waits for a condition")]
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}
