//! Replicas that exchange their states over links that lose messages, for state-based CRDTs
//! (Shapiro, Preguica, Baquero and Zawirski, "A comprehensive study of convergent and commutative
//! replicated data types", 2011).
//!
//! A replica sends its state after each local update, and repeats it until the others have
//! confirmed its newest version. So a state may be lost, may arrive twice, and may arrive in any
//! order relative to the states of others. Each state is sent together with a log of the updates in
//! it. The data does not use the log. The properties compare the data with the log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Choosing, Facts, Sim};

/// Number of replicas.
pub(crate) const REPLICAS: usize = 3;

/// Probability in 1/1000 that a message between two replicas is lost.
const LOSS: u32 = 200;

/// Time after which a state is sent again.
const REPEATS_AFTER: Duration = Duration::from_millis(100);

/// A fair strategy. A program that repeats a message until it is confirmed ends only with such a
/// strategy: PCT may let time pass forever.
pub(crate) const FAIR: Choosing = Choosing::Walk;

pub(crate) const SAME_STATES: &str = "same updates, equal states";

/// The replica at which an update began, and the number of the update among the updates of this
/// replica.
pub(crate) type UpdateId = (usize, u32);

/// A state-based CRDT.
pub(crate) trait Data: Clone + PartialEq + Debug + Send + 'static {
    /// An update.
    type Op: Clone + Debug + Send + Sync + 'static;

    /// Applies an update that begins at this replica. `id` is unique.
    fn update(&mut self, op: &Self::Op, id: UpdateId);

    /// Merges another state into this state.
    fn merge(&mut self, other: &Self);
}

/// An update, with the updates that its replica had before it.
pub(crate) struct Update<O> {
    pub(crate) op: O,
    pub(crate) seen: BTreeSet<UpdateId>,
}

/// The updates that a state contains.
pub(crate) type Log<O> = BTreeMap<UpdateId, Arc<Update<O>>>;

/// A fact: a replica has this state, which contains the updates of the log.
pub(crate) struct Held<D: Data> {
    replica: usize,
    pub(crate) data: D,
    pub(crate) log: Log<D::Op>,
}

impl<D: Data> Debug for Held<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replica, data, log } = self;
        write!(f, "r{replica} has {data:?} after {:?}", log.keys())
    }
}

pub(crate) enum Message<D: Data> {
    /// The first message: the addresses of all replicas.
    Begin(Vec<Address<Message<D>>>),
    /// A local update.
    Do(D::Op),
    State {
        from: usize,
        version: u32,
        data: D,
        log: Log<D::Op>,
    },
    /// The replica `from` has merged the state with this version.
    Confirm {
        from: usize,
        version: u32,
    },
    Repeat,
}

struct Replica<D: Data> {
    id: usize,
    peers: Vec<Address<Message<D>>>,
    data: D,
    log: Log<D::Op>,
    /// Number of local updates.
    updates: u32,
    /// Number of times that the state has changed.
    version: u32,
    /// For each replica, the newest version that it has confirmed.
    confirmed: [u32; REPLICAS],
    waits: bool,
}

impl<D: Data> Replica<D> {
    fn new(id: usize, data: D) -> Self {
        Self {
            id,
            peers: Vec::new(),
            data,
            log: Log::new(),
            updates: 0,
            version: 0,
            confirmed: [0; REPLICAS],
            waits: false,
        }
    }

    /// Applies a local update, and sends the state to the others.
    fn update(&mut self, op: D::Op, cx: &Context<'_, Message<D>>) {
        self.updates += 1;
        let id = (self.id, self.updates);
        let seen = self.log.keys().copied().collect();
        self.data.update(&op, id);
        self.log.insert(id, Arc::new(Update { op, seen }));
        self.note_change(cx);
        self.send_state(cx);
    }

    /// Merges the state of another replica.
    fn merge(&mut self, data: &D, log: Log<D::Op>, cx: &Context<'_, Message<D>>) {
        let (before, updates) = (self.data.clone(), self.log.len());
        self.data.merge(data);
        self.log.extend(log);
        if self.log.len() > updates || self.data != before {
            self.note_change(cx);
            self.wait(cx);
        }
    }

    fn note_change(&mut self, cx: &Context<'_, Message<D>>) {
        self.version += 1;
        cx.note(Held {
            replica: self.id,
            data: self.data.clone(),
            log: self.log.clone(),
        });
    }

    /// Sends the state to the replicas that have not confirmed it.
    fn send_state(&mut self, cx: &Context<'_, Message<D>>) {
        for (id, peer) in self.peers.iter().enumerate() {
            if id == self.id || self.confirmed[id] == self.version {
                continue;
            }
            let state = Message::State {
                from: self.id,
                version: self.version,
                data: self.data.clone(),
                log: self.log.clone(),
            };
            let _ = cx.send(peer, state);
        }
        self.wait(cx);
    }

    /// Starts the timer, unless it runs or all replicas have confirmed the state.
    fn wait(&mut self, cx: &Context<'_, Message<D>>) {
        let is_missing = |id: usize| id != self.id && self.confirmed[id] < self.version;
        if !self.waits && (0..REPLICAS).any(is_missing) {
            self.waits = true;
            let _ = cx.send_after(REPEATS_AFTER, &cx.address(), Message::Repeat);
        }
    }

    fn confirm(&self, to: usize, version: u32, cx: &Context<'_, Message<D>>) {
        let from = self.id;
        let _ = cx.send(&self.peers[to], Message::Confirm { from, version });
    }
}

impl<D: Data> Actor for Replica<D> {
    type Msg = Message<D>;
    type Outcome = ();

    fn receive(&mut self, message: Message<D>, cx: &mut Context<'_, Message<D>>) {
        match message {
            Message::Begin(peers) => self.peers = peers,
            Message::Do(op) => self.update(op, cx),
            // Nobody has told this replica about the others yet. The state will come again.
            Message::State { .. } if self.peers.is_empty() => {}
            Message::State {
                from,
                version,
                data,
                log,
            } => {
                self.merge(&data, log, cx);
                self.confirm(from, version, cx);
            }
            Message::Confirm { from, version } => {
                self.confirmed[from] = self.confirmed[from].max(version);
            }
            Message::Repeat => {
                self.waits = false;
                self.send_state(cx);
            }
        }
    }
}

/// Sets up replicas that begin with `data`, and gives each replica the updates of one list.
/// Declares that replicas with the same updates have equal states, and that all replicas have all
/// updates at the end.
pub(crate) fn replicate<D: Data>(sim: &mut Sim, data: &D, updates: [&[D::Op]; REPLICAS]) {
    let spawn = |id| {
        let replica = Replica::new(id, data.clone());
        sim.node(format!("r{id}")).spawn(replica).unwrap()
    };
    let replicas: Vec<_> = (0..REPLICAS).map(spawn).collect();
    for (replica, updates) in replicas.iter().zip(updates) {
        replica.send(Message::Begin(replicas.clone())).unwrap();
        for op in updates {
            replica.send(Message::Do(op.clone())).unwrap();
        }
    }
    sim.links().all().loses(LOSS);
    let all = updates.iter().map(|updates| updates.len()).sum();
    sim.always(SAME_STATES, same_updates_equal_states::<D>);
    sim.at_end("all have all updates", move |facts| {
        let newest = |id| (facts.seen::<Held<D>>()).rfind(|held| held.replica == id);
        (0..REPLICAS).all(|id| newest(id).is_some_and(|held| held.log.len() == all))
    });
}

/// Returns true if the newest state equals all earlier states with the same updates, on any
/// replica.
fn same_updates_equal_states<D: Data>(facts: &Facts) -> bool {
    let Some(new) = facts.last::<Held<D>>() else {
        return true;
    };
    let mut old = facts.seen::<Held<D>>();
    old.all(|old| !old.log.keys().eq(new.log.keys()) || old.data == new.data)
}
