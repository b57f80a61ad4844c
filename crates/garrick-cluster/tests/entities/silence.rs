//! The longest time without an answer of a register whose node has crashed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, KindOptions, LocalNet, Node};
use garrick_journal::{Journal, MemoryLog};
use garrick_sim::{Facts, Sim};

use crate::register::{Access, REGISTER, Register};

/// Number of registers, and time between two looks at all of them.
const REGISTERS: usize = 6;
const PAUSE: Duration = Duration::from_millis(100);

/// Number of looks, and of those before which the members find together.
const LOOKS: u32 = 400;
const FIRST_LOOKS: u32 = 150;

/// A register was looked at.
#[derive(Debug)]
struct Seen(usize);

/// A member that runs registers.
struct Member {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    log: MemoryLog,
    name: &'static str,
    is_fenced: bool,
    joined: Option<(Node, Entities)>,
    looks: u32,
}

enum ToMember {
    Look,
    Got(usize, Result<Option<u64>, NoReply>),
    Leave,
}

impl Actor for Member {
    type Msg = ToMember;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToMember>) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        let journal = Journal::new(&self.handle, self.log.clone()).unwrap();
        let make = move |key: &str| {
            let entity = journal.entity(format!("register/{key}"), Register);
            entity.unwrap().fenced()
        };
        let options = KindOptions::new().shards(16);
        let options = if self.is_fenced { options.fenced() } else { options };
        entities.host(REGISTER, options, make).unwrap();
        self.joined = Some((node, entities));
        let me = cx.address();
        if self.name == "caller" {
            let _ = cx.send(&me, ToMember::Look);
        }
        let _ = cx.send_after(PAUSE * (LOOKS + 150), &me, ToMember::Leave);
    }

    fn receive(&mut self, message: ToMember, cx: &mut Context<'_, ToMember>) {
        match message {
            ToMember::Look => {
                let (_, entities) = self.joined.as_ref().unwrap();
                for number in 0..REGISTERS {
                    let register = entities.get(REGISTER, &number.to_string()).unwrap();
                    cx.ask(&register, Access::Get, move |got| ToMember::Got(number, got));
                }
                self.looks += 1;
                if self.looks < LOOKS {
                    let me: Address<ToMember> = cx.address();
                    let _ = cx.send_after(PAUSE, &me, ToMember::Look);
                }
            }
            ToMember::Got(number, Ok(_)) if self.looks >= FIRST_LOOKS => cx.note(Seen(number)),
            ToMember::Got(..) => {}
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

/// Three members, of which one crashes. `most` gets the longest silence of all runs, in nanoseconds.
pub(crate) fn program(sim: &mut Sim, is_fenced: bool, limit: Duration, most: &Arc<AtomicU64>) {
    let (net, log) = (LocalNet::new(), MemoryLog::new());
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    for name in ["caller", "other", "lost"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            net: net.clone(),
            placement: placement.clone(),
            log: log.clone(),
            name,
            is_fenced,
            joined: None,
            looks: 0,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.faults().crash("lost", 1);
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
