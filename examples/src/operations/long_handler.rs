//! An exchange with 50,000 actors of five types on two workers. One of its order books needs 30 ms
//! for each order.

use std::error::Error;
use std::thread;
use std::time::Duration;

use garrick::telemetry::{Snapshot, Telemetry};
use garrick::{Actor, Address, Context, Handle, SendError, System};

use super::program::{Clients, Program};

/// Number of traded shares. Each share has one actor of each type.
const SHARES: usize = 10_000;

/// Index of the share whose order book is slow.
const SLOW: usize = 4_711;

/// Time that the slow order book needs for each order.
const SLOW_TURN: Duration = Duration::from_millis(30);

/// Number of orders for the slow share when the exchange opens.
const AT_THE_OPENING: u64 = 12_500;

/// Time between two groups of orders. The next constant is the number of orders in a group.
const PERIOD: Duration = Duration::from_millis(10);
const ORDERS: usize = 20;

/// Number of groups of orders after which one group has an additional order for the slow share. So
/// the slow share gets fewer orders than its book can handle, and the mailbox of the book does not
/// grow forever.
const SLOW_PERIODS: u64 = 4;

/// Minimum share of a core's time that an actor must use to count as busy.
const BUSY: f64 = 0.8;

/// A request to buy this number of shares.
#[derive(Debug, Clone, Copy)]
struct Order(u64);

/// An actor that accepts the orders of a trader.
struct Session(Address<Order>);

impl Actor for Session {
    type Msg = Order;
    type Outcome = Result<(), SendError<Order>>;
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) -> Self::Outcome {
        cx.send(&self.0, order)
    }
}

/// An actor that checks orders against a limit.
struct Account {
    limit: u64,
    book: Address<Order>,
}

impl Actor for Account {
    type Msg = Order;
    type Outcome = Result<(), SendError<Order>>;
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) -> Self::Outcome {
        if order.0 > self.limit {
            return Ok(());
        }
        cx.send(&self.book, order)
    }
}

/// An order book: an actor that fills orders.
struct OrderBook {
    /// Time for which the disk of this order book blocks each turn.
    disk: Option<Duration>,
    position: Address<Order>,
}

impl Actor for OrderBook {
    type Msg = Order;
    type Outcome = Result<(), SendError<Order>>;
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) -> Self::Outcome {
        if let Some(time) = self.disk {
            thread::sleep(time);
        }
        cx.send(&self.position, order)
    }
}

/// An actor that adds up the filled orders of a share.
struct Position {
    shares: u64,
    report: Address<u64>,
}

impl Actor for Position {
    type Msg = Order;
    type Outcome = Result<(), SendError<u64>>;
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) -> Self::Outcome {
        self.shares += order.0;
        cx.send(&self.report, self.shares)
    }
}

/// An actor that keeps the latest total of a share.
struct Report(u64);

impl Actor for Report {
    type Msg = u64;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, shares: u64, _: &mut Context<'_, u64>) {
        self.0 = shares;
    }
}

/// Spawns the five actors of a share, and returns the address of the first one.
fn list(exchange: &Handle, share: usize) -> Result<Address<Order>, Box<dyn Error>> {
    let report = exchange.spawn(Report(0))?;
    let position = exchange.spawn(Position { shares: 0, report })?;
    let book = OrderBook {
        disk: (share == SLOW).then_some(SLOW_TURN),
        position,
    };
    let book = exchange.actor(book).named(format!("book-{share}"));
    let limit = 1_000;
    let account = exchange.spawn(Account {
        limit,
        book: book.spawn()?,
    })?;
    Ok(exchange.spawn(Session(account))?)
}

pub(super) fn start(telemetry: &Telemetry) -> Result<Program, Box<dyn Error>> {
    let system = System::builder().name("exchange").workers(2).probes(true);
    let system = system.start()?;
    let handle = system.handle();
    telemetry.watch(system.handle());
    let sessions: Result<Vec<_>, _> = (0..SHARES).map(|share| list(&handle, share)).collect();
    let sessions = sessions?;
    for _ in 0..AT_THE_OPENING {
        sessions[SLOW].send(Order(1))?;
    }
    let clients = Clients::every(PERIOD, move |group| {
        let first = group as usize * ORDERS;
        let usual = (first..first + ORDERS).map(|order| order % SHARES);
        let slow = (group % SLOW_PERIODS == 0).then_some(SLOW);
        for share in usual.chain(slow) {
            // After the end of the system, nobody takes orders.
            let _ = sessions[share].send(Order(10));
        }
    });
    Ok(Program::of((clients, system)))
}

pub(super) fn found(seen: &Snapshot) -> Option<String> {
    let busy = seen.actors.iter().filter_map(|one| Some((one.busy?, one)));
    let (busy, actor) = busy.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    if busy < BUSY {
        return None;
    }
    let node = seen.nodes.iter().find(|node| node.id == actor.node)?;
    let turn = node.turn_seconds.as_ref()?.p99?;
    Some(format!(
        "{}, one of {} actors of the type {}, uses {:.0} % of a core, and {} messages wait for it. \
         The 99th percentile of the turns of this type is {:.0} ms.",
        actor.name,
        node.alive?,
        node.name,
        busy * 100.0,
        actor.waiting,
        turn * 1e3
    ))
}
