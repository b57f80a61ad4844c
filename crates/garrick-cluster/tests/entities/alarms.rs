//! Alarms: durable entities with reminders and letters. After an alarm was set, it gets only its
//! own messages, and a letter from the alarm before it. So it must start without a message if its
//! node is lost.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Reply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_core::random::mix;
use garrick_journal::{
    BoxError, Decide, Due, DurableActor, EventKind, Journal, Letter, MemoryLog, Stored,
};
use garrick_sim::{Facts, Sim};

const ALARM: Kind<Order> = Kind::new("alarm");
const ALARMS: u64 = 12;

/// Maximum number of steps before and after the end of the faults. A run that has more steps is not
/// checked.
pub(crate) const STEPS_MAX: u32 = 50_000;

/// Time before an alarm without messages stops, if it has nothing to do.
const IDLE: Duration = Duration::from_secs(2);

/// Time between two attempts to send a letter, or to set an alarm.
const AGAIN: Duration = Duration::from_secs(1);

/// Time at which the alarms are set, from the start of a run.
const SET: Duration = Duration::from_secs(10);

/// Time after which there are no more faults.
const FAULTS: Duration = Duration::from_secs(40);

/// Time before which all alarms must have rung.
const RUNG: Duration = Duration::from_secs(80);

/// Time at which all alarms are checked.
const LOOK: Duration = Duration::from_secs(100);

/// Time after which a node leaves, from its latest start.
const LEAVES: Duration = Duration::from_secs(110);

/// A message to an alarm.
#[derive(Wire)]
#[wire(name = "test.AlarmOrder", context = Carrier)]
enum Order {
    /// Sets the alarm to this number of milliseconds from now.
    Set(u64, Reply<()>),
    Ring,
    Deliver {
        from: String,
        to: String,
        number: u64,
    },
    Delivered {
        number: u64,
        is_done: bool,
    },
    Receive {
        from: String,
        number: u64,
        reply: Reply<()>,
    },
    Look(Reply<Log>),
}

/// State of an alarm: the times of its rings, and of the letters from the alarm before it.
#[derive(Wire, Debug, Clone, Default)]
#[wire(name = "test.AlarmLog")]
struct Log {
    rings: Vec<u64>,
    letters: Vec<u64>,
}

/// The alarm has rung, or a letter has arrived. Contains the time.
enum Event {
    Rang(u64),
    Received(u64),
}

impl Stored for Event {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        let (Self::Rang(at) | Self::Received(at)) = self;
        bytes.extend(at.to_le_bytes());
        let tag = if matches!(self, Self::Rang(_)) { 1 } else { 2 };
        EventKind { tag, version: 1 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let at = u64::from_le_bytes(bytes.try_into()?);
        Ok(if kind.tag == 1 {
            Self::Rang(at)
        } else {
            Self::Received(at)
        })
    }
}

/// The answer to a letter.
struct Nothing;

impl Stored for Nothing {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind::default()
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

struct Alarm {
    entities: Entities,
    /// The alarm that gets a letter from this one.
    next: String,
}

impl DurableActor for Alarm {
    type Msg = Order;
    type State = Log;
    type Event = Event;
    type Outcome = ();

    fn decide(&self, log: &Log, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Set(millis, reply) => {
                // The answer to an earlier order may have been lost.
                if log.rings.is_empty() && !cx.is_pending("ring") {
                    cx.remind_after("ring", Duration::from_millis(millis));
                }
                reply.send(());
            }
            Order::Ring => {
                if cx.done("ring") {
                    cx.record(Event::Rang(cx.now()));
                    cx.post(self.next.clone(), Vec::new());
                }
            }
            Order::Deliver { from, to, number } => {
                let receiver = self.entities.get(ALARM, &to).unwrap();
                let receive = move |reply| Order::Receive {
                    from,
                    number,
                    reply,
                };
                cx.ask(&receiver, receive, move |got: Result<(), NoReply>| {
                    Order::Delivered {
                        number,
                        is_done: got.is_ok(),
                    }
                });
            }
            Order::Delivered { number, is_done } => {
                if is_done {
                    cx.delivered(number);
                } else {
                    cx.deliver_again(number, AGAIN);
                }
            }
            Order::Receive {
                from,
                number,
                reply,
            } => {
                let receive = |cx: &mut Decide<'_, '_, Self>| {
                    cx.record(Event::Received(cx.now()));
                    Nothing
                };
                if cx.once_from(&from, number, receive).is_some() {
                    reply.send(());
                }
            }
            Order::Look(reply) => reply.send(log.clone()),
        }
    }

    fn apply(log: &mut Log, event: &Event) {
        match event {
            Event::Rang(at) => log.rings.push(*at),
            Event::Received(at) => log.letters.push(*at),
        }
    }

    fn due(_: Due) -> Option<Order> {
        Some(Order::Ring)
    }

    fn letter(letter: Letter) -> Option<Order> {
        Some(Order::Deliver {
            from: letter.from,
            to: letter.to,
            number: letter.number,
        })
    }
}

/// A fact: the log of an alarm at the end.
#[derive(Debug)]
struct Seen(u64, Log);

/// A fact: an alarm was set.
#[derive(Debug)]
struct Set(u64);

/// A node of the cluster.
#[derive(Clone)]
struct Member {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    log: MemoryLog,
    name: &'static str,
}

impl Member {
    fn join(&self) -> (Node, Entities) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        (node, entities)
    }
}

/// A node that runs alarms.
struct Runner(Member, Option<(Node, Entities)>);

/// Leaves the cluster.
struct Leave;

impl Actor for Runner {
    type Msg = Leave;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Leave>) {
        let _ = cx.send_after(LEAVES, &cx.address(), Leave);
        let (node, entities) = self.0.join();
        let journal = Journal::new(&self.0.handle, self.0.log.clone()).unwrap();
        let (known, of_entities) = (entities.clone(), journal.clone());
        let make = move |key: &str| {
            let number: u64 = key.parse().unwrap();
            let alarm = Alarm {
                entities: known.clone(),
                next: ((number + 1) % ALARMS).to_string(),
            };
            of_entities.entity(format!("alarm/{key}"), alarm).unwrap()
        };
        let options = KindOptions::new().shards(4).idle(Some(IDLE));
        let hosted = entities.host_durable(ALARM, options, journal, make);
        hosted.unwrap();
        self.1 = Some((node, entities));
    }

    fn receive(&mut self, _: Leave, _: &mut Context<'_, Leave>) {
        leave(&mut self.1);
    }
}

fn leave(joined: &mut Option<(Node, Entities)>) {
    if let Some((node, entities)) = joined.take() {
        entities.leave();
        node.leave();
    }
}

/// A node that runs no alarms, but sets all of them, and checks them at the end.
struct Setter {
    member: Member,
    seed: u64,
    joined: Option<(Node, Entities)>,
}

enum Step {
    Set(u64),
    IsSet(u64, Result<(), NoReply>),
    Look,
    Got(u64, Result<Log, NoReply>),
    Leave,
}

impl Setter {
    fn alarm(&self, number: u64) -> Address<Order> {
        let (_, entities) = self.joined.as_ref().unwrap();
        entities.get(ALARM, &number.to_string()).unwrap()
    }
}

impl Actor for Setter {
    type Msg = Step;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Step>) {
        self.joined = Some(self.member.join());
        let me = cx.address();
        for number in 0..ALARMS {
            let _ = cx.send_after(SET, &me, Step::Set(number));
        }
        let _ = cx.send_after(LOOK, &me, Step::Look);
        let _ = cx.send_after(LEAVES, &me, Step::Leave);
    }

    fn receive(&mut self, step: Step, cx: &mut Context<'_, Step>) {
        match step {
            Step::Set(number) => {
                // Some alarms ring before they would count as idle, and some ring after this time.
                // Some ring during the faults.
                let millis = mix(self.seed << 16 | number) % 30_000;
                let set = move |reply| Order::Set(millis, reply);
                let alarm = self.alarm(number);
                cx.ask(&alarm, set, move |got| Step::IsSet(number, got));
            }
            Step::IsSet(number, Ok(())) => cx.note(Set(number)),
            Step::IsSet(number, Err(_)) => {
                let _ = cx.send_after(AGAIN, &cx.address(), Step::Set(number));
            }
            Step::Look => {
                for number in 0..ALARMS {
                    let alarm = self.alarm(number);
                    cx.ask(&alarm, Order::Look, move |got| Step::Got(number, got));
                }
            }
            Step::Got(number, Ok(log)) => cx.note(Seen(number, log)),
            Step::Got(..) => {}
            Step::Leave => leave(&mut self.joined),
        }
    }
}

/// Checks that each alarm that was set has rung once, without a message, and that its letter has
/// arrived.
fn have_rung(facts: &Facts) -> Result<(), String> {
    let limit = RUNG.as_nanos() as u64;
    let log_of = |number: u64| {
        let mut seen = facts.seen::<Seen>().filter(|seen| seen.0 == number);
        seen.next().map(|seen| &seen.1)
    };
    let are_once = |times: &[u64]| times.len() == 1 && times[0] < limit;
    for Set(number) in facts.seen::<Set>() {
        let (own, next) = (log_of(*number), log_of((number + 1) % ALARMS));
        let has_rung = own.is_some_and(|log| are_once(&log.rings));
        if !has_rung || !next.is_some_and(|log| are_once(&log.letters)) {
            return Err(format!("the alarm {number}: {own:?}, the next: {next:?}"));
        }
    }
    match facts.seen::<Set>().count() as u64 {
        ALARMS => Ok(()),
        count => Err(format!("only {count} alarms were set")),
    }
}

/// Runs three nodes with alarms, which crash and are cut off.
pub(crate) fn program(sim: &mut Sim) {
    let (net, log) = (LocalNet::new(), MemoryLog::new());
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    let member = |handle: &Handle, name| Member {
        handle: handle.clone(),
        net: net.clone(),
        placement: placement.clone(),
        log: log.clone(),
        name,
    };
    for name in ["node-1", "node-2", "node-3"] {
        let known = member(store.handle(), name);
        sim.restarting(name, move |node| {
            let member = Member {
                handle: node.handle().clone(),
                ..known.clone()
            };
            drop(node.spawn(Runner(member, None)).unwrap());
        });
    }
    let node = sim.node("setter");
    let setter = Setter {
        member: member(node.handle(), "setter"),
        seed: sim.seed(),
        joined: None,
    };
    drop(node.spawn(setter).unwrap());
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.links().all().loses(20);
    let after = Duration::ZERO..Duration::from_secs(8);
    for name in ["node-1", "node-2", "node-3"] {
        sim.faults().crash_and_restart(name, 2, after.clone());
    }
    let lasts = Duration::from_millis(100)..Duration::from_secs(8);
    sim.faults().partition(["node-2"], 2, lasts);
    sim.faults().cease_after(FAULTS);
    sim.explained("alarms ring without a message", have_rung);
}
