//! Bounded mailboxes of entities, on nodes with real threads. Each test runs with entities that are
//! durable, and with entities that are not.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Cluster, until};
use garrick_actor::system::LetterReason;
use garrick_actor::{Actor, Address, Ask, Context, NoReply, Reply, System};
use garrick_cluster::{
    Carrier, Entities, EntitiesSample, EntityError, Kind, KindOptions, Node, Wire,
};
use garrick_journal::{
    BoxError, Decide, Due, DurableActor, EventKind, Journal, Letter, MemoryLog, Stored,
};
use garrick_testkit::wait;

/// Capacity of the mailboxes in most tests.
const CAPACITY: u64 = 3;

/// Time between two attempts to send a letter, and until a reminder is due.
const SOON: Duration = Duration::from_millis(5);

/// Number that the sender of a letter adds when the letter is delivered.
const DELIVERED: u64 = 1;

const BOX: Kind<Order> = Kind::new("box");

#[derive(Wire)]
#[wire(name = "test.Order", context = Carrier)]
enum Order {
    Add(u64),
    Get(Reply<u64>),
    /// Adds 1, and returns the name of the node and the sum.
    Count(Reply<(String, u64)>),
    /// Blocks a turn until the test lets it continue.
    Block,
    /// Sets a reminder that adds a number. The answer comes when the reminder is durable.
    Remind(u64, Reply<()>),
    Reminded {
        key: String,
        number: u64,
    },
    /// Posts a letter to an entity, which adds a number there. The answer comes when the letter is
    /// durable.
    Post(String, u64, Reply<()>),
    Deliver {
        from: String,
        to: String,
        number: u64,
        content: u64,
    },
    Delivered(u64, bool),
    Receive {
        from: String,
        number: u64,
        content: u64,
        reply: Reply<u64>,
    },
}

/// The parts of an entity that the test uses to block its turns.
#[derive(Clone)]
struct Stops {
    node: String,
    blocks: Arc<Mutex<Receiver<()>>>,
    blocked: Sender<()>,
}

impl Stops {
    fn block<M: 'static>(&self, cx: &Context<'_, M>) {
        self.blocked.send(()).unwrap();
        cx.blocking(|| wait(&self.blocks.lock().unwrap()));
    }
}

struct Plain {
    sum: u64,
    stops: Stops,
}

impl Actor for Plain {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::Add(number) => self.sum += number,
            Order::Get(reply) => reply.send(self.sum),
            Order::Count(reply) => {
                self.sum += 1;
                reply.send((self.stops.node.clone(), self.sum));
            }
            Order::Block => self.stops.block(cx),
            _ => unreachable!("only durable entities have letters and reminders"),
        }
    }
}

struct Lasting {
    stops: Stops,
    entities: Entities,
}

/// An event: this number was added.
struct Added(u64);

impl Stored for Added {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl Lasting {
    fn deliver(&self, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Deliver {
                from,
                to,
                number,
                content,
            } => {
                let receive = move |reply| Order::Receive {
                    from,
                    number,
                    content,
                    reply,
                };
                let to = self.entities.get(BOX, &to).unwrap();
                cx.ask(&to, receive, move |got: Result<u64, NoReply>| {
                    Order::Delivered(number, got.is_ok())
                });
            }
            Order::Delivered(number, true) => {
                if cx.delivered(number) {
                    cx.record(Added(DELIVERED));
                }
            }
            Order::Delivered(number, false) => {
                cx.deliver_again(number, SOON);
            }
            Order::Receive {
                from,
                number,
                content,
                reply,
            } => {
                let receive = |cx: &mut Decide<'_, '_, Self>| {
                    cx.record(Added(content));
                    Added(content)
                };
                if let Some(Added(done)) = cx.once_from(&from, number, receive) {
                    reply.send(done);
                }
            }
            _ => unreachable!("the other orders are handled before"),
        }
    }
}

impl DurableActor for Lasting {
    type Msg = Order;
    type State = u64;
    type Event = Added;
    type Outcome = ();

    fn decide(&self, sum: &u64, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Add(number) => cx.record(Added(number)),
            Order::Get(reply) => reply.send(*sum),
            Order::Count(reply) => {
                cx.record(Added(1));
                reply.send((self.stops.node.clone(), sum + 1));
            }
            Order::Block => self.stops.block(cx),
            Order::Remind(number, reply) => {
                cx.remind_after(number.to_string(), SOON);
                reply.send(());
            }
            Order::Reminded { key, number } => {
                if cx.done(&key) {
                    cx.record(Added(number));
                }
            }
            Order::Post(to, content, reply) => {
                cx.post(to, content.to_le_bytes());
                reply.send(());
            }
            order => self.deliver(order, cx),
        }
    }

    fn apply(sum: &mut u64, Added(number): &Added) {
        *sum += number;
    }

    fn due(due: Due) -> Option<Order> {
        let number = due.key.parse().ok()?;
        Some(Order::Reminded {
            key: due.key,
            number,
        })
    }

    fn letter(letter: Letter) -> Option<Order> {
        let content = u64::from_le_bytes(letter.body.try_into().ok()?);
        Some(Order::Deliver {
            from: letter.from,
            to: letter.to,
            number: letter.number,
            content,
        })
    }
}

/// A node that has its own system.
struct Place {
    entities: Entities,
    /// Ends a blocked turn when a value is sent.
    ends: Sender<()>,
    /// Receives a value when a turn blocks.
    blocked: Receiver<()>,
    _node: Node,
    system: System,
}

impl Place {
    /// Joins the cluster. The node runs durable entities if `log` is `Some`, and plain entities
    /// otherwise.
    fn host(cluster: &Cluster, name: &str, options: KindOptions, log: Option<&MemoryLog>) -> Self {
        let (system, node, entities) = cluster.join(name);
        let (ends, blocks) = channel();
        let (tell, blocked) = channel();
        let stops = Stops {
            node: name.to_owned(),
            blocks: Arc::new(Mutex::new(blocks)),
            blocked: tell,
        };
        if let Some(log) = log {
            let journal = Journal::new(&system.handle(), log.clone()).unwrap();
            let known = entities.clone();
            let make = move |key: &str| {
                let lasting = Lasting {
                    stops: stops.clone(),
                    entities: known.clone(),
                };
                journal.entity(key, lasting).unwrap().fenced()
            };
            entities.host(BOX, options, make).unwrap();
        } else {
            let make = move |_: &str| Plain {
                sum: 0,
                stops: stops.clone(),
            };
            entities.host(BOX, options, make).unwrap();
        }
        Self {
            entities,
            ends,
            blocked,
            _node: node,
            system,
        }
    }

    fn get(&self, key: &str) -> Address<Order> {
        self.entities.get(BOX, key).unwrap()
    }

    fn sample(&self) -> EntitiesSample {
        self.entities.sample()[0].clone()
    }
}

fn options() -> KindOptions {
    KindOptions::new().shards(1).mailbox(CAPACITY as usize)
}

/// Asks an entity until it answers, and returns the sum that it reports. Its mailbox may be full.
fn sum(of: &Address<Order>) -> u64 {
    loop {
        if let Ok(sum) = of.ask(Order::Get).wait() {
            return sum;
        }
    }
}

/// Asserts that the mailbox of an entity is full: it refuses a question at once.
#[track_caller]
fn assert_full(of: &Address<Order>) {
    assert_eq!(of.ask(Order::Count).wait(), Err(NoReply::Dropped));
}

/// Runs a test with plain entities, and with durable ones.
fn for_both(test: impl Fn(Option<&MemoryLog>)) {
    test(None);
    test(Some(&MemoryLog::new()));
}

#[test]
fn a_full_mailbox_refuses_messages_of_all_nodes_and_counts_them() {
    for_both(|log| {
        let cluster = Cluster::new();
        let one = Place::host(&cluster, "one", options(), log);
        let (_system, _node, guest) = cluster.join("guest");
        let (near, far) = (one.get("a"), guest.get(BOX, "a").unwrap());
        // Both nodes know the owner now: a message that has waited for an owner is accepted.
        assert_eq!((sum(&near), sum(&far)), (0, 0));
        let mut all = 0;
        let mut refused = 0;
        for (filler, other) in [(&near, &far), (&far, &near)] {
            filler.send(Order::Block).unwrap();
            wait(&one.blocked);
            for _ in 0..CAPACITY {
                filler.send(Order::Add(10)).unwrap();
            }
            assert_full(filler);
            assert_full(other);
            // A refused message is accepted first, because the entity may be anywhere.
            near.send(Order::Add(1_000)).unwrap();
            far.send(Order::Add(1_000)).unwrap();
            assert_full(&near);
            assert_full(&far);
            refused += 6;
            assert_eq!(one.sample().refused, refused);
            // Entities of the same shard are not affected.
            assert!(one.get("b").ask(Order::Count).wait().is_ok());
            one.ends.send(()).unwrap();
            all += 10 * CAPACITY;
            assert_eq!(sum(&near), all);
            refused = one.sample().refused;
        }
        let sample = one.sample();
        assert_eq!(
            (sample.waiting, sample.strays, sample.expired),
            (0, 0, 0),
            "{sample:?}"
        );
        assert_eq!(guest.sample()[0].refused, 0);
        let letters = one.system.handle().sample().letters;
        let full = letters
            .iter()
            .filter(|letter| letter.reason == LetterReason::Full && letter.name.ends_with("Order"));
        assert_eq!(full.map(|letter| letter.count).sum::<u64>(), refused);
        assert_eq!(one.system.handle().dead_letters(), refused);
    });
}

#[test]
fn mailboxes_are_unbounded_without_the_option() {
    for_both(|log| {
        let cluster = Cluster::new();
        let one = Place::host(&cluster, "one", KindOptions::new(), log);
        let a = one.get("a");
        a.send(Order::Block).unwrap();
        wait(&one.blocked);
        for _ in 0..5_000 {
            a.send(Order::Add(1)).unwrap();
        }
        one.ends.send(()).unwrap();
        assert_eq!(a.ask(Order::Count).wait(), Ok(("one".to_owned(), 5_001)));
        assert_eq!(one.sample().refused, 0);
    });
}

#[test]
fn a_capacity_of_zero_is_refused() {
    let cluster = Cluster::new();
    let (_system, _node, entities) = cluster.join("one");
    let (blocked, _) = channel();
    let (_, blocks) = channel();
    let stops = Stops {
        node: "one".to_owned(),
        blocks: Arc::new(Mutex::new(blocks)),
        blocked,
    };
    let make = move |_: &str| Plain {
        sum: 0,
        stops: stops.clone(),
    };
    let refused = entities.host(BOX, KindOptions::new().mailbox(0), make.clone());
    let refused = refused.unwrap_err();
    assert_eq!(refused, EntityError::Capacity);
    assert!(refused.to_string().contains("at least 1"), "{refused}");
    entities
        .host(BOX, KindOptions::new().mailbox(1), make)
        .unwrap();
}

#[test]
fn what_waits_while_a_shard_moves_is_accepted_by_a_full_mailbox() {
    for_both(|log| {
        let cluster = Cluster::new();
        let options = options().hand_over_within(Duration::from_secs(100));
        let one = Place::host(&cluster, "one", options, log);
        until(|| one.entities.members().owned == 1);
        let two = Place::host(&cluster, "two", options, log);
        let (_system, _node, guest) = cluster.join("guest");
        let (near, far) = (two.get("a"), guest.get(BOX, "a").unwrap());
        far.send(Order::Block).unwrap();
        wait(&one.blocked);
        let count = |of: &Address<Order>, times| -> Vec<Ask<(String, u64)>> {
            (0..times).map(|_| of.ask(Order::Count)).collect()
        };
        let before = count(&far, CAPACITY);
        assert_full(&far);
        // The order to stop reaches an entity whose mailbox is full.
        let drained = one.entities.drain();
        for place in [&guest, &two.entities] {
            let other = place.get(BOX, "b").unwrap();
            until(|| {
                drop(other.ask(Order::Count));
                place.sample()[0].waiting > 0
            });
        }
        far.send(Order::Block).unwrap();
        let [of_far, of_near] = [&far, &near].map(|of| count(of, 3 * CAPACITY));
        one.ends.send(()).unwrap();
        for (number, asked) in (1..).zip(before) {
            assert_eq!(asked.wait(), Ok(("one".to_owned(), number)));
        }
        wait(&two.blocked);
        // Those that have waited fill the mailbox. Later messages find it full.
        assert_full(&far);
        two.ends.send(()).unwrap();
        let answers = of_far.into_iter().chain(of_near).map(Ask::wait);
        let answers: Vec<_> = answers.map(Result::unwrap).collect();
        assert!(answers.iter().all(|(node, _)| node == "two"), "{answers:?}");
        let mut sums: Vec<_> = answers.into_iter().map(|(_, sum)| sum).collect();
        sums.sort_unstable();
        let first = if log.is_some() { CAPACITY } else { 0 };
        assert_eq!(sums, Vec::from_iter(first + 1..=first + 6 * CAPACITY));
        drained.wait().unwrap();
        assert_eq!(one.sample().abandoned, 0);
    });
}

#[test]
fn reminders_and_letters_are_not_lost_at_full_mailboxes() {
    let (cluster, log) = (Cluster::new(), MemoryLog::new());
    let options = KindOptions::new().mailbox(1);
    let one = Place::host(&cluster, "one", options, Some(&log));
    let (receiver, sender, other) = (one.get("a"), one.get("s"), one.get("b"));
    let remind = |of: &Address<Order>| of.ask(|reply| Order::Remind(1_000, reply)).wait();
    remind(&receiver).unwrap();
    receiver.send(Order::Block).unwrap();
    wait(&one.blocked);
    // If the reminder has come before this message, it has filled the mailbox.
    receiver.send(Order::Add(1)).unwrap();
    assert_full(&receiver);
    // A later reminder of another entity has come, so this one has come, too.
    remind(&other).unwrap();
    until(|| sum(&other) == 1_000);
    let letters = [10_000, 20_000, 30_000];
    for content in letters {
        let post = |reply| Order::Post("a".to_owned(), content, reply);
        // The mailbox of the sender may be full, too.
        until(|| sender.ask(post).wait().is_ok());
    }
    // The first letter is refused again and again.
    let before = one.sample().refused;
    until(|| one.sample().refused > before + 5);
    assert_eq!(sum(&sender), 0);
    one.ends.send(()).unwrap();
    until(|| sum(&sender) == DELIVERED * letters.len() as u64);
    assert_eq!(sum(&receiver) / 1_000, 61);
}
