//! Tests of the kit for unit tests of actors.

use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, Incoming, NoReply, Reply, behavior};
use garrick_sim::testing::Kit;
use garrick_sim::{DiskEvent, DiskFault};

const SECOND: Duration = Duration::from_secs(1);

/// An actor that reports its start and all its messages to a probe.
struct Echo(Address<u32>);

impl Actor for Echo {
    type Msg = u32;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, u32>) {
        let _ = cx.send(&self.0, 0);
    }

    fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
        let _ = cx.send(&self.0, n);
    }
}

#[test]
fn messages_of_actors_come_in_the_order_in_which_they_were_sent() {
    let mut kit = Kit::new();
    let probe = kit.probe();
    let [one, other] = [(); 2].map(|()| kit.spawn(Echo(probe.address())).unwrap());
    kit.run();
    assert_eq!(probe.take(), [0, 0]);
    // A chain of messages, in which each actor sends to both.
    let (to_one, to_other) = (one.clone(), other.clone());
    let sender = kit.spawn(behavior(move |n: u32, cx| {
        let _ = (cx.send(&to_one, n), cx.send(&to_other, 10 * n));
    }));
    let sender = sender.unwrap();
    (1..4).for_each(|n| sender.send(n).unwrap());
    kit.run();
    assert_eq!(probe.take(), [1, 10, 2, 20, 3, 30]);
    probe.expect_nothing();
}

#[test]
fn a_timer_fires_at_its_deadline_and_not_before() {
    let mut kit = Kit::new();
    let probe = kit.probe();
    let to = probe.address();
    let sender = kit.spawn(behavior(move |after: Duration, cx| {
        let _ = cx.send_after(after, &to, cx.now());
    }));
    let sender = sender.unwrap();
    for after in [3 * SECOND, SECOND, Duration::from_nanos(1)] {
        sender.send(after).unwrap();
    }
    kit.run();
    assert_eq!(kit.next_timer(), Some(Duration::from_nanos(1)));
    kit.advance(Duration::from_nanos(1));
    assert_eq!(probe.take().len(), 1);
    kit.advance(SECOND - Duration::from_nanos(2));
    probe.expect_nothing();
    kit.advance(Duration::from_nanos(1));
    assert_eq!(probe.take().len(), 1);
    kit.advance(5 * SECOND);
    assert_eq!((probe.take().len(), kit.next_timer()), (1, None));
    assert_eq!(kit.now(), 6 * SECOND);
}

#[test]
fn periodic_timers_and_async_actors_run_on_the_clock() {
    let mut kit = Kit::new();
    let probe = kit.probe();
    let to = probe.address();
    let sleeper = kit.spawn(async move |mut naps: Incoming<u32>| {
        while let Some(nap) = naps.recv().await {
            naps.context().sleep(SECOND * nap).await;
            let _ = to.send(nap);
        }
    });
    let sleeper = sleeper.unwrap();
    (1..4).for_each(|nap| sleeper.send(nap).unwrap());
    kit.advance(3 * SECOND);
    assert_eq!(probe.take(), [1, 2]);
    kit.advance(3 * SECOND);
    assert_eq!(probe.take(), [3]);
}

#[test]
fn questions_are_answered() {
    let mut kit = Kit::new();
    let double = kit.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
        reply.send(2 * n);
    }));
    let ask = double.unwrap().ask(|reply| (21, reply));
    assert_eq!(kit.answer(ask), Ok(42));
    let drops = kit
        .spawn(behavior(|reply: Reply<u32>, _| drop(reply)))
        .unwrap();
    let ask = drops.ask(|reply| reply);
    assert_eq!(kit.answer(ask), Err(NoReply::Dropped));
}

#[test]
fn failures_and_restarts_are_seen() {
    let mut kit = Kit::new();
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .spawn(kit.handle())
        .unwrap();
    let probe = kit.probe();
    let to = probe.address();
    let fragile = kit
        .actor(move || Echo(to.clone()))
        .named("fragile")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    kit.run();
    assert_eq!(probe.take(), [0]);
    fragile.send(1).unwrap();
    kit.run();
    assert_eq!(probe.take(), [1]);
    let panics = kit
        .spawn(behavior(|(): (), _| panic!("on purpose")))
        .unwrap();
    panics.send(()).unwrap();
    kit.run();
    let failures = kit.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].message, "on purpose");
    assert!(kit.failures().is_empty());
}

#[test]
#[should_panic(expected = "no message of type u32 has come")]
fn a_message_that_does_not_come_is_an_error() {
    let mut kit = Kit::new();
    let probe = kit.probe::<u32>();
    kit.run();
    probe.expect();
}

#[test]
fn a_message_to_an_actor_that_has_stopped_is_left_out() {
    let mut kit = Kit::new();
    let probe = kit.probe();
    let to = probe.address();
    let once = kit.spawn(behavior(move |n: u32, cx| {
        let _ = cx.send(&to, n);
        garrick_actor::Next::Stop
    }));
    let once = once.unwrap();
    (1..4).for_each(|n| once.send(n).unwrap());
    kit.run();
    assert_eq!(probe.take(), [1]);
    assert!(once.is_stopped());
    assert_eq!(kit.handle().dead_letters(), 2);
}

/// An actor that appends numbers to a file, and syncs the file when it receives a zero.
fn appends(kit: &mut Kit) -> Address<u8> {
    let disk = kit.disk();
    let appends = behavior(move |n: u8, _| {
        let mut file = disk.open("numbers").unwrap();
        if n == 0 {
            file.sync().unwrap();
        } else if let Err(error) = file.append(&[n]) {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        }
    });
    kit.spawn(appends).unwrap()
}

#[test]
fn a_crash_ends_the_actors_and_loses_what_was_not_synced() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    disk.replace("numbers", &[]).unwrap();
    let before = appends(&mut kit);
    for n in [1, 2, 0, 3] {
        before.send(n).unwrap();
    }
    kit.run();
    assert_eq!(disk.read("numbers").unwrap(), [1, 2, 3]);
    kit.crash();
    assert!(before.is_stopped());
    assert_eq!(disk.read("numbers").unwrap(), [1, 2]);
    let after = appends(&mut kit);
    after.send(4).unwrap();
    kit.run();
    assert_eq!(disk.read("numbers").unwrap(), [1, 2, 4]);
    let lost = kit.facts(|facts| {
        facts
            .seen::<DiskFault>()
            .map(|fault| fault.what)
            .collect::<Vec<_>>()
    });
    assert_eq!(
        lost,
        [DiskEvent::Lost {
            bytes: 1,
            is_torn: false
        }]
    );
}

#[test]
fn a_disk_of_a_kit_has_rules() {
    let mut kit = Kit::new();
    kit.disks().all().full(2);
    let disk = kit.disk();
    disk.create("numbers").unwrap();
    let full = appends(&mut kit);
    (1..4).for_each(|n| full.send(n).unwrap());
    kit.run();
    assert_eq!(disk.read("numbers").unwrap(), [1, 2]);
    let faults = kit.facts(|facts| facts.seen::<DiskFault>().len());
    assert_eq!(faults, 1);
}
