//! The program that is checked: three nodes, their clients, and the placement.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Context, Handle};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, EntitiesSample, KindOptions, LocalNet, MembersSample, Node};
use garrick_journal::{Journal, MemoryLog};
use garrick_sim::{Facts, Sim};

use crate::counters::{
    Answered, Asked, COUNTER, Clerk, Client, Counter, KEYS, Ran, SlowCounter, Took,
};
use crate::register::{self, REGISTER};
use crate::registers::{Good, Model, REGISTERS, User};

/// Names of the nodes.
pub(crate) const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];

/// Time after which the nodes leave.
const LEAVES_AFTER: Duration = Duration::from_secs(60);

/// Time within which each question is answered or refused. A message waits for at most 10 s on its
/// way, and the loss of a node is noticed after 5 s. If a node is cut off, this may take 12 s
/// longer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(45);

/// Maximum number of incarnations of a node.
const LIVES: u64 = 100;

/// Options of the program.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// True if no message may be lost, so that all messages must be handled.
    loses_nothing: bool,
    /// True if no node may lose its membership.
    keeps_members: bool,
    /// True if nodes join late and leave early.
    moves: bool,
    /// True if the entities are durable registers.
    is_durable: bool,
    /// True if the registers are of a fenced kind.
    is_fenced: bool,
    /// True if turns of counters take up to 3 seconds.
    is_slow: bool,
    /// True if the clients of a leaving node send messages until the node has left.
    sends_to_the_end: bool,
}

impl Plan {
    pub(crate) fn calm() -> Self {
        Self {
            loses_nothing: true,
            keeps_members: true,
            moves: false,
            is_durable: false,
            is_fenced: false,
            is_slow: false,
            sends_to_the_end: false,
        }
    }

    pub(crate) fn moving() -> Self {
        Self {
            moves: true,
            ..Self::calm()
        }
    }

    pub(crate) fn rough() -> Self {
        Self {
            loses_nothing: false,
            keeps_members: false,
            ..Self::calm()
        }
    }

    /// Returns a plan in which messages may be lost, but nodes may not be lost.
    pub(crate) fn without_placement() -> Self {
        Self {
            keeps_members: true,
            ..Self::rough()
        }
    }

    /// Returns a plan in which nodes join and leave, and messages may be lost.
    pub(crate) fn leaving() -> Self {
        Self {
            moves: true,
            ..Self::rough()
        }
    }

    /// Returns this plan with durable registers of a fenced kind instead of counters.
    pub(crate) fn fenced(self) -> Self {
        Self {
            is_fenced: true,
            ..self.durable()
        }
    }

    /// Returns this plan with counters whose turns take up to 3 seconds.
    pub(crate) fn slow(self) -> Self {
        Self {
            is_slow: true,
            ..self
        }
    }

    /// Returns this plan with clients that send until their nodes have left.
    pub(crate) fn sending_to_the_end(self) -> Self {
        Self {
            sends_to_the_end: true,
            ..self
        }
    }

    /// Returns this plan with durable registers instead of counters.
    pub(crate) fn durable(self) -> Self {
        Self {
            is_durable: true,
            ..self
        }
    }
}

/// A fact: the counters of a node before it leaves.
#[derive(Debug)]
struct Sampled(MembersSample, Vec<EntitiesSample>);

/// An actor that makes its node join and leave at given times.
struct Life {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    log: MemoryLog,
    name: &'static str,
    instances: Arc<AtomicU64>,
    joins_after: Duration,
    drains_after: Option<Duration>,
    client: u64,
    plan: Plan,
    joined: Option<(Node, Entities)>,
}

enum ToLife {
    Join,
    Drain,
    Leave,
}

impl Life {
    fn join(&mut self, cx: &mut Context<'_, ToLife>) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        if self.plan.is_durable {
            self.host_registers(&entities, cx);
        } else {
            self.host_counters(&entities, cx);
        }
        self.joined = Some((node, entities));
    }
}

impl Life {
    fn host_counters(&self, entities: &Entities, cx: &Context<'_, ToLife>) {
        let instances = self.instances.clone();
        let make = move |key: &str| Counter {
            key: KEYS.into_iter().find(|known| *known == key).unwrap(),
            instance: instances.fetch_add(1, Relaxed),
        };
        let options = KindOptions::new()
            .shards(4)
            .idle(Some(Duration::from_secs(3)));
        if self.plan.is_slow {
            let clerk = cx.spawn(Clerk);
            let slow = move |key: &str| SlowCounter {
                counter: make(key),
                clerk: clerk.clone(),
            };
            entities.host(COUNTER, options, slow).unwrap();
        } else {
            entities.host(COUNTER, options, make).unwrap();
        }
        let counters = KEYS.map(|key| entities.get(COUNTER, key).unwrap());
        let (leaves, to_the_end) = (self.drains_after.is_some(), self.plan.sends_to_the_end);
        let client = Client {
            client: self.client,
            counters: counters.into(),
            number: 0,
            // Its addresses do not work after its node has left.
            last: match (leaves, to_the_end) {
                (_, true) => 80,
                (true, false) => 40,
                (false, false) => 60,
            },
            // Questions that are refused would be asked in vain.
            only_tells: leaves && to_the_end,
            pause: Duration::from_millis(480),
        };
        drop(cx.spawn(client));
    }

    fn host_registers(&self, entities: &Entities, cx: &Context<'_, ToLife>) {
        let journal = Journal::new(&self.handle, self.log.clone()).unwrap();
        let options = KindOptions::new()
            .shards(4)
            .idle(Some(Duration::from_secs(3)));
        register::host(entities, journal, options, self.plan.is_fenced);
        let registers = 0..REGISTERS;
        let address = |key: u64| entities.get(REGISTER, &key.to_string()).unwrap();
        drop(cx.spawn(User {
            client: self.client,
            registers: registers.map(address).collect(),
            calls: 0,
            last: if self.drains_after.is_some() { 20 } else { 40 },
            pause: Duration::from_millis(700),
            seen: None,
        }));
    }
}

impl Actor for Life {
    type Msg = ToLife;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToLife>) {
        let me = cx.address();
        let _ = cx.send_after(self.joins_after, &me, ToLife::Join);
        if let Some(after) = self.drains_after {
            let _ = cx.send_after(after, &me, ToLife::Drain);
        }
        let _ = cx.send_after(LEAVES_AFTER, &me, ToLife::Leave);
    }

    fn receive(&mut self, message: ToLife, cx: &mut Context<'_, ToLife>) {
        match message {
            ToLife::Join => self.join(cx),
            ToLife::Drain => {
                if let Some((_, entities)) = &self.joined {
                    drop(entities.drain());
                }
            }
            ToLife::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    cx.note(Sampled(entities.members(), entities.sample()));
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

pub(crate) fn program(sim: &mut Sim, plan: Plan) {
    let net = LocalNet::new();
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    let instances = Arc::new(AtomicU64::new(1));
    let log = MemoryLog::new();
    let drains = if plan.sends_to_the_end {
        // While the first node hands shards over to the last one.
        let chance = sim.seed() * 97 % 2_000;
        Some((1, Duration::from_millis(15_000 + chance)))
    } else {
        // The last node leaves while the others send.
        plan.moves.then(|| (2, Duration::from_secs(28)))
    };
    for (number, name) in (0..).zip(NODES) {
        let (net, placement, instances) = (net.clone(), placement.clone(), instances.clone());
        let log = log.clone();
        let mut life = 0;
        sim.restarting(name, move |node| {
            life += 1;
            let moves = |time: u64| if plan.moves { time * number } else { 0 };
            let life = Life {
                handle: node.handle().clone(),
                net: net.clone(),
                placement: placement.clone(),
                log: log.clone(),
                name,
                instances: instances.clone(),
                joins_after: Duration::from_secs(moves(3)),
                drains_after: drains
                    .filter(|(of, _)| *of == number)
                    .map(|(_, after)| after),
                client: number * LIVES + life,
                plan,
                joined: None,
            };
            drop(node.spawn(life).unwrap());
        });
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    properties(sim, plan);
}

/// Declares the properties of the program.
fn properties(sim: &mut Sim, plan: Plan) {
    if plan.keeps_members {
        sim.explained("no node is lost", |facts| {
            let mut lost = facts.seen::<Sampled>().filter(|sampled| sampled.0.lost > 0);
            lost.next()
                .map_or(Ok(()), |sampled| Err(format!("{sampled:?}")))
        });
    }
    if plan.moves {
        sim.at_end("a node that hands its shards over leaves", |facts| {
            facts.seen::<Sampled>().any(|sampled| !sampled.0.is_member)
        });
    }
    if plan.loses_nothing {
        sim.explained("no message is dropped", |facts| {
            let drops = |sample: &EntitiesSample| sample.strays + sample.expired > 0;
            let mut drops = (facts.seen::<Sampled>()).filter(|sampled| sampled.1.iter().any(drops));
            drops
                .next()
                .map_or(Ok(()), |sampled| Err(format!("{sampled:?}")))
        });
    }
    if plan.is_durable {
        sim.linearizable(Model::default());
        if plan.loses_nothing {
            sim.at_end("all calls are answered", |facts| {
                facts.seen::<Good>().len() >= 100
            });
        }
        return;
    }
    sim.always("one instance of a counter runs at a time", one_at_a_time());
    sim.always("messages come in order, and once", in_order());
    sim.explained("each question ends in time", ends_in_time);
    if plan.loses_nothing {
        sim.explained("all messages are handled", all_are_handled);
    }
}

/// Returns a function that looks at each [`Ran`] once, in their order, and returns false if `holds`
/// returns false. A look at all of them after each step would take most of the time of a run.
fn each_ran(mut holds: impl FnMut(&Ran) -> bool) -> impl FnMut(&Facts) -> bool {
    let mut seen = 0;
    move |facts| {
        let mut new = facts.seen::<Ran>().skip(seen);
        seen = facts.seen::<Ran>().len();
        new.all(&mut holds)
    }
}

/// Checks that earlier instances of a counter have no effects after a later instance has run.
fn one_at_a_time() -> impl FnMut(&Facts) -> bool {
    let mut seen: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    each_ran(move |ran| {
        let instances = seen.entry(ran.key).or_default();
        match instances.iter().position(|known| *known == ran.instance) {
            Some(place) => place + 1 == instances.len(),
            None => {
                instances.push(ran.instance);
                true
            }
        }
    })
}

fn in_order() -> impl FnMut(&Facts) -> bool {
    let mut last: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    each_ran(move |ran| {
        let before = last.insert((ran.key, ran.client), ran.number);
        before.is_none_or(|before| before < ran.number)
    })
}

fn ends_in_time(facts: &Facts) -> Result<(), String> {
    let limit = ANSWERED_WITHIN.as_nanos() as u64;
    let mut answers: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for (at, Answered(client, number, _)) in facts.timed::<Answered>() {
        answers.entry((*client, *number)).or_default().push(at);
    }
    // A client that has crashed gets no answers. The next life of its node has another one.
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for Asked(client, _) in facts.seen::<Asked>() {
        let last = last.entry(client / LIVES).or_default();
        *last = (*client).max(*last);
    }
    for (asked, Asked(client, number)) in facts.timed::<Asked>() {
        if last[&(client / LIVES)] != *client {
            continue;
        }
        match answers.get(&(*client, *number)).map(Vec::as_slice) {
            Some([at]) if *at < asked + limit => {}
            other => return Err(format!("{client} {number}, asked at {asked}: {other:?}")),
        }
    }
    Ok(())
}

fn all_are_handled(facts: &Facts) -> Result<(), String> {
    let handled = facts.seen::<Ran>().len();
    let sent = facts.seen::<Took>().len() + facts.seen::<Asked>().len();
    let failed = facts
        .seen::<Answered>()
        .find(|answered| answered.2.is_err());
    if handled == sent && failed.is_none() && sent > 100 {
        return Ok(());
    }
    Err(format!("{handled} of {sent}; {failed:?}"))
}
