//! Chain replication (van Renesse and Schneider, "Chain replication for supporting high throughput
//! and availability", OSDI 2004). Updates enter at the head, and each replica passes them on to its
//! successor. The tail acknowledges updates and answers queries. Replicas are fail-stop: one that
//! has crashed starts again without its state, and the master adds it to the chain as the new tail.
//!
//! ```text
//!  writer --update--> head --forward--> middle --forward--> tail --acknowledge--> writer
//!                      |                  |                  | `---answer-------> reader
//!  master --configure--+------------------+------------------+
//! ```
//!
//! One module for each kind of actor. A replica with a new successor sends it the whole history,
//! which contains the updates in flight, and then tells it that the history is complete. A new tail
//! answers queries from then on. The clients hear of a configuration when all its replicas have
//! installed it.

mod clients;
mod master;
mod properties;
mod replica;

mod tests;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use garrick_actor::Address;
use garrick_sim::{Node, Sim};

use clients::{Reader, Writer};
use master::{Master, Order};
use replica::{Replica, Request};

/// Number of nodes with replicas.
const NODES: usize = 3;

/// Number of updates.
const UPDATES: u32 = 3;

/// Mistakes of an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The head acknowledges an update when the update arrives.
    AcknowledgesAtHead,
    /// After a crash of the middle replica, the head does not send the history to the new
    /// successor.
    ForgetsInFlight,
    /// Each replica answers queries.
    AnswersEverywhere,
    /// A new tail answers queries before its history is complete.
    AnswersEarly,
    /// A replica applies an update a second time if the update arrives again.
    AppliesAgain,
}

/// Number of an update.
type Update = u32;

/// Number of a replica. A node that starts again after a crash has a new replica.
type ReplicaId = usize;

/// A replica of a chain, with the index of its node.
#[derive(Clone)]
struct Member {
    node: usize,
    id: ReplicaId,
    address: Address<Request>,
}

/// The replicas of a chain, head first.
#[derive(Clone)]
struct Config {
    epoch: u32,
    chain: Vec<Member>,
}

/// The replicas that have not crashed. Only replicas write to this table, and only properties read
/// it.
#[derive(Clone, Default)]
struct Living(Arc<Mutex<BTreeSet<ReplicaId>>>);

impl Living {
    fn contains(&self, id: ReplicaId) -> bool {
        self.with(|living| living.contains(&id))
    }

    fn with<R>(&self, f: impl FnOnce(&mut BTreeSet<ReplicaId>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The entry of a replica in the table of living replicas. The destructor removes the entry.
struct Life {
    id: ReplicaId,
    living: Living,
}

impl Life {
    fn begin(id: ReplicaId, living: Living) -> Self {
        living.with(|living| living.insert(id));
        Self { id, living }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.living.with(|living| living.remove(&self.id));
    }
}

/// State that the nodes of a run share.
#[derive(Default)]
struct Shared {
    living: Living,
    master: OnceCell<Address<Order>>,
    /// The replicas of the setup, tail first.
    first: RefCell<Vec<Member>>,
    /// Number of replicas that were started after a crash.
    restarts: Cell<usize>,
}

/// Sets up a chain of three replicas, its master, a writer, and a reader that makes `queries`
/// queries. One or two of the nodes of replicas crash.
fn chain(sim: &mut Sim, queries: u32, mistake: Mistake) {
    let shared = Rc::new(Shared::default());
    for node in (0..NODES).rev() {
        let of = Rc::clone(&shared);
        sim.restarting(format!("r{node}"), move |handle| {
            start_replica(handle, node, &of, mistake);
        });
    }
    let chain: Vec<Member> = shared.first.take().into_iter().rev().collect();
    let clients = sim.node("clients");
    let writer = clients.spawn(Writer::new(&chain[0])).unwrap();
    let reader = clients.spawn(Reader::new(chain.clone(), queries)).unwrap();
    let master = Master::new(chain, vec![writer, reader]);
    let master = sim.node("master").spawn(master).unwrap();
    assert!(shared.master.set(master).is_ok(), "there is one master");
    add_crashes(sim);
    properties::declare(sim, &shared.living, queries);
}

/// Starts the replica of a node. If the node has crashed before, tells the master about the new
/// replica.
fn start_replica(handle: &Node, node: usize, shared: &Shared, mistake: Mistake) {
    let spawn = |id, successor| {
        let life = Life::begin(id, shared.living.clone());
        let replica = Replica::new(life, successor, id < NODES, mistake);
        let address = handle.spawn(replica).unwrap();
        Member { node, id, address }
    };
    if let Some(master) = shared.master.get() {
        let id = NODES + shared.restarts.get();
        shared.restarts.set(id + 1 - NODES);
        master.send(Order::Started(spawn(id, None))).unwrap();
        return;
    }
    let successor = shared.first.borrow().last().cloned();
    let member = spawn(node, successor);
    shared.first.borrow_mut().push(member);
}

/// Lets one node crash, and a second one for every other seed.
fn add_crashes(sim: &mut Sim) {
    let seed = sim.seed() as usize;
    let nodes = 1 + seed / NODES % 2;
    for number in 0..nodes {
        let node = format!("r{}", (seed + number) % NODES);
        let after = Duration::ZERO..Duration::from_secs(1);
        sim.faults().crash_and_restart(node, 1, after);
    }
}
