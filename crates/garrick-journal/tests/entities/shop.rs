//! A shop that sends a mail for each order, and later a reminder. Each mail and each reminder takes
//! effect once.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_core::random::mix;
use garrick_journal::{
    BoxError, Decide, Due, DurableActor, EventKind, Journal, JournalError, Options, Stored,
};
use garrick_sim::{Facts, Sim};

use crate::node::start;
use crate::simulated::Rule;

/// Number of orders.
const ORDERS: u8 = 3;

/// Time after which the customer reads the orders again.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of times that the customer reads the orders after a pause. In most cases, this is after
/// the last crash.
const LOOKS: u32 = 40;

/// One of this many decisions panics.
const PANICS: u64 = 16;

pub(crate) struct Shop {
    /// Random number of the next decision.
    chance: Cell<u64>,
}

/// The effects of an order that have taken place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Order {
    mails: u8,
    reminders: u8,
}

pub(crate) type Orders = BTreeMap<u8, Order>;

pub(crate) enum Request {
    /// Places an order, unless it was already placed.
    Place(u8, Reply<()>),
    Look(Reply<Orders>),
    Due(Due),
}

pub(crate) enum Event {
    Placed(u8),
    Mailed(u8),
    Reminded(u8),
}

impl Stored for Event {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        let (tag, order) = match self {
            Self::Placed(order) => (1, order),
            Self::Mailed(order) => (2, order),
            Self::Reminded(order) => (3, order),
        };
        bytes.push(*order);
        EventKind { tag, version: 1 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let &[order] = bytes else {
            return Err("an order is one byte".into());
        };
        match kind.tag {
            1 => Ok(Self::Placed(order)),
            2 => Ok(Self::Mailed(order)),
            3 => Ok(Self::Reminded(order)),
            tag => Err(format!("no event has the tag {tag}").into()),
        }
    }
}

/// A fact: a reminder has arrived before its time.
#[derive(Debug)]
struct Early;

impl DurableActor for Shop {
    type Msg = Request;
    type State = Orders;
    type Event = Event;
    type Outcome = ();

    fn decide(&self, orders: &Orders, request: Request, cx: &mut Decide<'_, '_, Self>) {
        self.chance.set(mix(self.chance.get()));
        match request {
            Request::Place(order, reply) => {
                if !orders.contains_key(&order) {
                    cx.record(Event::Placed(order));
                    cx.once(format!("mail/{order}"));
                    let delay = Duration::from_secs(1 + u64::from(order));
                    cx.remind_after(format!("late/{order}"), delay);
                }
                reply.send(());
            }
            Request::Look(reply) => return reply.send(orders.clone()),
            Request::Due(due) => {
                if due.at.is_some_and(|at| at > cx.date()) {
                    cx.note(Early);
                }
                let (what, order) = due.key.split_once('/').expect("the key of an order");
                let order = order.parse().expect("the number of an order");
                if cx.complete(&due) {
                    cx.record(match what {
                        "mail" => Event::Mailed(order),
                        _ => Event::Reminded(order),
                    });
                }
            }
        }
        assert!(!self.chance.get().is_multiple_of(PANICS), "by chance");
    }

    fn apply(orders: &mut Orders, event: &Event) {
        match event {
            Event::Placed(order) => {
                orders.insert(*order, Order::default());
            }
            Event::Mailed(order) => orders.entry(*order).or_default().mails += 1,
            Event::Reminded(order) => orders.entry(*order).or_default().reminders += 1,
        }
    }

    fn due(due: Due) -> Option<Request> {
        Some(Request::Due(due))
    }

    const SAVE_EVERY: u64 = 4;

    fn save(orders: &Orders, bytes: &mut Vec<u8>) -> Option<EventKind> {
        let fields = |(order, state): (&u8, &Order)| [*order, state.mails, state.reminders];
        bytes.extend(orders.iter().flat_map(fields));
        bytes.push(orders.len() as u8);
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Orders, BoxError> {
        let order = |fields: &[u8]| {
            let (mails, reminders) = (fields[1], fields[2]);
            (fields[0], Order { mails, reminders })
        };
        Ok(bytes.chunks_exact(3).map(order).collect())
    }
}

/// An actor that places the orders again and again, and reads them.
struct Customer {
    shop: Option<Address<Request>>,
    /// Number of starts of the node of the shop.
    starts: u32,
    looks: u32,
    /// Number of orders that the customer places at a time.
    at_once: u32,
}

enum Heard {
    /// The node of the shop has started. The shop is closed if its log could not be opened.
    Started(Option<Address<Request>>),
    Next,
    Placed,
    /// The answer of the shop, with the number of starts of its node.
    Seen(u32, Result<Orders, NoReply>),
}

/// A fact: the orders that the customer has read. `None` if the shop is closed or fails.
#[derive(Debug)]
struct Seen(Option<Orders>);

fn is_done(order: &Order) -> bool {
    order.mails == 1 && order.reminders == 1
}

impl Actor for Customer {
    type Msg = Heard;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Heard>) {
        let _ = cx.send(&cx.address(), Heard::Next);
    }

    fn receive(&mut self, heard: Heard, cx: &mut Context<'_, Heard>) {
        match heard {
            Heard::Started(shop) => {
                self.shop = shop;
                self.starts += 1;
                cx.note(Seen(None));
            }
            Heard::Next if self.looks < LOOKS => {
                self.looks += 1;
                if let Some(shop) = &self.shop {
                    for order in self.looks..self.looks + self.at_once {
                        let order = (order % u32::from(ORDERS)) as u8;
                        let place = move |reply| Request::Place(order, reply);
                        cx.ask(shop, place, |_| Heard::Placed);
                    }
                    let starts = self.starts;
                    cx.ask(shop, Request::Look, move |seen| Heard::Seen(starts, seen));
                }
                let _ = cx.send_after(PAUSE, &cx.address(), Heard::Next);
            }
            Heard::Seen(starts, seen) if starts == self.starts => cx.note(Seen(seen.ok())),
            Heard::Next | Heard::Placed | Heard::Seen(..) => {}
        }
    }
}

pub(crate) fn program(sim: &mut Sim, rule: Rule) {
    run(sim, rule, false);
}

/// Runs the program with a shop that decides ahead.
pub(crate) fn pipelined_program(sim: &mut Sim, rule: Rule) {
    run(sim, rule, true);
}

fn run(sim: &mut Sim, rule: Rule, is_pipelined: bool) {
    let files: Arc<dyn Files> = Arc::new(sim.disk("n"));
    let disk = Arc::clone(&files);
    rule(sim.disks().all());
    sim.allow_failures();
    let customer = Customer {
        shop: None,
        starts: 0,
        looks: 0,
        at_once: if is_pipelined { 3 } else { 1 },
    };
    let customer = sim.node("customer").spawn(customer).unwrap();
    let mut running = None;
    let chances = Arc::new(AtomicU64::new(sim.seed()));
    sim.restarting("n", move |node| {
        // The tasks of the node that has crashed are gone.
        drop(running.take());
        let chances = Arc::clone(&chances);
        let make = move || Shop {
            chance: Cell::new(chances.fetch_add(1, Relaxed)),
        };
        let names = ["shop".to_owned()];
        let opened = Journal::open_files(node.handle(), Arc::clone(&files));
        running = (opened.ok())
            .map(|(journal, _)| start(node.handle(), &journal, names, is_pipelined, make));
        let shop = running.as_ref().map(|running| running.entities[0].clone());
        customer.send(Heard::Started(shop)).unwrap();
    });
    let after = Duration::ZERO..Duration::from_secs(8);
    sim.faults().crash_and_restart("n", 4, after);
    sim.faults().cease_after(Duration::from_secs(20));
    sim.always("no reminder is early", |facts| {
        facts.last::<Early>().is_none()
    });
    sim.always("each effect takes place once", |facts| {
        let is_once = |order: &Order| order.mails <= 1 && order.reminders <= 1;
        seen(facts).is_none_or(|orders| orders.values().all(is_once))
    });
    sim.at_end("each effect takes place", move |facts| {
        // Otherwise the shop is closed.
        let Some(seen) = seen(facts) else { return true };
        let stored = stored(&disk);
        stored.values().all(is_done) && seen.keys().all(|order| stored.contains_key(order))
    });
}

/// Returns the orders that the customer has read last, if the shop is open.
fn seen(facts: &Facts) -> Option<&Orders> {
    facts.last::<Seen>()?.0.as_ref()
}

/// Returns the orders on the disk. Repeats failed attempts to read them.
fn stored(files: &Arc<dyn Files>) -> Orders {
    loop {
        match try_stored(Arc::clone(files)) {
            Ok(orders) => return orders,
            Err(JournalError::Disk { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn try_stored(files: Arc<dyn Files>) -> Result<Orders, JournalError> {
    let (mut log, _) = Options::new().inspect(files)?;
    let (mut orders, mut number) = (Orders::new(), 0);
    let Some(journal) = log.find("shop") else {
        // Each decision about an order has panicked.
        return Ok(orders);
    };
    if let Some(saved) = log.snapshot(journal)? {
        // Before the state are the effects and reminders. The last byte is the number of orders.
        let bytes = 1 + 3 * usize::from(*saved.payload.last().expect("a number"));
        let state = &saved.payload[saved.payload.len() - bytes..];
        (orders, number) = (Shop::load(saved.kind, state).unwrap(), saved.number);
    }
    log.read(journal, number + 1, |event| {
        // Others are of effects and reminders.
        if let Ok(event) = Event::decode(event.kind, event.payload) {
            Shop::apply(&mut orders, &event);
        }
    })?;
    Ok(orders)
}
