//! Transports, which carry frames from one node to another.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use garrick_actor::Address;
use hashbrown::HashMap;

use crate::error::JoinError;
use crate::lock::lock;
use crate::name::NodeName;

/// A frame that has arrived.
#[derive(Clone)]
pub struct Incoming(pub(crate) Bytes);

impl Incoming {
    /// Creates a frame from bytes, which may come from an attacker.
    #[must_use]
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// Returns the length of the frame in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Returns the content of the frame.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incoming({} bytes)", self.0.len())
    }
}

/// Implemented by networks that carry frames between nodes.
///
/// # Rules
/// - Frames from one node to another arrive in the order in which they were sent, or not at all. A
///   frame may arrive twice. Frames may be lost even if [`Transport::send`] has returned true. The
///   nodes detect repeated and lost frames. A transport should refuse frames while it has no
///   connection, so that a short outage loses only frames under way.
/// - A node that joins gets an incarnation number. The number is greater than the numbers of all
///   earlier nodes with the same name in the cluster.
/// - The transport keeps the address to which it passes the frames for a node. If the node loses
///   its name to another node, the transport stops the actor with this address, and the node
///   leaves.
pub trait Transport: Send + Sync + 'static {
    /// Joins the cluster `cluster` as the node `name`. After joining, the transport sends all
    /// frames for this node to `incoming`. Returns the incarnation number of the node, which is not
    /// 0. May block.
    ///
    /// # Errors
    /// Returns [`JoinError::Taken`] if another node has the name, [`JoinError::InTurn`] if a turn
    /// calls this method and the transport would have to block, and [`JoinError::Transport`] for
    /// any other reason.
    fn join(
        &self,
        cluster: &str,
        name: &NodeName,
        incoming: Address<Incoming>,
    ) -> Result<u64, JoinError>;

    /// Makes the node `name` leave the cluster, if `life` is its current incarnation number. Does
    /// not block.
    fn leave(&self, name: &NodeName, life: u64);

    /// Returns the maximum size of a frame in bytes. Called after the node has joined. If the
    /// messages that a turn sends to another node would need a larger frame, the sending node
    /// refuses them. Larger frames are not sent, even if the maximum has become smaller after the
    /// node has joined. The maximum should be at least 65,536 bytes: smaller frames are always
    /// passed to the transport. By default, there is no maximum.
    fn max_frame(&self) -> usize {
        usize::MAX
    }

    /// Sends a frame to the node `to`. Returns false if sending is not possible now. In this case,
    /// the transport must not have sent anything. The node tries again later, so the frame is not
    /// lost. Does not block. If the caller is in a turn, an implementation can delay the frame
    /// until the turn commits.
    fn send(&self, to: &NodeName, frame: Incoming) -> bool;
}

/// A network within a process, for nodes on several systems, and for simulations. Clones are
/// handles to the same network.
///
/// In a simulation, frames are messages between nodes. So the links and partitions of the
/// simulation delay, lose and repeat frames.
#[derive(Clone, Default)]
pub struct LocalNet {
    nodes: Arc<Mutex<HashMap<NodeName, Joined>>>,
}

/// A node that has joined the network, and perhaps has left again.
struct Joined {
    life: u64,
    /// Address to which the frames for the node are sent. `None` if the node has left.
    incoming: Option<Address<Incoming>>,
}

impl LocalNet {
    /// Creates a network without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn nodes(&self) -> MutexGuard<'_, HashMap<NodeName, Joined>> {
        lock(&self.nodes)
    }
}

impl Transport for LocalNet {
    /// Joins this network. Nodes of all clusters on one network share the same names, so use one
    /// network for each cluster.
    fn join(
        &self,
        _: &str,
        name: &NodeName,
        incoming: Address<Incoming>,
    ) -> Result<u64, JoinError> {
        let mut nodes = self.nodes();
        let joined = nodes.entry(name.clone()).or_insert(Joined {
            life: 0,
            incoming: None,
        });
        if (joined.incoming.as_ref()).is_some_and(|incoming| !incoming.is_stopped()) {
            return Err(JoinError::Taken {
                name: name.to_string(),
            });
        }
        joined.life += 1;
        let life = joined.life;
        let before = joined.incoming.replace(incoming);
        drop(nodes);
        drop(before);
        Ok(life)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        let mut nodes = self.nodes();
        let joined = nodes.get_mut(name).filter(|joined| joined.life == life);
        let before = joined.and_then(|joined| joined.incoming.take());
        drop(nodes);
        drop(before);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        let incoming = self
            .nodes()
            .get(to)
            .and_then(|joined| joined.incoming.clone());
        incoming.is_some_and(|incoming| incoming.send(frame).is_ok())
    }
}

impl fmt::Debug for LocalNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalNet").finish_non_exhaustive()
    }
}
