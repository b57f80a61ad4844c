//! Shared state of a round: its actors, its running systems, and the remaining work.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::naming::{EventStream, Key, Receptionist, Topic};
use garrick_actor::route::{Pool, RoundRobin, Router};
use garrick_actor::supervise::Tree;
use garrick_actor::{Actor, Address, Handle, System};

use crate::ledger::Ledger;
use crate::node::{Cmd, LARGE, Msg, Node};
use crate::peer::{Peer, Sized_};
use crate::random::Random;
use crate::value::{Value, hush};
use garrick_testkit::fail;

/// Receptionist key of the actors with the smallest messages.
pub(crate) const SMALL: Key<Msg<0>> = Key::new("small");

/// Maximum number of actors whose addresses a town stores.
const PEERS_MAX: usize = 200;

/// Maximum number of bounded mailboxes in which senders can wait for room.
const INLETS_MAX: usize = 6;

/// Services that all actors of a round share.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) topic: Topic<Arc<Value>>,
    pub(crate) events: EventStream,
    pub(crate) receptionist: Receptionist,
    pub(crate) router: Router<Msg<0>>,
    pub(crate) pool: Pool<Value, Value>,
}

/// Shared state of a round.
pub(crate) struct Town {
    pub(crate) ledger: Ledger,
    /// Number of actions that are left.
    fuel: AtomicI64,
    is_over: AtomicBool,
    numbers: AtomicU64,
    peers: Mutex<Vec<Peer>>,
    handles: Mutex<Vec<Handle>>,
    /// A system that any actor or thread may end. The other systems are ended only by the main
    /// thread of the round. Otherwise two workers could wait forever for the ends of each other's
    /// systems.
    victim: Mutex<Option<System>>,
    trees: Mutex<Vec<Tree>>,
    /// Bounded mailboxes whose senders wait for room.
    inlets: Mutex<Vec<Address<Msg<6>>>>,
    services: Mutex<Option<Services>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Town {
    pub(crate) fn new(fuel: i64) -> Arc<Self> {
        Arc::new(Self {
            ledger: Ledger::new(),
            fuel: AtomicI64::new(fuel),
            is_over: AtomicBool::new(false),
            numbers: AtomicU64::new(0),
            peers: Mutex::default(),
            handles: Mutex::default(),
            victim: Mutex::default(),
            trees: Mutex::default(),
            inlets: Mutex::default(),
            services: Mutex::default(),
        })
    }

    pub(crate) fn open(
        self: &Arc<Self>,
        handles: Vec<Handle>,
        victim: Option<System>,
        trees: Vec<Tree>,
    ) {
        let on = handles[0].clone();
        let pool = Pool::spawn(&on, 2, || {
            |value: Value| {
                if value.number_is_a_multiple_of(13) {
                    hush(value);
                    fail();
                }
                value
            }
        });
        *lock(&self.services) = Some(Services {
            topic: Topic::spawn(&on).unwrap(),
            events: EventStream::spawn(&on).unwrap(),
            receptionist: Receptionist::spawn(&on).unwrap(),
            router: Router::spawn(&on, RoundRobin::new()).unwrap(),
            pool: pool.unwrap(),
        });
        *lock(&self.handles) = handles;
        *lock(&self.victim) = victim;
        *lock(&self.trees) = trees;
    }

    /// Drops all addresses, handles, trees and services of the round.
    pub(crate) fn close(&self) {
        drop(std::mem::take(&mut *lock(&self.trees)));
        drop(std::mem::take(&mut *lock(&self.inlets)));
        drop(lock(&self.services).take());
        let peers = std::mem::take(&mut *lock(&self.peers));
        drop(peers);
        drop(std::mem::take(&mut *lock(&self.handles)));
    }

    /// Uses one of the remaining actions. Returns false if no action is left.
    pub(crate) fn burn(&self) -> bool {
        self.fuel.fetch_sub(1, SeqCst) > 0
    }

    pub(crate) fn is_burnt(&self) -> bool {
        self.fuel.load(SeqCst) <= 0
    }

    pub(crate) fn extinguish(&self) {
        self.fuel.store(0, SeqCst);
    }

    pub(crate) fn set_over(&self) {
        self.is_over.store(true, SeqCst);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, SeqCst)
    }

    pub(crate) fn services(&self) -> Option<Services> {
        lock(&self.services).clone()
    }

    pub(crate) fn tree(&self, number: u64) -> Option<Tree> {
        let trees = lock(&self.trees);
        trees.get(number as usize % trees.len().max(1)).cloned()
    }

    pub(crate) fn plant(&self, tree: Tree) {
        lock(&self.trees).push(tree);
    }

    pub(crate) fn trees(&self) -> Vec<Tree> {
        lock(&self.trees).clone()
    }

    pub(crate) fn inlet(&self, number: u64) -> Option<Address<Msg<6>>> {
        let inlets = lock(&self.inlets);
        inlets.get(number as usize % inlets.len().max(1)).cloned()
    }

    /// Spawns an actor with a bounded mailbox whose senders wait for room.
    pub(crate) fn settle_behind_inlet(self: &Arc<Self>, random: &mut Random) {
        let Some(handle) = self.handle(random.next()) else {
            return;
        };
        let node = Node::<6>::new(self, random.next(), false);
        let (number, capacity) = (node.number(), 1 + random.below(3) as usize);
        let mailbox = Mailbox::bounded(capacity, OnFull::Wait).unwrap();
        let Ok(inlet) = handle.actor(node).mailbox(mailbox).spawn() else {
            return;
        };
        self.enlist(Peer {
            number,
            what: "an inlet",
            is_ordered: true,
            to: inlet.clone().of(),
        });
        let mut inlets = lock(&self.inlets);
        let gone = (inlets.len() >= INLETS_MAX).then(|| inlets.swap_remove(0));
        inlets.push(inlet);
        drop(inlets);
        drop(gone);
    }

    pub(crate) fn handle(&self, number: u64) -> Option<Handle> {
        let handles = lock(&self.handles);
        handles.get(number as usize % handles.len().max(1)).cloned()
    }

    pub(crate) fn take_system(&self, _: u64) -> Option<System> {
        lock(&self.victim).take()
    }

    /// Begins to shut down the system `victim`, if it still runs.
    pub(crate) fn begin_end(&self, now: bool) {
        // It is not locked meanwhile: whoever is in there may look for it as well.
        let Some(victim) = self.take_system(0) else {
            return;
        };
        if now {
            victim.begin_shutdown_now();
        } else {
            victim.begin_shutdown();
        }
        *lock(&self.victim) = Some(victim);
    }

    /// Returns an actor, or `None` if no actors are left.
    pub(crate) fn peer(&self, number: u64) -> Option<Peer> {
        let peers = lock(&self.peers);
        let at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize;
        peers.get(at % peers.len().max(1)).cloned()
    }

    pub(crate) fn peers(&self) -> Vec<Peer> {
        lock(&self.peers).clone()
    }

    pub(crate) fn enlist(&self, peer: Peer) {
        let mut peers = lock(&self.peers);
        let gone = (peers.len() >= PEERS_MAX).then(|| {
            let at = peer.number as usize % peers.len();
            peers.swap_remove(at)
        });
        peers.push(peer);
        drop(peers);
        // Perhaps nobody can reach it any more.
        drop(gone);
    }

    /// Drops the stored address of an actor. The actor may then be unreachable.
    pub(crate) fn forget(&self, number: u64) {
        let mut peers = lock(&self.peers);
        if peers.len() > 8 {
            let at = number as usize % peers.len();
            let gone = peers.swap_remove(at);
            drop(peers);
            drop(gone);
        }
    }

    /// Spawns an actor of a random kind on one of the systems.
    pub(crate) fn settle_somebody(self: &Arc<Self>, number: u64) {
        if let Some(handle) = self.handle(number) {
            let mut random = Random::new(number);
            match random.below(4) {
                0 => settle::<0>(self, &handle, &mut random),
                1 => settle::<LARGE>(self, &handle, &mut random),
                _ => settle::<6>(self, &handle, &mut random),
            }
        }
    }

    pub(crate) fn publish(self: &Arc<Self>, number: u64) {
        if let Some(services) = self.services() {
            let value = Arc::new(Value::plain(self));
            if number.is_multiple_of(2) {
                let _ = services.topic.publish(value);
            } else {
                let _ = services.events.publish(value);
            }
        }
    }
}

/// Spawns an actor with a random mailbox and random options, and stores its address in the town.
pub(crate) fn settle<const N: usize>(town: &Arc<Town>, handle: &Handle, random: &mut Random)
where
    garrick_actor::Address<Msg<N>>: Sized_,
{
    let node = Node::<N>::new(town, random.next(), false);
    let number = node.number();
    let mut is_ordered = true;
    let kind = random.below(14);
    let what = [
        "plain",
        "plain",
        "plain",
        "stash",
        "timeout",
        "pipe limit",
        "named",
        "priority",
        "wait",
        "fail",
        "drop newest",
        "drop oldest",
        "wait",
        "drop oldest",
    ][kind as usize];
    let made = match kind {
        0..3 => handle.spawn(node.counting()).ok(),
        3 => handle
            .actor(node.stashing().counting())
            .stash(4)
            .spawn()
            .ok(),
        4 => {
            let timeout = Duration::from_micros(random.below(500));
            let node = handle.actor(node.patient().counting()).stash(2);
            let node = node.receive_timeout(timeout, || Cmd::Quiet.into());
            node.spawn().ok()
        }
        5 => {
            let limit = NonZero::new(1 + random.below(3) as usize).unwrap();
            handle.actor(node.counting()).pipe_limit(limit).spawn().ok()
        }
        6 => handle.actor(node.counting()).named("node").spawn().ok(),
        7 => {
            is_ordered = false;
            let mailbox = Mailbox::priority(|msg: &Msg<N>| msg.rank());
            mailbox_of(handle, mailbox, node.counting())
        }
        _ => {
            let capacity = 1 + random.below(4) as usize;
            let mailbox = Mailbox::bounded(
                capacity,
                match kind {
                    8 | 12 => OnFull::Wait,
                    9 => OnFull::Fail,
                    10 => OnFull::DropNewest,
                    _ => OnFull::DropOldest,
                },
            );
            mailbox_of(handle, mailbox.unwrap(), node)
        }
    };
    if let Some(address) = made {
        town.enlist(Peer {
            number,
            what,
            is_ordered,
            to: address.of(),
        });
    }
}

fn mailbox_of<A>(handle: &Handle, mailbox: Mailbox<A::Msg>, actor: A) -> Option<Address<A::Msg>>
where
    A: Actor<Msg: Send> + Send,
{
    handle.actor(actor).mailbox(mailbox).spawn().ok()
}
