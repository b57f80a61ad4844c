//! An entity that is passivated while its mailbox is full.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Reply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, EntitiesSample, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_sim::{Facts, Sim};

use crate::counters::{Clerk, ToClerk};

const WORKER: Kind<Job> = Kind::new("worker");

/// Capacity of the mailbox. The next constant is the number of questions that wait for the end of
/// the first instance.
const CAPACITY: u64 = 3;
const BEHIND: u64 = 20;

/// Time after which the entity is stopped because it has received no message. It may take twice as
/// long. The next constant is the time that a slow job takes.
const IDLE: Duration = Duration::from_secs(2);
const SLOW: Duration = Duration::from_secs(10);

/// Times of a job that creates the entity, of a slow job, of the jobs that fill the mailbox, of
/// those that wait for the next instance, and of the end.
const CREATES: Duration = Duration::from_secs(19);
const SLOWS: Duration = Duration::from_secs(20);
const FILLS: Duration = Duration::from_secs(21);
const LATER: Duration = Duration::from_secs(26);
const LEAVES: Duration = Duration::from_secs(60);

#[derive(Wire)]
#[wire(name = "test.Job", context = Carrier)]
struct Job {
    is_slow: bool,
    reply: Reply<u64>,
}

/// An entity that answers with the number of jobs that this instance has done.
struct Worker {
    done: u64,
    clerk: Address<ToClerk>,
}

impl Actor for Worker {
    type Msg = Job;
    type Outcome = ();
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, job: Job, cx: &mut Context<'_, Job>) {
        self.done += 1;
        job.reply.send(self.done);
        if job.is_slow {
            let clerk = self.clerk.clone();
            cx.commit_later(move |turn| {
                let _ = clerk.send(ToClerk::Turn(turn, SLOW));
            });
        }
    }
}

/// A fact: the answer to the question with this number.
#[derive(Debug)]
struct Answered(u64, Result<u64, NoReply>);

/// A fact: the counters of the node that runs the entity.
#[derive(Debug)]
struct Sampled(EntitiesSample);

enum Step {
    Create,
    Slow,
    Fill,
    Later,
    Got(u64, Result<u64, NoReply>),
    Leave,
}

struct Member {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    name: &'static str,
    asked: u64,
    joined: Option<(Node, Entities)>,
}

impl Member {
    fn ask(&mut self, is_slow: bool, cx: &Context<'_, Step>) {
        let (_, entities) = self.joined.as_ref().unwrap();
        let worker = entities.get(WORKER, "a").unwrap();
        let number = self.asked;
        self.asked += 1;
        let job = move |reply| Job { is_slow, reply };
        cx.ask(&worker, job, move |got| Step::Got(number, got));
    }
}

impl Actor for Member {
    type Msg = Step;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Step>) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        let me: Address<Step> = cx.address();
        if self.name == "node-1" {
            let clerk = cx.spawn(Clerk);
            let options = KindOptions::new()
                .shards(1)
                .idle(Some(IDLE))
                .mailbox(CAPACITY as usize);
            let make = move |_: &str| Worker {
                done: 0,
                clerk: clerk.clone(),
            };
            entities.host(WORKER, options, make).unwrap();
        } else {
            let _ = cx.send_after(CREATES, &me, Step::Create);
            let _ = cx.send_after(SLOWS, &me, Step::Slow);
            let _ = cx.send_after(FILLS, &me, Step::Fill);
            let _ = cx.send_after(LATER, &me, Step::Later);
        }
        self.joined = Some((node, entities));
        let _ = cx.send_after(LEAVES, &me, Step::Leave);
    }

    fn receive(&mut self, step: Step, cx: &mut Context<'_, Step>) {
        match step {
            Step::Create => self.ask(false, cx),
            Step::Slow => self.ask(true, cx),
            // One more than the mailbox holds.
            Step::Fill => (0..=CAPACITY).for_each(|_| self.ask(false, cx)),
            Step::Later => (0..BEHIND).for_each(|_| self.ask(false, cx)),
            Step::Got(number, got) => cx.note(Answered(number, got)),
            Step::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    if self.name == "node-1" {
                        cx.note(Sampled(entities.sample()[0].clone()));
                    }
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

/// Checks that the first instance has handled its full mailbox, and that the second one has handled
/// everything that has waited for it, although it was more than its mailbox holds.
fn nothing_else_is_lost(facts: &Facts) -> Result<(), String> {
    let answers = facts.seen::<Answered>();
    let mut answers: Vec<_> = answers
        .map(|Answered(number, got)| (*number, *got))
        .collect();
    answers.sort_unstable_by_key(|(number, _)| *number);
    let first = (1..=1 + 1 + CAPACITY).map(Ok);
    let refused = [Err(NoReply::Dropped)];
    let second = (1..=BEHIND).map(Ok);
    let expected: Vec<_> = (0..).zip(first.chain(refused).chain(second)).collect();
    if answers != expected {
        return Err(format!("{answers:?}"));
    }
    let sample = facts.last::<Sampled>().map(|Sampled(sample)| sample);
    let is_exact = |sample: &&EntitiesSample| {
        (
            sample.refused,
            sample.passivated,
            sample.created,
            sample.expired,
        ) == (1, 2, 2, 0)
    };
    match sample {
        Some(sample) if is_exact(&sample) => Ok(()),
        sample => Err(format!("{sample:?}")),
    }
}

pub(crate) fn program(sim: &mut Sim) {
    let net = LocalNet::new();
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    for name in ["node-1", "guest"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            net: net.clone(),
            placement: placement.clone(),
            name,
            asked: 0,
            joined: None,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.explained(
        "only what finds the mailbox full is refused",
        nothing_else_is_lost,
    );
}
