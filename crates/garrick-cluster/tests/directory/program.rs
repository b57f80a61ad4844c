//! The program that is checked: three nodes, and the placement.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use garrick_actor::route::{RoundRobin, Router};
use garrick_actor::{Actor, Address, Context, Handle};
use garrick_cluster::placement::{LocalPlacement, News, Placement};
use garrick_cluster::{Entities, LocalNet, Node};
use garrick_sim::{Facts, Sim};

use crate::callers::{Called, Caller};
use crate::desks::{Contradicts, DESKS, Desk, Known, Opened, ToDesk, Visitor};
use crate::leaders::{self, Candidate};
use crate::news::{self, LifeName, Publisher};

/// Names of the nodes.
const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];

/// Time after which there are no more faults.
pub(crate) const FAULTS_END: Duration = Duration::from_secs(40);

/// Time after which all nodes must know the same services: a node that is lost is removed after 6
/// s, and a partition lasts for up to 12 s.
const AGREE_AFTER: Duration = Duration::from_secs(75);

/// Time after which nodes publish nothing more.
const PUBLISH_UNTIL: Duration = Duration::from_secs(80);

/// Time before the end at which the nodes record their counters.
const SAMPLED_BEFORE: Duration = Duration::from_secs(3);

/// Time after which the nodes leave.
const LEAVES_AFTER: Duration = Duration::from_secs(90);

/// Time after which the last node leaves, if it leaves early.
const LEAVES_EARLY: Duration = Duration::from_secs(30);

/// Options of the program.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// True if the last node leaves early.
    leaves: bool,
    /// True if no node restarts.
    has_one_life: bool,
    /// True if no messages and no nodes are lost.
    loses_nothing: bool,
}

impl Plan {
    pub(crate) fn calm() -> Self {
        Self {
            leaves: false,
            has_one_life: true,
            loses_nothing: true,
        }
    }

    pub(crate) fn leaving() -> Self {
        Self {
            leaves: true,
            has_one_life: true,
            loses_nothing: false,
        }
    }

    pub(crate) fn rough() -> Self {
        Self {
            leaves: false,
            has_one_life: false,
            loses_nothing: false,
        }
    }
}

/// An incarnation of a node.
struct Life {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    name: &'static str,
    life: u64,
    leaves_after: Duration,
    /// A desk that is closed when other desks are opened.
    first: Option<Address<ToDesk>>,
    joined: Option<(Node, Entities)>,
}

/// A fact: the keys of the records of services at the end.
#[derive(Debug)]
struct Stored(Vec<String>);

/// Reads the records at the end.
struct Reader {
    placement: LocalPlacement,
}

enum ToReader {
    Read,
    News(News),
}

impl Actor for Reader {
    type Msg = ToReader;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToReader>) {
        let me = cx.address();
        let _ = cx.send_after(AGREE_AFTER, &me, ToReader::Read);
    }

    fn receive(&mut self, message: ToReader, cx: &mut Context<'_, ToReader>) {
        match message {
            ToReader::Read => {
                let news = cx.address().contramap(ToReader::News);
                self.placement.read(0, &news);
            }
            ToReader::News(News::Records { records, .. }) => {
                let keys = records.iter().map(|record| record.key.to_string());
                let served = keys.filter(|key| key.starts_with("served."));
                cx.note(Stored(served.collect()));
            }
            ToReader::News(_) => {}
        }
    }
}

enum ToLife {
    /// Request to list another desk, and to close the first one.
    Serve,
    Leave,
}

impl Life {
    fn open(&mut self, number: u64, cx: &Context<'_, ToLife>) {
        let Some((_, entities)) = &self.joined else {
            return;
        };
        let name = format!("{} {} {number}", self.name, self.life);
        cx.note(Opened {
            node: self.name,
            life: self.life,
            name: name.clone(),
        });
        let desk = cx.spawn(Desk(name));
        drop(entities.receptionist().unwrap().serve(&DESKS, &desk));
        if number == 0 {
            self.first = Some(desk);
        }
    }
}

impl Actor for Life {
    type Msg = ToLife;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToLife>) {
        let (me, since) = (cx.address(), Duration::from_nanos(cx.now()));
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        let receptionist = entities.receptionist().unwrap();
        let router = Router::spawn(&self.handle, RoundRobin::new()).unwrap();
        drop(receptionist.route(&DESKS, &router));
        drop(cx.spawn(Caller {
            router,
            calls: 0,
            calls_after: AGREE_AFTER.saturating_sub(since),
        }));
        let topic = entities.topic("news").unwrap();
        let life = (self.name, self.life);
        drop(topic.subscribe(&cx.spawn(news::Reader(life))));
        drop(cx.spawn(Publisher {
            life,
            node: node.clone(),
            entities: entities.clone(),
            topic,
            number: 0,
            ends_at: PUBLISH_UNTIL.min(self.leaves_after),
            samples_after: LEAVES_AFTER.saturating_sub(since + SAMPLED_BEFORE),
        }));
        drop(cx.spawn(Candidate {
            life,
            registry: entities.registry().unwrap(),
            leader: None,
            told: None,
            looks_after: AGREE_AFTER.saturating_sub(since),
        }));
        drop(cx.spawn(Visitor {
            node: self.name,
            life: self.life,
            receptionist,
            desks: Vec::new(),
            names: BTreeSet::new(),
            found: 0,
            visits_after: AGREE_AFTER.saturating_sub(since),
        }));
        self.joined = Some((node, entities));
        self.open(0, cx);
        let _ = cx.send_after(Duration::from_secs(7), &me, ToLife::Serve);
        let leaves = self.leaves_after.saturating_sub(since);
        let _ = cx.send_after(leaves, &me, ToLife::Leave);
    }

    fn receive(&mut self, message: ToLife, cx: &mut Context<'_, ToLife>) {
        match message {
            ToLife::Serve => {
                self.first.take().inspect(Address::stop);
                self.open(1, cx);
                self.open(2, cx);
            }
            ToLife::Leave => {
                if let Some((node, entities)) = self.joined.take() {
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
    for name in NODES {
        let (net, placement) = (net.clone(), placement.clone());
        let leaves = plan.leaves && name == NODES[2];
        let mut life = 0;
        sim.restarting(name, move |node| {
            life += 1;
            let life = Life {
                handle: node.handle().clone(),
                net: net.clone(),
                placement: placement.clone(),
                name,
                life,
                leaves_after: if leaves { LEAVES_EARLY } else { LEAVES_AFTER },
                first: None,
                joined: None,
            };
            drop(node.spawn(life).unwrap());
        });
    }
    let reader = Reader {
        placement: placement.clone(),
    };
    drop(store.spawn(reader).unwrap());
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.always("listings do not contradict each other", |facts| {
        facts.seen::<Contradicts>().next().is_none()
    });
    sim.explained("all calls of a router are answered", calls_are_answered);
    sim.explained("only what is served is stored", move |facts| {
        is_stored(facts, plan)
    });
    sim.explained("one node leads", move |facts| {
        leaders::one_leads(facts, &staying(facts, plan))
    });
    sim.explained("news come in order", news::come_in_order);
    sim.explained("losses of news are counted", news::losses_are_counted);
    sim.explained("all news come", move |facts| {
        let stay = staying(facts, plan);
        let calm = Duration::ZERO;
        let from = if plan.loses_nothing {
            calm
        } else {
            AGREE_AFTER
        };
        news::all_come(facts, &stay, from)
    });
    if plan.loses_nothing {
        sim.explained("no news are lost", news::nothing_is_lost);
        sim.at_end("one node was told to lead", leaders::one_was_told);
    }
    sim.explained("all nodes find the same", move |facts| agree(facts, plan));
}

fn calls_are_answered(facts: &Facts) -> Result<(), String> {
    let called: Vec<_> = facts.seen::<Called>().collect();
    match called.iter().find(|called| called.0.is_err()) {
        Some(failed) => Err(format!("{failed:?}")),
        // Each living node makes them.
        None if called.len() < 20 => Err(format!("only {}", called.len())),
        None => Ok(()),
    }
}

/// Checks that all records at the end belong to nodes that offer services.
fn is_stored(facts: &Facts, plan: Plan) -> Result<(), String> {
    let stored: Vec<_> = facts.seen::<Stored>().collect();
    let [Stored(keys)] = stored[..] else {
        return Err("nothing was read".into());
    };
    // Of each, one of desks and one of the topic.
    let count = 2 * (NODES.len() - usize::from(plan.leaves));
    match keys.len() {
        found if found == count => Ok(()),
        _ => Err(format!("{keys:?}")),
    }
}

/// Returns the last incarnation of each node.
fn last_lives(facts: &Facts) -> BTreeMap<&'static str, u64> {
    let mut lives: BTreeMap<&str, u64> = BTreeMap::new();
    for opened in facts.seen::<Opened>() {
        let life = lives.entry(opened.node).or_default();
        *life = opened.life.max(*life);
    }
    lives
}

/// Returns the last incarnations of the nodes that do not leave early.
fn staying(facts: &Facts, plan: Plan) -> Vec<LifeName> {
    let lives = last_lives(facts).into_iter();
    let stay = lives.filter(|(node, _)| !(plan.leaves && *node == NODES[2]));
    stay.collect()
}

/// Checks that each node knows the open desks of all nodes at the end.
fn agree(facts: &Facts, plan: Plan) -> Result<(), String> {
    let lives = last_lives(facts);
    if plan.has_one_life && lives.values().any(|life| *life > 1) {
        return Err("a node has started again".into());
    }
    let stays = |node: &str| !(plan.leaves && node == NODES[2]);
    let open = facts.seen::<Opened>().filter(|opened| {
        let is_first = opened.name.ends_with(" 0");
        stays(opened.node) && opened.life == lives[opened.node] && !is_first
    });
    let open: BTreeSet<_> = open.map(|opened| opened.name.clone()).collect();
    let nodes = NODES.into_iter().filter(|node| stays(node));
    for node in nodes {
        let is_last = |known: &&Known| known.node == node && known.life == lives[node];
        let Some(known) = facts.seen::<Known>().find(is_last) else {
            return Err(format!("{node} has noted nothing"));
        };
        if known.names != open || known.listed != open.len() || known.found != open.len() {
            return Err(format!("{known:?}, but there are {open:?}"));
        }
    }
    Ok(())
}
