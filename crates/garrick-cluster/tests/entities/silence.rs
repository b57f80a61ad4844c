//! Measures for how long a register does not answer after its node has fallen silent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply};
use garrick_cluster::placement::{Change, LocalPlacement, News, Placement};
use garrick_cluster::{
    Entities, Incoming, JoinError, KindOptions, LocalNet, Node, NodeName, Transport,
};
use garrick_journal::{Journal, MemoryLog};
use garrick_sim::{Facts, Sim};

use crate::register::{self, Access, REGISTER};

/// Number of registers. The next constant is the time between two checks of all registers.
const REGISTERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(100);

/// Number of checks. The next constant is the time of the first check, when each register has
/// reached its final node.
const LOOKS: u32 = 130;
const BEGINS_AFTER: Duration = Duration::from_secs(12);

/// Time after which the members leave.
const LEAVES_AFTER: Duration = Duration::from_secs(36);

/// A fact: a register has answered a check.
#[derive(Debug)]
struct Seen(usize);

/// A network and a placement that carry no messages from a node after it was cut off.
#[derive(Clone)]
pub(crate) struct Cable {
    pub(crate) net: LocalNet,
    pub(crate) placement: LocalPlacement,
    pub(crate) is_cut: Arc<AtomicBool>,
}

impl Cable {
    fn carries(&self) -> bool {
        !self.is_cut.load(Relaxed)
    }
}

impl Transport for Cable {
    fn join(&self, of: &str, name: &NodeName, to: Address<Incoming>) -> Result<u64, JoinError> {
        self.net.join(of, name, to)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        !self.carries() || self.net.send(to, frame)
    }
}

impl Placement for Cable {
    fn read(&self, since: u64, to: &Address<News>) {
        if self.carries() {
            self.placement.read(since, to);
        }
    }

    fn change(&self, change: Change, to: &Address<News>) {
        if self.carries() {
            self.placement.change(change, to);
        }
    }

    fn watch(&self, to: &Address<News>) {
        self.placement.watch(to);
    }
}

/// A member that runs registers.
struct Member {
    handle: Handle,
    cable: Cable,
    log: MemoryLog,
    name: &'static str,
    is_fenced: bool,
    /// Time after which the node is cut off.
    cut_after: Option<Duration>,
    joined: Option<(Node, Entities)>,
    looks: u32,
}

enum ToMember {
    Look,
    Got(usize, Result<Option<u64>, NoReply>),
    Cut,
    Leave,
}

impl Actor for Member {
    type Msg = ToMember;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToMember>) {
        let node = Node::join(&self.handle, self.cable.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.cable.clone()).unwrap();
        let journal = Journal::new(&self.handle, self.log.clone()).unwrap();
        let options = KindOptions::new().shards(16);
        register::host(&entities, journal, options, self.is_fenced);
        self.joined = Some((node, entities));
        let me = cx.address();
        if self.name == "caller" {
            let _ = cx.send_after(BEGINS_AFTER, &me, ToMember::Look);
        }
        if let Some(after) = self.cut_after {
            let _ = cx.send_after(after, &me, ToMember::Cut);
        }
        let _ = cx.send_after(LEAVES_AFTER, &me, ToMember::Leave);
    }

    fn receive(&mut self, message: ToMember, cx: &mut Context<'_, ToMember>) {
        match message {
            ToMember::Look => {
                let (_, entities) = self.joined.as_ref().unwrap();
                for number in 0..REGISTERS {
                    let register = entities.get(REGISTER, &number.to_string()).unwrap();
                    cx.ask(&register, Access::Get, move |got| {
                        ToMember::Got(number, got)
                    });
                }
                self.looks += 1;
                if self.looks < LOOKS {
                    let me: Address<ToMember> = cx.address();
                    let _ = cx.send_after(PAUSE, &me, ToMember::Look);
                }
            }
            ToMember::Got(number, Ok(_)) => cx.note(Seen(number)),
            ToMember::Got(..) => {}
            ToMember::Cut => self.cable.is_cut.store(true, Relaxed),
            ToMember::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

/// Returns the longest time between two answers of a register.
fn longest(facts: &Facts) -> Duration {
    let (mut last, mut longest) = (BTreeMap::new(), 0);
    for (at, Seen(number)) in facts.timed::<Seen>() {
        let before = last.insert(*number, at).unwrap_or(at);
        longest = (at - before).max(longest);
    }
    assert_eq!(last.len(), REGISTERS);
    Duration::from_nanos(longest)
}

/// Runs three members, one of which falls silent. `most` receives the longest silence of all runs,
/// in nanoseconds.
pub(crate) fn program(sim: &mut Sim, is_fenced: bool, limit: Duration, most: &Arc<AtomicU64>) {
    let (net, log) = (LocalNet::new(), MemoryLog::new());
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    let chance = Duration::from_millis(sim.seed() * 97 % 2_000);
    for name in ["caller", "other", "lost"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            cable: Cable {
                net: net.clone(),
                placement: placement.clone(),
                is_cut: Arc::default(),
            },
            log: log.clone(),
            name,
            is_fenced,
            cut_after: (name == "lost").then_some(Duration::from_secs(14) + chance),
            joined: None,
            looks: 0,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    let most = Arc::clone(most);
    sim.explained("no register is silent for too long", move |facts| {
        let longest = longest(facts);
        most.fetch_max(longest.as_nanos() as u64, Relaxed);
        if longest <= limit {
            return Ok(());
        }
        Err(format!("{longest:?}"))
    });
}
