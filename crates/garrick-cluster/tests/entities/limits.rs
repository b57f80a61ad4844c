//! Questions to entities end in time, even while no node can reach the placement.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Reply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{
    Carrier, Entities, Kind, KindOptions, LocalNet, Node, NodeOptions, NodeSample, Wire,
};
use garrick_sim::{Facts, Sim};

use crate::silence::Cable;

const ECHO: Kind<Echo> = Kind::new("echo");

/// Number of entities. The next constant is the time between two questions to each entity.
const ENTITIES: u64 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Start and end of the period in which no node can reach the placement. The next constants are the
/// times at which the caller stops asking, and at which the nodes leave.
const AWAY: [Duration; 2] = [Duration::from_secs(14), Duration::from_secs(34)];
const ASKS_UNTIL: Duration = Duration::from_secs(44);
const LEAVES_AFTER: Duration = Duration::from_secs(70);

/// The time limit of a question to another node.
const WITHIN: Duration = Duration::from_secs(3);

/// Time within which each question ends. A question may wait for 10 s for an owner of the shard,
/// which is checked every 500 ms. Then it may end up to 1 s after its time limit.
const ENDS_WITHIN: Duration = Duration::from_millis(10_000 + 500 + 3_000 + 1_000);

/// An entity that answers with the number in the question.
struct Answerer;

#[derive(Wire)]
#[wire(name = "test.Echo", context = Carrier)]
struct Echo(u64, Reply<u64>);

impl Actor for Answerer {
    type Msg = Echo;
    type Outcome = ();

    fn receive(&mut self, Echo(number, reply): Echo, _: &mut Context<'_, Echo>) {
        reply.send(number);
    }
}

/// A fact: the question with this number was asked. The types below are further facts.
#[derive(Debug)]
struct Asked(u64);
#[derive(Debug)]
struct Ended(u64, Result<u64, NoReply>);
/// A fact: the counters of the caller's node at the end.
#[derive(Debug)]
struct Sampled(NodeSample);

struct Member {
    handle: Handle,
    cable: Cable,
    name: &'static str,
    number: u64,
    joined: Option<(Node, Entities)>,
}

enum ToMember {
    Ask,
    Got(u64, Result<u64, NoReply>),
    SetAway(bool),
    Leave,
}

impl Member {
    fn is_caller(&self) -> bool {
        self.name == "caller"
    }
}

impl Actor for Member {
    type Msg = ToMember;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToMember>) {
        let options = NodeOptions::new().answer_within(WITHIN);
        let net = self.cable.net.clone();
        let node = Node::join_with(&self.handle, net, "test", self.name, options).unwrap();
        let entities = Entities::start(&node, self.cable.clone()).unwrap();
        let me: Address<ToMember> = cx.address();
        if self.is_caller() {
            let _ = cx.send(&me, ToMember::Ask);
            for (at, is_away) in [(AWAY[0], true), (AWAY[1], false)] {
                let _ = cx.send_after(at, &me, ToMember::SetAway(is_away));
            }
        } else {
            let options = KindOptions::new().shards(4);
            entities.host(ECHO, options, |_| Answerer).unwrap();
        }
        self.joined = Some((node, entities));
        let _ = cx.send_after(LEAVES_AFTER, &me, ToMember::Leave);
    }

    fn receive(&mut self, message: ToMember, cx: &mut Context<'_, ToMember>) {
        match message {
            ToMember::Ask => {
                let (_, entities) = self.joined.as_ref().unwrap();
                for key in 0..ENTITIES {
                    self.number += 1;
                    let number = self.number;
                    let entity = entities.get(ECHO, &key.to_string()).unwrap();
                    cx.note(Asked(number));
                    let ask = move |reply| Echo(number, reply);
                    cx.ask(&entity, ask, move |got| ToMember::Got(number, got));
                }
                let times = ASKS_UNTIL.as_millis() / PAUSE.as_millis();
                if u128::from(self.number / ENTITIES) < times {
                    let me: Address<ToMember> = cx.address();
                    let _ = cx.send_after(PAUSE, &me, ToMember::Ask);
                }
            }
            ToMember::Got(number, got) => cx.note(Ended(number, got)),
            ToMember::SetAway(is_away) => self.cable.is_cut.store(is_away, Relaxed),
            ToMember::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    if self.is_caller() {
                        cx.note(Sampled(node.sample()));
                    }
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

fn end_in_time(facts: &Facts) -> Result<(), String> {
    let limit = ENDS_WITHIN.as_nanos() as u64;
    let mut ends: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (at, Ended(number, got)) in facts.timed::<Ended>() {
        ends.entry(*number).or_default().push((at, *got));
    }
    for (asked, Asked(number)) in facts.timed::<Asked>() {
        match ends.get(number).map(Vec::as_slice) {
            Some([(at, got)]) if *at <= asked + limit && got.is_ok_and(|is| is == *number) => {}
            Some([(at, Err(_))]) if *at <= asked + limit => {}
            other => return Err(format!("{number}, asked at {asked}: {other:?}")),
        }
    }
    Ok(())
}

/// Runs two nodes with entities, and a third node that asks the entities while the placement cannot
/// be reached.
pub(crate) fn program(sim: &mut Sim) {
    let net = LocalNet::new();
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    let is_cut = Arc::<AtomicBool>::default();
    for name in ["caller", "node-1", "node-2"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            cable: Cable {
                net: net.clone(),
                placement: placement.clone(),
                is_cut: is_cut.clone(),
            },
            name,
            number: 0,
            joined: None,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.explained("each question ends once, and in time", end_in_time);
    sim.at_end(
        "the turns that waited for the placement answer late",
        |facts| {
            let sample = facts.last::<Sampled>().map(|sampled| &sampled.0);
            sample.is_some_and(|sample| {
                sample.questions == 0 && sample.timed_out >= 40 && sample.late_answers >= 40
            })
        },
    );
}
