//! Tests that telemetry finds a slow kind of message among quick ones, for actors of every kind.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, System};
use garrick_telemetry::{MessageStatus, Moment, Node, Sampler, Settings, Snapshot};
use garrick_testkit::{ByHand, wait};

/// A message. Handling it takes a certain time of the test's clock.
enum Order {
    Sell,
    Audit,
    Close(Sender<()>),
}

const SELL: Duration = Duration::from_micros(10);
const AUDIT: Duration = Duration::from_millis(30);

/// An actor that advances the clock. Each value of the const parameter makes a separate type.
struct Shop<const NUMBER: u8>(Arc<ByHand>);

impl<const NUMBER: u8> Actor for Shop<NUMBER> {
    type Msg = Order;
    type Outcome = ();
    const MESSAGES: &'static [&'static str] = &["Sell", "Audit", "Close"];

    fn receive(&mut self, order: Order, _: &mut Context<'_, Order>) {
        match order {
            Order::Sell => self.0.advance(SELL),
            Order::Audit => self.0.advance(AUDIT),
            Order::Close(told) => told.send(()).expect("the test waits"),
        }
    }

    fn message_kind(order: &Order) -> usize {
        match order {
            Order::Sell => 0,
            Order::Audit => 1,
            Order::Close(_) => 2,
        }
    }
}

/// Sends 40 messages, of which 2 are slow, and waits until they are handled.
fn send_to(shop: &Address<Order>) {
    for number in 0..40 {
        let is_slow = number % 20 == 10;
        let order = if is_slow { Order::Audit } else { Order::Sell };
        shop.send(order).expect("it is alive and has room");
    }
    let (told, closes) = mpsc::channel();
    shop.send(Order::Close(told))
        .expect("it is alive and has room");
    wait(&closes);
}

fn sampler() -> Sampler {
    let settings = Settings {
        window: Duration::from_secs(10),
        ..Settings::default()
    };
    Sampler::new(settings).expect("valid settings")
}

fn tick(sampler: &mut Sampler, seconds: u64) -> Snapshot {
    let uptime = Duration::from_secs(seconds);
    let unix_ms = seconds * 1_000;
    sampler.tick(Moment { uptime, unix_ms }).0
}

/// Asserts that a group of actors has handled the messages of [`send_to`] in 2 seconds.
fn check(node: &Node) {
    let names: Vec<&str> = kinds(node).map(|kind| &*kind.name).collect();
    assert_eq!(names, ["Audit", "Sell", "Close"], "{node:?}");
    let [audit, sell, _] = &node.messages_by_kind[..] else {
        panic!("there are three kinds");
    };
    assert_eq!((audit.turns, sell.turns), (2, 38), "{node:?}");
    assert_eq!((audit.rate, sell.rate), (1.0, 19.0), "{node:?}");
    let near = |value: f64, truth: f64| (value - truth).abs() < 1e-9;
    assert!(near(audit.busy_seconds, 0.06), "{audit:?}");
    assert!(near(sell.busy_seconds, 0.000_38), "{sell:?}");
    assert!(near(audit.busy.expect("two snapshots"), 0.03), "{audit:?}");
    assert!(near(audit.mean_seconds.expect("turns"), 0.03), "{audit:?}");
    assert!(
        near(sell.mean_seconds.expect("turns"), 0.000_01),
        "{sell:?}"
    );
    assert!(near(audit.longest_seconds, 0.03), "{audit:?}");
    let all: f64 = kinds(node).map(|kind| kind.busy_seconds).sum();
    assert!(
        near(all, node.busy_seconds.expect("it is known")),
        "{node:?}"
    );
}

fn kinds(node: &Node) -> impl Iterator<Item = &MessageStatus> {
    node.messages_by_kind.iter()
}

#[test]
fn the_slow_kind_comes_first_with_its_exact_time_whatever_wraps_the_actor() {
    let world = ByHand::new();
    let system = System::builder().world(world.clone());
    let system = system.workers(1).probes(true).start().expect("threads");
    let mut sampler = sampler();
    sampler.watch(system.handle());
    let tree = Supervisor::new("shops", Strategy::OneForOne);
    let tree = tree.spawn(&system.handle()).expect("the system is running");
    let bounded = Mailbox::bounded(64, OnFull::Fail).expect("a valid capacity");
    let shops = [
        system.spawn(Shop::<0>(world.clone())).expect("it runs"),
        system
            .actor(Shop::<1>(world.clone()))
            .named("bounded")
            .mailbox(bounded)
            .spawn()
            .expect("the name is free"),
        {
            let shop = system.actor(move || Shop::<2>(world.clone()));
            let shop = shop.named("supervised").supervised_by(&tree);
            shop.spawn().expect("the tree is running")
        },
    ];
    tick(&mut sampler, 0);
    shops.iter().for_each(send_to);
    system.shutdown();
    let seen = tick(&mut sampler, 2);
    let shops: Vec<&Node> = seen
        .nodes
        .iter()
        .filter(|node| node.name.contains("Shop"))
        .collect();
    assert_eq!(shops.len(), 3, "{:?}", seen.nodes);
    shops.into_iter().for_each(check);
}
