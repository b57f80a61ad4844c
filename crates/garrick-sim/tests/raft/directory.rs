//! The current addresses of the servers. A server that starts again has a new address.

use std::sync::{Arc, Mutex, PoisonError};

use garrick_actor::{Address, Context};

use crate::server::Rpc;

/// A table of addresses, which all nodes share. It stands for the network: a message to a server
/// that is down is lost.
#[derive(Clone)]
pub(crate) struct Directory(Arc<Mutex<Vec<Option<Address<Rpc>>>>>);

impl Directory {
    /// Creates a table for a number of servers, which have not started yet.
    pub(crate) fn new(servers: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![None; servers])))
    }

    /// Records the address of a server that has started.
    pub(crate) fn set(&self, server: usize, address: Address<Rpc>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table[server] = Some(address);
    }

    /// Sends a message to the current incarnation of a server.
    pub(crate) fn send<M: 'static>(&self, server: usize, rpc: Rpc, cx: &Context<'_, M>) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = &table[server] {
            let _ = cx.send(address, rpc);
        }
    }
}
