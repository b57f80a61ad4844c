//! A bank. Its accounts are durable entities that pay each other by letters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Reply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_core::random::mix;
use garrick_journal::{
    BoxError, Decide, DurableActor, EventKind, Journal, Letter, MemoryLog, Stored,
};
use garrick_sim::{Facts, Sim};

const ACCOUNT: Kind<Order> = Kind::new("account");
const ACCOUNTS: u64 = 5;

/// Time between two payments of a node. The next constants are the time between two attempts to
/// send a letter, and the number of payments.
const PAUSE: Duration = Duration::from_millis(400);
const AGAIN: Duration = Duration::from_secs(1);
const PAYMENTS: u64 = 70;

/// Time after which there are no more faults. The next constants are the times of the first and the
/// last check of all accounts, and the time after which the nodes leave.
const FAULTS: Duration = Duration::from_secs(35);
const FIRST_LOOK: Duration = Duration::from_secs(60);
const LAST_LOOK: Duration = Duration::from_secs(90);
const LEAVES: Duration = Duration::from_secs(110);

/// A message to an account.
#[derive(Wire)]
#[wire(name = "test.BankOrder", context = Carrier)]
enum Order {
    Pay {
        to: u64,
        cents: u64,
    },
    /// Request to send a letter of this account.
    Deliver {
        from: String,
        to: String,
        number: u64,
        cents: u64,
    },
    /// Answer to a letter of this account, or the reason why there is no answer.
    Delivered {
        number: u64,
        is_done: bool,
    },
    /// Content of a letter from another account.
    Receive {
        from: String,
        number: u64,
        cents: u64,
        reply: Reply<u64>,
    },
    Look(Reply<Books>),
}

/// State of an account.
#[derive(Wire, Debug, Clone, Copy, Default, PartialEq, Eq)]
#[wire(name = "test.Books")]
struct Books {
    cents: i64,
    /// Number of payments from this account. `received` is the number of payments to this account.
    paid: u64,
    received: u64,
}

/// Payments in cents, from or to this account.
enum Event {
    Paid(u64),
    Received(u64),
}

impl Stored for Event {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        let (Self::Paid(cents) | Self::Received(cents)) = self;
        bytes.extend(cents.to_le_bytes());
        let tag = if matches!(self, Self::Paid(_)) { 1 } else { 2 };
        EventKind { tag, version: 1 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let cents = u64::from_le_bytes(bytes.try_into()?);
        Ok(if kind.tag == 1 {
            Self::Paid(cents)
        } else {
            Self::Received(cents)
        })
    }
}

/// The answer to a letter: the number of payments to the account.
struct Count(u64);

impl Stored for Count {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

struct Account(Entities);

impl DurableActor for Account {
    type Msg = Order;
    type State = Books;
    type Event = Event;
    type Outcome = ();

    fn decide(&self, books: &Books, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Pay { to, cents } => {
                cx.record(Event::Paid(cents));
                cx.post(to.to_string(), cents.to_le_bytes());
            }
            Order::Deliver {
                from,
                to,
                number,
                cents,
            } => {
                let receiver = self.0.get(ACCOUNT, &to).unwrap();
                let receive = move |reply| Order::Receive {
                    from,
                    number,
                    cents,
                    reply,
                };
                cx.ask(&receiver, receive, move |got: Result<u64, NoReply>| {
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
                cents,
                reply,
            } => {
                let receive = |cx: &mut Decide<'_, '_, Self>| {
                    cx.record(Event::Received(cents));
                    Count(books.received + 1)
                };
                if let Some(Count(count)) = cx.once_from(&from, number, receive) {
                    reply.send(count);
                }
            }
            Order::Look(reply) => reply.send(*books),
        }
    }

    fn apply(books: &mut Books, event: &Event) {
        match event {
            Event::Paid(cents) => {
                books.cents -= *cents as i64;
                books.paid += 1;
            }
            Event::Received(cents) => {
                books.cents += *cents as i64;
                books.received += 1;
            }
        }
    }

    fn letter(letter: Letter) -> Option<Order> {
        let cents = u64::from_le_bytes(letter.body.try_into().ok()?);
        Some(Order::Deliver {
            from: letter.from,
            to: letter.to,
            number: letter.number,
            cents,
        })
    }

    const SAVE_EVERY: u64 = 7;

    fn save(books: &Books, bytes: &mut Vec<u8>) -> Option<EventKind> {
        let numbers = [books.cents as u64, books.paid, books.received];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Books, BoxError> {
        let chunks = bytes.chunks_exact(8);
        let numbers: Vec<_> = chunks
            .map(|chunk| u64::from_le_bytes(chunk.try_into().expect("8 bytes")))
            .collect();
        let [cents, paid, received] = numbers[..] else {
            return Err("three numbers are expected".into());
        };
        Ok(Books {
            cents: cents as i64,
            paid,
            received,
        })
    }
}

/// A fact: the state of an account at the end, with all its payments.
#[derive(Debug)]
struct Seen(u64, Books);

/// The way in which the nodes run the accounts.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// A first check of all accounts starts those that have letters.
    Plain,
    /// Like `Plain`, with mailboxes for one message.
    Full,
    /// Accounts with letters start without a message, so there is no first check.
    Listed,
}

/// A node that makes accounts pay.
struct Member {
    handle: Handle,
    net: LocalNet,
    placement: LocalPlacement,
    log: MemoryLog,
    name: &'static str,
    number: u64,
    payments: u64,
    way: Way,
    /// Number of messages that found the mailbox of an account full, in all runs.
    refused: Arc<AtomicU64>,
    joined: Option<(Node, Entities)>,
}

enum Step {
    Pay,
    Look,
    Got(u64, Result<Books, NoReply>),
    Leave,
}

impl Member {
    fn account(&self, number: u64) -> Address<Order> {
        let (_, entities) = self.joined.as_ref().unwrap();
        entities.get(ACCOUNT, &number.to_string()).unwrap()
    }
}

impl Actor for Member {
    type Msg = Step;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Step>) {
        let node = Node::join(&self.handle, self.net.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.placement.clone()).unwrap();
        let journal = Journal::new(&self.handle, self.log.clone()).unwrap();
        let known = entities.clone();
        let of_entities = journal.clone();
        let make = move |key: &str| {
            let entity = of_entities.entity(format!("account/{key}"), Account(known.clone()));
            entity.unwrap().fenced()
        };
        let options = KindOptions::new().shards(8);
        let options = options.idle(Some(Duration::from_secs(3))).fenced();
        let hosted = match self.way {
            Way::Plain => entities.host(ACCOUNT, options, make),
            Way::Full => entities.host(ACCOUNT, options.mailbox(1), make),
            Way::Listed => entities.host_durable(ACCOUNT, options, journal, make),
        };
        hosted.unwrap();
        self.joined = Some((node, entities));
        let me = cx.address();
        let _ = cx.send(&me, Step::Pay);
        let _ = cx.send_after(LEAVES, &me, Step::Leave);
        if self.name == "node-3" {
            if !matches!(self.way, Way::Listed) {
                let _ = cx.send_after(FIRST_LOOK, &me, Step::Look);
            }
            let _ = cx.send_after(LAST_LOOK, &me, Step::Look);
        }
    }

    fn receive(&mut self, step: Step, cx: &mut Context<'_, Step>) {
        match step {
            Step::Pay => {
                let chance = mix(self.number << 32 | self.payments);
                let (from, cents) = (chance % ACCOUNTS, chance >> 40);
                let to = (from + 1 + (chance >> 16) % (ACCOUNTS - 1)) % ACCOUNTS;
                let _ = cx.send(&self.account(from), Order::Pay { to, cents });
                self.payments += 1;
                if self.payments < PAYMENTS {
                    let _ = cx.send_after(PAUSE, &cx.address(), Step::Pay);
                }
            }
            Step::Look => {
                for number in 0..ACCOUNTS {
                    let account = self.account(number);
                    cx.ask(&account, Order::Look, move |got| Step::Got(number, got));
                }
            }
            Step::Got(number, Ok(books)) => cx.note(Seen(number, books)),
            Step::Got(..) => {}
            Step::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    let refused = entities.sample()[0].refused;
                    self.refused.fetch_add(refused, Relaxed);
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

/// Checks that each payment was received exactly once.
fn is_exact(facts: &Facts) -> Result<(), String> {
    let seen = facts.seen::<Seen>();
    let last: BTreeMap<u64, Books> = seen.map(|seen| (seen.0, seen.1)).collect();
    let sum = |of: fn(&Books) -> i64| last.values().map(of).sum::<i64>();
    let (paid, received) = (sum(|all| all.paid as i64), sum(|all| all.received as i64));
    let is_exact = sum(|all| all.cents) == 0 && paid == received && paid > 20;
    if is_exact && last.len() as u64 == ACCOUNTS {
        return Ok(());
    }
    Err(format!("{paid} paid, {received} received: {last:?}"))
}

/// Runs three nodes with accounts. `refused` counts the messages that find the mailbox of an
/// account full.
pub(crate) fn program(sim: &mut Sim, way: Way, refused: &Arc<AtomicU64>) {
    let (net, log) = (LocalNet::new(), MemoryLog::new());
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    for (number, name) in (0..).zip(["node-1", "node-2", "node-3"]) {
        let (net, placement, log) = (net.clone(), placement.clone(), log.clone());
        let refused = refused.clone();
        let mut life = 0;
        sim.restarting(name, move |node| {
            life += 1;
            let member = Member {
                handle: node.handle().clone(),
                net: net.clone(),
                placement: placement.clone(),
                log: log.clone(),
                name,
                number: number << 8 | life,
                payments: 0,
                way,
                refused: refused.clone(),
                joined: None,
            };
            drop(node.spawn(member).unwrap());
        });
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.links().all().loses(30);
    let after = Duration::ZERO..Duration::from_secs(5);
    sim.faults().crash_and_restart("node-1", 2, after.clone());
    sim.faults().crash_and_restart("node-2", 1, after);
    let lasts = Duration::from_millis(100)..Duration::from_secs(8);
    sim.faults().partition(["node-2"], 1, lasts);
    sim.faults().cease_after(FAULTS);
    sim.explained("each payment takes effect once", is_exact);
}
