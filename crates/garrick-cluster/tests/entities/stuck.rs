//! An entity whose turn never ends.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Pending};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, KindOptions, LocalNet, Node};
use garrick_sim::{Facts, Sim};

use crate::counters::{Answered, Asked, COUNTER, Count};

/// An entity whose turn never ends if its message contains no reply.
struct Stuck(Address<Pending>);

impl Actor for Stuck {
    type Msg = Count;
    type Outcome = ();
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, count: Count, cx: &mut Context<'_, Count>) {
        match count {
            Count::Ask { number, reply, .. } => reply.send(number),
            Count::Tell { .. } => {
                let keeper = self.0.clone();
                cx.commit_later(move |turn| {
                    let _ = keeper.send(turn);
                });
            }
        }
    }
}

/// Holds turns forever: it neither commits nor undoes them.
struct Keeper(Vec<Pending>);

impl Actor for Keeper {
    type Msg = Pending;
    type Outcome = ();

    fn receive(&mut self, turn: Pending, _: &mut Context<'_, Pending>) {
        self.0.push(turn);
    }
}

enum Step {
    Block,
    Ask(&'static str, u64),
    Drain,
    Leave,
    Got(u64, Result<u64, NoReply>),
}

/// An actor on each node. The actor on the first node performs the steps of the test.
struct Member {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    name: &'static str,
    entities: Option<Entities>,
    node: Option<Node>,
}

impl Member {
    fn counter(&self, key: &str) -> Address<Count> {
        let entities = self.entities.as_ref().unwrap();
        entities.get(COUNTER, key).unwrap()
    }
}

impl Actor for Member {
    type Msg = Step;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Step>) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        let keeper = cx.spawn(Keeper(Vec::new()));
        let options = KindOptions::new()
            .shards(1)
            .idle(Some(Duration::from_secs(2)))
            .hand_over_within(Duration::from_secs(5));
        let make = move |_: &str| Stuck(keeper.clone());
        entities.host(COUNTER, options, make).unwrap();
        (self.node, self.entities) = (Some(node), Some(entities));
        let me = cx.address();
        let at = |seconds, step| {
            let _ = cx.send_after(Duration::from_secs(seconds), &me, step);
        };
        at(55, Step::Drain);
        at(90, Step::Leave);
        if self.name == "node-1" {
            at(20, Step::Block);
            at(21, Step::Ask("b", 1));
            // The entity was told to stop, because it had no messages.
            at(30, Step::Ask("a", 2));
            at(30, Step::Ask("b", 3));
            at(70, Step::Ask("a", 4));
        }
    }

    fn receive(&mut self, step: Step, cx: &mut Context<'_, Step>) {
        match step {
            Step::Block => {
                let (client, number) = (0, 0);
                let tell = Count::Tell { client, number };
                cx.send(&self.counter("a"), tell).unwrap();
            }
            Step::Ask(key, number) => {
                cx.note(Asked(0, number));
                let ask = move |reply| Count::Ask {
                    client: 0,
                    number,
                    reply,
                };
                cx.ask(&self.counter(key), ask, move |got| Step::Got(number, got));
            }
            // The second node owns the shard of this kind.
            Step::Drain if self.entities.as_ref().unwrap().members().owned == 1 => {
                assert_eq!(self.name, "node-2");
                drop(self.entities.as_ref().unwrap().drain());
            }
            Step::Drain => {}
            Step::Leave => {
                if let (Some(node), Some(entities)) = (self.node.take(), self.entities.take()) {
                    entities.leave();
                    node.leave();
                }
            }
            Step::Got(number, got) => cx.note(Answered(0, number, got)),
        }
    }
}

fn ends(facts: &Facts) -> Result<(), String> {
    let seconds = |nanos: u64| nanos / 1_000_000_000;
    let answers = facts.timed::<Answered>();
    let mut answers: Vec<_> = answers
        .map(|(at, Answered(_, number, got))| (*number, seconds(at), *got))
        .collect();
    answers.sort_unstable_by_key(|(number, ..)| *number);
    let dropped = (2, 40, Err(NoReply::Dropped));
    let expected = [(1, 21, Ok(1)), dropped, (3, 30, Ok(3)), (4, 70, Ok(4))];
    if answers == expected {
        return Ok(());
    }
    Err(format!("{answers:?}"))
}

pub(crate) fn program(sim: &mut Sim) {
    let net = LocalNet::new();
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    for name in ["node-1", "node-2"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            net: net.clone(),
            placement: placement.clone(),
            name,
            entities: None,
            node: None,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.explained("what waits behind a turn that never ends is dropped", ends);
}
