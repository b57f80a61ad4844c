//! Tests of the counts by kind of message.

mod common;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use common::kind;
use garrick_sched::{
    Address, Ended, Flow, Handle, KindSample, MessageSample, Spawns, Sponsor, Task, Turn, WhenFull,
};
use garrick_testkit::{ByHand, fail, silence_panics, wait};

/// A message that takes a time of the clock, or waits for permission.
enum Order {
    Sell(Duration),
    Audit(Duration),
    /// Reports that it waits, and waits for permission.
    Wait(Sender<()>, Receiver<()>),
    /// Takes a time of the clock, and then panics.
    Fail(Duration),
}

/// A task that advances the clock by the time of each message.
struct Shop(Arc<ByHand>);

impl Task for Shop {
    type Message = Order;
    const MESSAGES: &'static [&'static str] = &["Sell", "Audit", "Wait", "Fail"];

    fn receive(&mut self, order: Order, _: &Turn<'_, Order>) -> Flow {
        match order {
            Order::Sell(time) | Order::Audit(time) => self.0.advance(time),
            Order::Wait(told, may_leave) => {
                told.send(()).unwrap();
                wait(&may_leave);
            }
            Order::Fail(time) => {
                self.0.advance(time);
                fail();
            }
        }
        Flow::Continue
    }

    fn message_kind(order: &Order) -> usize {
        match order {
            Order::Sell(_) => 0,
            Order::Audit(_) => 1,
            Order::Wait(..) => 2,
            Order::Fail(_) => 3,
        }
    }

    fn name() -> &'static str {
        "Shop"
    }
}

/// A sponsor with one worker and a clock by hand.
fn by_hand() -> (Sponsor, Arc<ByHand>) {
    let world = ByHand::new();
    let builder = Sponsor::builder().world(world.clone());
    let sponsor = builder.workers(1).probes(true).start().unwrap();
    (sponsor, world)
}

/// Sends messages while the task waits, so that all of them are in its mailbox. The task waits for
/// 5 µs by the clock.
fn send_together(shop: &Address<Order>, world: &ByHand, orders: impl IntoIterator<Item = Order>) {
    let (told, began) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel();
    shop.send(Order::Wait(told, may_leave)).unwrap();
    wait(&began);
    orders
        .into_iter()
        .for_each(|order| shop.send(order).unwrap());
    world.advance(us(5));
    leave.send(()).unwrap();
}

fn message(kind: &KindSample, name: &str) -> MessageSample {
    let mut messages = kind.messages.iter();
    messages
        .find(|message| message.name == name)
        .copied()
        .unwrap_or_default()
}

/// Returns the number of turns for a kind of message, and their total and longest duration in
/// microseconds.
fn micros(kind: &KindSample, name: &str) -> (u64, u64, u64) {
    let found = message(kind, name);
    (found.turns, found.busy / 1_000, found.longest / 1_000)
}

fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

#[test]
fn a_slow_message_among_quick_ones_of_one_task_is_counted_exactly() {
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let shop = handle.spawn(Shop(world.clone())).unwrap();
    let orders = (0..2_000).map(|number| match number % 100 {
        50 => Order::Audit(us(30_000 + number)),
        _ => Order::Sell(us(3)),
    });
    send_together(&shop, &world, orders);
    sponsor.shutdown();
    let shop = kind(&handle, "Shop").unwrap();
    let audits: u64 = (0..20).map(|audit| 30_050 + audit * 100).sum();
    assert_eq!(micros(&shop, "Audit"), (20, audits, 31_950));
    assert_eq!(micros(&shop, "Sell"), (1_980, 5_940, 3));
    assert_eq!(micros(&shop, "Wait"), (1, 5, 5));
    assert_eq!(shop.busy / 1_000, audits + 5_945);
    assert_eq!(shop.messages.len(), 3, "{:?}", shop.messages);
}

#[test]
fn messages_of_few_activations_are_counted_one_by_one() {
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let shop = handle.spawn(Shop(world)).unwrap();
    for _ in 0..3 {
        shop.send(Order::Sell(us(1))).unwrap();
        shop.send(Order::Audit(us(7))).unwrap();
    }
    sponsor.shutdown();
    let shop = kind(&handle, "Shop").unwrap();
    assert_eq!(micros(&shop, "Sell"), (3, 3, 1));
    assert_eq!(micros(&shop, "Audit"), (3, 21, 7));
}

#[test]
fn the_kinds_of_many_quick_messages_are_estimated() {
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let shop = handle.spawn(Shop(world.clone())).unwrap();
    let nanos = Duration::from_nanos;
    let orders = (0..60_000).map(|number| match number % 4 {
        3 => Order::Audit(nanos(300)),
        _ => Order::Sell(nanos(100)),
    });
    send_together(&shop, &world, orders);
    sponsor.shutdown();
    let shop = kind(&handle, "Shop").unwrap();
    let (sell, audit) = (message(&shop, "Sell"), message(&shop, "Audit"));
    let near = |found: u64, truth: u64| found.abs_diff(truth) * 10 <= truth;
    assert!(near(sell.turns, 45_000), "{sell:?}");
    assert!(near(audit.turns, 15_000), "{audit:?}");
    assert!(near(sell.busy, 4_500_000), "{sell:?}");
    assert!(near(audit.busy, 4_500_000), "{audit:?}");
    assert!(sell.busy + audit.busy <= shop.busy, "{shop:?}");
}

#[test]
fn a_turn_that_panics_is_counted_until_its_panic() {
    silence_panics();
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let shop = handle.spawn(Shop(world)).unwrap();
    shop.send(Order::Sell(us(3))).unwrap();
    shop.send(Order::Fail(us(40))).unwrap();
    sponsor.shutdown();
    let shop = kind(&handle, "Shop").unwrap();
    assert_eq!(micros(&shop, "Sell"), (1, 3, 3));
    assert_eq!(micros(&shop, "Fail"), (1, 40, 40));
}

/// A task that checks that its messages are the numbers from 1 on. The function for the kind of a
/// message panics, returns an invalid kind, or sends many messages.
struct Odd {
    next: u64,
    sent: Sender<u64>,
}

/// A message that contains an address, to which the function for the kind of the message sends. The
/// message is too large for an entry of a run queue.
type Wide = ([u64; 3], Address<u32>);

/// Number of messages that the function for the kind sends. The number is larger than the first
/// capacity of a run queue.
const SENT: u64 = 300;

impl Task for Odd {
    type Message = Wide;
    const MESSAGES: &'static [&'static str] = &["first", "second"];

    fn receive(&mut self, ([number, seven, not], _): Wide, _: &Turn<'_, Wide>) -> Flow {
        assert_eq!((number, seven, not), (self.next, 7, !self.next));
        self.next += 1;
        self.sent.send(number).unwrap();
        Flow::Continue
    }

    fn message_kind(([number, ..], to): &Wide) -> usize {
        match number % 4 {
            0 => fail(),
            1 => usize::MAX,
            2 => 2,
            _ => {
                (0..SENT).for_each(|_| to.send(0).unwrap());
                1
            }
        }
    }

    fn name() -> &'static str {
        "Odd"
    }
}

/// A task that counts its messages.
struct Sink;

impl Task for Sink {
    type Message = u32;

    fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
        Flow::Continue
    }
}

/// A task that passes each of its messages on, so that the message is in a run queue and not in a
/// mailbox.
struct Passes<M>(Address<M>);

impl<M: Send + 'static> Task for Passes<M> {
    type Message = M;

    fn receive(&mut self, message: M, turn: &Turn<'_, M>) -> Flow {
        turn.send(&self.0, message).unwrap();
        Flow::Continue
    }
}

#[test]
fn a_function_for_the_kind_may_panic_return_nonsense_or_send() {
    silence_panics();
    let sponsor = Sponsor::builder().workers(1).probes(true).start().unwrap();
    let handle = sponsor.handle();
    let sink = handle.spawn(Sink).unwrap();
    let (sent, received) = mpsc::channel();
    let odd = handle.spawn(Odd { next: 1, sent }).unwrap();
    let (done, is_done) = mpsc::channel();
    let watch = odd.watch(move |ended| done.send(ended).unwrap());
    let passes = handle.spawn(Passes(odd.clone())).unwrap();
    let wide = |number: u64| ([number, 7, !number], sink.clone());
    for number in 1..=40 {
        passes.send(wide(number)).unwrap();
        assert_eq!(wait(&received), number);
    }
    // Now they come through the mailbox.
    (41..=80).for_each(|number| odd.send(wide(number)).unwrap());
    drop((passes, odd, sink));
    assert_eq!(wait(&is_done), Ended::Unreachable, "nothing has failed");
    drop(watch);
    sponsor.shutdown();
    let odd = kind(&handle, "Odd").unwrap();
    let (second, other) = (message(&odd, "second"), message(&odd, MessageSample::OTHER));
    assert_eq!(odd.messages.len(), 2, "{odd:?}");
    assert!(second.turns > 0 && other.turns > 0, "{odd:?}");
    let calls = kind(&handle, "Sink").unwrap().turns / SENT;
    assert!((1..=20).contains(&calls), "it is asked once, at most");
}

/// A task with more kinds of messages than are counted separately.
struct Many(Arc<ByHand>);

impl Task for Many {
    type Message = usize;
    const MESSAGES: &'static [&'static str] = &[
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
        "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
        "32", "33", "34",
    ];

    fn receive(&mut self, _: usize, _: &Turn<'_, usize>) -> Flow {
        self.0.advance(us(60));
        Flow::Continue
    }

    fn message_kind(message: &usize) -> usize {
        *message
    }
}

#[test]
fn the_kinds_after_the_32nd_are_counted_together() {
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let many = handle.spawn(Many(world)).unwrap();
    (0..35).for_each(|number| many.send(number).unwrap());
    sponsor.shutdown();
    let many = kind(&handle, "Many").unwrap();
    assert_eq!(many.messages.len(), 33);
    assert_eq!(micros(&many, "31"), (1, 60, 60));
    assert_eq!(message(&many, "32").turns, 0);
    assert_eq!(micros(&many, MessageSample::OTHER), (3, 180, 60));
}

/// A task whose start takes 100 µs, and each of whose messages takes 60 µs. The size of the task
/// differs from the size of its messages.
struct Sized<const TASK: usize, const MESSAGE: usize> {
    world: Arc<ByHand>,
    room: [u8; TASK],
}

impl<const TASK: usize, const MESSAGE: usize> Task for Sized<TASK, MESSAGE> {
    type Message = (bool, [u8; MESSAGE]);
    const STARTS: bool = true;
    const MESSAGES: &'static [&'static str] = &["no", "yes"];

    fn start(&mut self, _: &Turn<'_, Self::Message>) -> Flow {
        assert_eq!(self.room, [9; TASK]);
        self.world.advance(us(100));
        Flow::Continue
    }

    fn receive(&mut self, (_, room): Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
        assert_eq!(room, [7; MESSAGE]);
        self.world.advance(us(60));
        Flow::Continue
    }

    fn message_kind((yes, room): &Self::Message) -> usize {
        assert_eq!(*room, [7; MESSAGE]);
        usize::from(*yes)
    }

    fn name() -> &'static str {
        "Sized"
    }
}

/// Checks the counts of messages that come from a thread, and of messages that come from a task.
fn counts_of_size<const TASK: usize, const MESSAGE: usize>(
    spawn: impl Fn(&Handle, Sized<TASK, MESSAGE>) -> Address<(bool, [u8; MESSAGE])>,
) {
    for passed in [false, true] {
        let (sponsor, world) = by_hand();
        let handle = sponsor.handle();
        let room = [9; TASK];
        let mut task = spawn(&handle, Sized { world, room });
        if passed {
            task = handle.spawn(Passes(task)).unwrap();
        }
        for yes in [true, false, true] {
            task.send((yes, [7; MESSAGE])).unwrap();
        }
        drop(task);
        sponsor.shutdown();
        let counted = kind(&handle, "Sized").unwrap();
        assert_eq!(micros(&counted, "no"), (1, 60, 60), "{TASK} {MESSAGE}");
        assert_eq!(micros(&counted, "yes"), (2, 120, 60), "{TASK} {MESSAGE}");
        assert_eq!(counted.busy / 1_000, 280, "{TASK} {MESSAGE}");
    }
}

#[test]
fn tasks_and_messages_of_every_size_are_counted() {
    counts_of_size::<1, 1>(|handle, task| handle.spawn(task).unwrap());
    counts_of_size::<1, 100>(|handle, task| handle.spawn(task).unwrap());
    counts_of_size::<1, 8_000>(|handle, task| handle.spawn(task).unwrap());
    counts_of_size::<10_000, 1>(|handle, task| handle.spawn(task).unwrap());
    counts_of_size::<10_000, 8_000>(|handle, task| handle.spawn(task).unwrap());
}

#[test]
fn tasks_with_bounded_mailboxes_are_counted() {
    counts_of_size::<1, 1>(|handle, task| handle.spawn_bounded(8, WhenFull::Fail, task).unwrap());
    counts_of_size::<1, 100>(|handle, task| handle.spawn_bounded(8, WhenFull::Fail, task).unwrap());
}

#[test]
fn kinds_of_tasks_with_one_name_are_counted_together() {
    let (sponsor, world) = by_hand();
    let handle = sponsor.handle();
    let (first, second) = (world.clone(), world);
    let first = handle
        .spawn(Sized::<1, 1> {
            world: first,
            room: [9],
        })
        .unwrap();
    let second = handle
        .spawn(Sized::<1, 2> {
            world: second,
            room: [9],
        })
        .unwrap();
    first.send((true, [7; 1])).unwrap();
    second.send((true, [7; 2])).unwrap();
    sponsor.shutdown();
    assert_eq!(
        micros(&kind(&handle, "Sized").unwrap(), "yes"),
        (2, 120, 60)
    );
}
