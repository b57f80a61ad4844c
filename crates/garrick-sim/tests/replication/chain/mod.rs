//! Chain replication (van Renesse and Schneider, "Chain replication for supporting high throughput
//! and availability", OSDI 2004). Updates enter at the head, and each replica passes them on to its
//! successor. The tail acknowledges updates and answers queries. Replicas are fail-stop: a master
//! is told of each crash, and removes the replica from the chain.
//!
//! ```text
//!  writer --update--> head --forward--> middle --forward--> tail --acknowledge--> writer
//!                      ^                 ^ |                 ^ | --answer-------> reader
//!                      +----- stable ----+ +---- stable -----|-+
//!  master --configure--+-----------------+-------------------+
//! ```
//!
//! One module for each kind of actor. The clients hear of a configuration when all its replicas
//! have installed it.

mod clients;
mod master;
mod properties;
mod replica;

mod tests;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use garrick_actor::Address;
use garrick_sim::Sim;

use clients::{Reader, Writer};
use master::{Master, Order};
use replica::{Replica, Request};

/// Number of replicas.
const REPLICAS: usize = 3;

/// Number of updates.
const UPDATES: u32 = 3;

/// Mistakes of an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The head acknowledges an update when it comes.
    AcknowledgesAtHead,
    /// A replica does not send the updates in flight to a new successor.
    ForgetsInFlight,
    /// A replica that becomes the tail does not acknowledge the updates that it has.
    ForgetsToAcknowledge,
    /// Each replica answers queries.
    AnswersEverywhere,
    /// A replica applies an update again that comes again.
    AppliesAgain,
}

/// Number of an update.
type Update = u32;

/// The replicas of a chain with their numbers, head first.
#[derive(Clone)]
struct Config {
    epoch: u32,
    chain: Vec<(usize, Address<Request>)>,
}

/// The replicas that have not crashed. Only replicas write to it, and only properties read it.
#[derive(Clone)]
struct Living(Arc<Mutex<BTreeSet<usize>>>);

impl Living {
    fn contains(&self, replica: usize) -> bool {
        self.with(|living| living.contains(&replica))
    }

    fn with<R>(&self, f: impl FnOnce(&mut BTreeSet<usize>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The place of a replica in the table of living replicas. The destructor deletes it.
struct Life {
    replica: usize,
    living: Living,
}

impl Life {
    fn begin(replica: usize, living: Living) -> Self {
        living.with(|living| living.insert(replica));
        Self { replica, living }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.living.with(|living| living.remove(&self.replica));
    }
}

/// Sets up a chain of three replicas, its master, a writer, and a reader that makes `queries` queries.
/// One or two of the replicas crash.
fn chain(sim: &mut Sim, queries: u32, mistake: Mistake) {
    let living = Living(Arc::default());
    let master = Rc::default();
    let replicas: Vec<_> = (0..REPLICAS)
        .map(|replica| {
            (
                replica,
                open_replica(sim, replica, &living, &master, mistake),
            )
        })
        .collect();
    let clients = sim.node("clients");
    let writer = clients.spawn(Writer::default()).unwrap();
    let reader = clients.spawn(Reader::new(queries)).unwrap();
    let spawned = sim
        .node("master")
        .spawn(Master::new(replicas, vec![writer, reader]));
    let is_first = master.set(spawned.unwrap()).is_ok();
    assert!(is_first, "there is one master");
    add_crashes(sim);
    properties::declare(sim, &living, queries);
}

/// Opens the node of a replica. When it starts again after a crash, it has lost its state, and only
/// tells the master of the crash.
fn open_replica(
    sim: &mut Sim,
    replica: usize,
    living: &Living,
    master: &Rc<OnceCell<Address<Order>>>,
    mistake: Mistake,
) -> Address<Request> {
    let opened = Rc::new(RefCell::new(None));
    let (address, living, master) = (Rc::clone(&opened), living.clone(), Rc::clone(master));
    sim.restarting(format!("r{replica}"), move |node| match master.get() {
        Some(master) => drop(master.send(Order::Crashed(replica))),
        None => {
            let life = Life::begin(replica, living.clone());
            let spawned = node.spawn(Replica::new(life, mistake)).unwrap();
            *address.borrow_mut() = Some(spawned);
        }
    });
    opened.take().expect("the node has started")
}

/// Lets one replica crash, and a second one for every other seed.
fn add_crashes(sim: &mut Sim) {
    let seed = sim.seed() as usize;
    let crashes = 1 + seed / REPLICAS % 2;
    for crash in 0..crashes {
        let node = format!("r{}", (seed + crash) % REPLICAS);
        let after = Duration::ZERO..Duration::from_secs(1);
        sim.faults().crash_and_restart(node, 1, after);
    }
}
