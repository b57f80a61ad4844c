//! Tests that telemetry finds one slow actor among 40,000 actors of its type.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use garrick_actor::{Actor, Context, System};
use garrick_telemetry::{Moment, Sampler, Settings, Snapshot};
use garrick_testkit::ByHand;

/// Duration of a turn of the slow actor.
const TURN: Duration = Duration::from_millis(30);

/// Number of messages in the mailbox of the slow actor at the start.
const MESSAGES: u64 = 12_500;

const ACTORS: usize = 40_000;

/// An actor. If it is slow, it waits in each turn until the test permits it to continue.
struct OrderBook(Option<(Sender<()>, Receiver<()>)>);

impl Actor for OrderBook {
    type Msg = u32;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) {
        if let Some((began, may_end)) = &self.0 {
            // After the test, nobody waits.
            let _ = began.send(());
            let _ = may_end.recv();
        }
    }
}

/// Asserts that a snapshot shows the slow actor with `handled` messages.
fn check(seen: &Snapshot, handled: u64) {
    let node = &seen.nodes[0];
    let busy = node.busy.expect("it was seen twice");
    assert!((0.95..=1.05).contains(&busy), "{busy}, after {handled}");
    let waiting = MESSAGES - handled;
    let is_exact = |shown: u64| shown.abs_diff(waiting) * 100 <= waiting;
    let total = node.waiting.expect("it is known");
    assert!(is_exact(total), "{total} of {waiting}");
    assert!(node.longest.is_some_and(is_exact), "{node:?}");
    assert_eq!(node.slow, 0, "no turn is slower than 100 ms");
    let first = &seen.actors[0];
    assert_eq!((&first.node, &*first.name), (&node.id, "/user/AAPL#1"));
    assert!(is_exact(first.waiting), "{first:?}");
    let busy = first.busy.expect("it was seen twice");
    assert!(busy > 0.9, "{first:?}");
    // All messages were sent at the beginning. The first census took place a little later.
    let oldest = first.oldest_seconds.expect("it was seen twice");
    let expected = seen.uptime - 0.5..=seen.uptime;
    assert!(expected.contains(&oldest), "{oldest} not in {expected:?}");
    // An alert begins after 2 s.
    let alerts: Vec<_> = seen.alerts.iter().map(|alert| &*alert.probe).collect();
    if seen.uptime > 3.0 {
        assert_eq!(alerts, ["longest"]);
    }
}

#[test]
fn the_slow_one_is_found_with_its_time_and_its_mailbox() {
    let world = ByHand::new();
    let system = System::builder().world(world.clone());
    let system = system.workers(1).probes(true).start().expect("threads");
    let mut sampler = Sampler::new(Settings {
        window: Duration::from_secs(1),
        ..Settings::default()
    })
    .expect("valid settings");
    sampler.watch(system.handle());
    let ((told, began), (leave, may_end)) = (mpsc::channel(), mpsc::channel());
    let slow = system.actor(OrderBook(Some((told, may_end))));
    let slow = slow.named("AAPL").spawn().expect("the name is free");
    let quick = |_| {
        system
            .spawn(OrderBook(None))
            .expect("the system is running")
    };
    let quick: Vec<_> = (1..ACTORS).map(quick).collect();
    (0..MESSAGES).for_each(|_| slow.send(0).expect("it is alive"));
    let mut uptime = Duration::ZERO;
    for turn in 0..120 {
        began.recv().expect("its turn begins");
        world.advance(TURN);
        uptime += TURN;
        if turn % 3 == 2 {
            let moment = Moment {
                uptime,
                unix_ms: uptime.as_millis() as u64,
            };
            let (seen, _) = sampler.tick(moment);
            if uptime > Duration::from_secs(2) {
                check(&seen, turn + 1);
            }
        }
        for actor in 0..20 {
            let actor = (turn as usize * 20 + actor) * 7 % quick.len();
            quick[actor].send(0).expect("it is alive");
        }
        leave.send(()).expect("it waits for that");
    }
    drop((began, leave));
}
