//! Tests that telemetry shows failures, restarts, trees and dead letters correctly.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{anywhere, get, start};
use garrick_actor::supervise::{Decision, Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, Local, Next, System, behavior};
use garrick_telemetry::{
    ChildStatus, Effect, IntoSource, Level, Moment, Node, Sampler, Settings, Snapshot, metrics_text,
};
use garrick_testkit::{ByHand, fail, silence_panics};

#[derive(Clone, Copy)]
enum Do {
    Work,
    Panic,
    Fail,
    Stop,
}

struct Teller;

impl Actor for Teller {
    type Msg = Do;
    type Outcome = Next;

    fn receive(&mut self, what: Do, cx: &mut Context<'_, Do>) -> Next {
        match what {
            Do::Work => Next::Continue,
            Do::Panic => fail(),
            Do::Fail => cx.fail("no money"),
            Do::Stop => Next::Stop,
        }
    }
}

/// A sponsor on the test's thread and a sampler. The test sets the clocks of both.
struct Bank {
    world: Arc<ByHand>,
    local: Local,
    sampler: Sampler,
    uptime: Duration,
}

impl Bank {
    fn new() -> Self {
        silence_panics();
        let world = ByHand::new();
        let builder = System::builder().name("shop").probes(true);
        let local = builder.world(world.clone()).on_failure(|_| ()).local();
        let local = local.expect("a worker");
        let mut sampler = Sampler::new(Settings::default()).expect("valid settings");
        sampler.watch(local.handle().into_source());
        Self {
            world,
            local,
            sampler,
            uptime: Duration::ZERO,
        }
    }

    fn tree(&self) -> garrick_actor::supervise::Tree {
        let tree = Supervisor::new("bank", Strategy::OneForOne);
        let tree = tree.intensity(1000, Duration::from_secs(3600));
        tree.spawn(&self.local.handle()).expect("a tree")
    }

    fn tell(&self, teller: &Address<Do>, what: Do) {
        teller.send(what).expect("the teller lives");
        (0..16).for_each(|_| self.local.run());
    }

    /// Advances the clocks of the sponsor and of the sampler, and takes a snapshot.
    fn look(&mut self, after: Duration) -> Snapshot {
        self.world.advance(after);
        self.local.run();
        self.uptime += after;
        let unix_ms = 1_000_000 + self.uptime.as_millis() as u64;
        let moment = Moment {
            uptime: self.uptime,
            unix_ms,
        };
        self.sampler.tick(moment).0
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn tellers(snapshot: &Snapshot) -> &Node {
    let mut nodes = snapshot.nodes.iter();
    nodes.find(|node| node.name == "Teller").expect("tellers")
}

#[test]
fn three_errors_of_a_supervised_actor_are_three_restarts_everywhere() {
    let mut bank = Bank::new();
    let tree = bank.tree();
    let teller = bank.local.actor(|| Teller).named("teller");
    let teller = teller.supervised_by(&tree).spawn().expect("a child");
    bank.look(SECOND);
    for _ in 0..3 {
        bank.tell(&teller, Do::Fail);
    }
    let seen = bank.look(SECOND);
    let node = tellers(&seen);
    assert_eq!((node.restarts, node.failures, node.lost), (3, 3, 0));
    assert_eq!(node.restarts_of_one, 3);
    let [newest, ..] = &seen.recent_failures[..] else {
        panic!("there are failures");
    };
    assert_eq!(seen.recent_failures.len(), 3);
    assert_eq!((newest.effect, newest.restarts), (Effect::Restarted, 3));
    assert_eq!((&*newest.name, &*newest.reason), ("Teller", "no money"));
    // The clock stood at 1 s when it failed, and stands at 2 s now.
    assert_eq!((&*newest.place, newest.unix_ms), ("shop", 1_001_000));
    let sum = &seen.supervision;
    let found = (sum.supervisors, sum.children, sum.down, sum.restarts);
    assert_eq!(found, (1, 1, 0, 3));
    assert_eq!(sum.restarted[0].restarts, 3);
    let tree = &bank.sampler.trees().trees[0];
    let child = &tree.children[0];
    let found = (&*child.name, &*child.kind, child.state, child.restarts);
    assert_eq!(found, ("teller", "Teller", ChildStatus::Running, 3));
    assert_eq!(child.path, sum.restarted[0].path);
    let last = child.last_failure.as_ref().expect("a failure");
    assert_eq!((&*last.reason, last.unix_ms), ("no money", 1_001_000));
    assert!(seen.alerts.is_empty(), "three restarts are no crash loop");
}

#[test]
fn six_of_ten_actors_without_a_supervisor_fail_and_that_is_an_alert() {
    let mut bank = Bank::new();
    let tellers_of = (0..10).map(|_| bank.local.spawn(Teller));
    let all: Vec<_> = tellers_of.collect();
    all.iter().for_each(|teller| bank.tell(teller, Do::Work));
    bank.look(SECOND);
    for teller in &all[..3] {
        bank.tell(teller, Do::Fail);
    }
    for teller in &all[3..6] {
        bank.tell(teller, Do::Panic);
    }
    let seen = bank.look(SECOND);
    let node = tellers(&seen);
    assert_eq!((node.failures, node.lost, node.alive), (6, 6, Some(4)));
    assert_eq!(node.level, Level::Warning);
    assert_eq!(seen.alerts.len(), 1);
    let alert = &seen.alerts[0];
    assert_eq!((&*alert.on, &*alert.probe), (&*node.id, "lost"));
    let text = "6 actors of Teller failed and were not restarted.";
    assert_eq!(alert.text, text);
    // The window is 10 s long.
    assert_eq!(bank.look(8 * SECOND).alerts.len(), 1);
    let seen = bank.look(2 * SECOND);
    assert!(seen.alerts.is_empty());
    assert_eq!((tellers(&seen).failures, tellers(&seen).lost), (6, 0));
}

#[test]
fn a_crash_loop_of_one_actor_is_critical_but_five_actors_that_restart_are_not() {
    let mut bank = Bank::new();
    let tree = bank.tree();
    let child = || {
        let child = bank.local.actor(|| Teller).supervised_by(&tree).spawn();
        child.expect("a child")
    };
    let all: Vec<_> = (0..5).map(|_| child()).collect();
    bank.look(SECOND);
    all.iter().for_each(|teller| bank.tell(teller, Do::Fail));
    let seen = bank.look(SECOND);
    assert_eq!(tellers(&seen).restarts, 5);
    assert!(seen.alerts.is_empty());
    for _ in 0..4 {
        bank.tell(&all[0], Do::Panic);
    }
    let seen = bank.look(SECOND);
    let alert = &seen.alerts[0];
    assert_eq!(
        (alert.level, &*alert.probe),
        (Level::Critical, "restarts_of_one")
    );
    let text = "An actor of Teller keeps failing: it was restarted 5 times.";
    assert_eq!(alert.text, text);
}

#[test]
fn failures_long_before_the_telemetry_are_listed_and_cause_no_alert() {
    let mut bank = Bank::new();
    let tree = bank.tree();
    let teller = bank.local.actor(|| Teller).named("teller");
    let teller = teller.supervised_by(&tree).spawn().expect("a child");
    (0..9).for_each(|_| bank.tell(&teller, Do::Fail));
    let lost = bank.local.spawn(Teller);
    bank.tell(&lost, Do::Fail);
    bank.world.advance(3600 * SECOND);
    let also_lost = bank.local.spawn(Teller);
    bank.tell(&also_lost, Do::Fail);
    let seen = bank.look(SECOND);
    assert_eq!(seen.recent_failures.len(), 11);
    // One actor has failed within the window, before the first look.
    let node = tellers(&seen);
    assert_eq!((node.lost, node.restarts_of_one), (1, 0));
    assert_eq!(seen.alerts.len(), 1, "{:?}", seen.alerts);
}

#[test]
fn a_supervisor_that_gives_up_is_an_alert_of_its_sponsor() {
    let mut bank = Bank::new();
    let tree = Supervisor::new("bank", Strategy::OneForOne).intensity(0, SECOND);
    let tree = tree.spawn(&bank.local.handle()).expect("a tree");
    let teller = bank.local.actor(|| Teller).named("teller");
    let teller = teller.supervised_by(&tree).spawn().expect("a child");
    bank.look(SECOND);
    bank.tell(&teller, Do::Fail);
    let seen = bank.look(SECOND);
    assert_eq!((tellers(&seen).lost, seen.sponsors[0].lost), (1, 1));
    let texts: Vec<_> = seen.alerts.iter().map(|alert| &*alert.text).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts.contains(&"1 actor of shop failed and was not restarted."));
    let tree = &bank.sampler.trees().trees[0];
    assert_eq!(tree.state, ChildStatus::GivenUp);
    assert_eq!(tree.given_up[0].name, "teller");
    let effects: Vec<_> = seen.recent_failures.iter().map(|f| f.effect).collect();
    assert_eq!(effects, [Effect::Stopped, Effect::GivenUp]);
}

#[test]
fn dead_letters_are_exported_by_type_and_reason() {
    let mut bank = Bank::new();
    let stops = bank.local.spawn(Teller);
    for what in [Do::Stop, Do::Work, Do::Work] {
        stops.send(what).expect("the teller lives");
    }
    let fails = bank.local.spawn(Teller);
    for what in [Do::Panic, Do::Work] {
        fails.send(what).expect("the teller lives");
    }
    let seen = bank.look(SECOND);
    let found = seen.dead_letters.iter();
    let found: Vec<_> = found
        .map(|letters| (&*letters.name, &*letters.reason, letters.count))
        .collect();
    assert_eq!(found, [("Teller", "stopped", 2), ("Teller", "failed", 1)]);
    assert_eq!(seen.sponsors[0].dead_letters, 3);
}

#[test]
fn dead_letters_of_systems_with_one_name_are_counted_separately() {
    let (mut bank, other) = (Bank::new(), Bank::new());
    let id = bank.sampler.watch(other.local.handle().into_source());
    for (local, letters) in [(&bank.local, 2), (&other.local, 5)] {
        let stops = local.spawn(Teller);
        stops.send(Do::Stop).expect("the teller lives");
        (0..letters).for_each(|_| stops.send(Do::Work).expect("the teller lives"));
        local.run();
    }
    let exported = |seen: &Snapshot| {
        let text = metrics_text(seen, "").text;
        let lines = text.lines();
        let lines = lines.filter(|line| line.starts_with("garrick_dead_letters_total{"));
        let values = lines.map(|line| {
            let (labels, value) = line.split_once("} ").expect("a sample");
            let (_, place) = labels.split_once("place=\"").expect("a place");
            let (place, _) = place.split_once('"').expect("the end of a label");
            (place.to_owned(), value.to_owned())
        });
        values.collect::<Vec<_>>()
    };
    let of = |place: &str, count: &str| (place.to_owned(), count.to_owned());
    let seen = bank.look(SECOND);
    assert_eq!(exported(&seen), [of("shop", "2"), of("shop#2", "5")]);
    let labels: Vec<_> = seen
        .sponsors
        .iter()
        .map(|sponsor| &*sponsor.label)
        .collect();
    assert_eq!(labels, ["shop", "shop#2"]);
    bank.sampler.forget(id);
    assert_eq!(exported(&bank.look(SECOND)), [of("shop", "2")]);
}

#[test]
fn a_child_that_waits_or_is_removed_shows_it() {
    let mut bank = Bank::new();
    let tree = bank.tree();
    let backoff = garrick_actor::supervise::Backoff::exponential(SECOND, SECOND);
    let waits = bank.local.actor(|| Teller).named("waits");
    let waits = waits.supervised_by(&tree).backoff(backoff).spawn();
    let waits = waits.expect("a child");
    let leaves = bank.local.actor(|| Teller).named("leaves");
    let leaves = leaves.supervised_by(&tree).decide(|_| Decision::Stop);
    let leaves = leaves.spawn().expect("a child");
    bank.look(SECOND);
    let before = bank.look(SECOND).supervision;
    assert_eq!((before.children, before.down), (2, 0));
    bank.tell(&waits, Do::Fail);
    bank.tell(&leaves, Do::Fail);
    let after = bank.look(Duration::from_millis(1)).supervision;
    assert_eq!((after.children, after.down), (1, 1));
    assert!(after.changes > before.changes);
    let root = &bank.sampler.trees().trees[0];
    assert_eq!(root.children[0].state, ChildStatus::Restarting);
    assert_eq!(root.given_up[0].state, ChildStatus::GivenUp);
    let calm = bank.look(2 * SECOND).supervision;
    assert_eq!(calm.down, 0);
    assert_eq!(bank.look(SECOND).supervision.changes, calm.changes);
}

#[test]
fn everything_about_a_source_is_forgotten_with_it() {
    let mut bank = Bank::new();
    let tree = bank.tree();
    let teller = bank.local.actor(|| Teller).supervised_by(&tree).spawn();
    bank.tell(&teller.expect("a child"), Do::Fail);
    let id = bank.sampler.watch(bank.local.handle().into_source());
    let seen = bank.look(SECOND);
    assert_eq!(
        (seen.recent_failures.len(), seen.supervision.supervisors),
        (2, 2)
    );
    bank.sampler.forget(id);
    let seen = bank.look(SECOND);
    assert_eq!(
        (seen.recent_failures.len(), seen.supervision.supervisors),
        (1, 1)
    );
}

#[test]
fn the_server_has_all_failures_the_trees_and_the_counters() {
    let bank = Bank::new();
    let tree = bank.tree();
    let teller = bank.local.actor(|| Teller).named("teller");
    let teller = teller.supervised_by(&tree).spawn().expect("a child");
    (0..40).for_each(|_| bank.tell(&teller, Do::Fail));
    let stops = bank.local.spawn(behavior(|(): (), _| Next::Stop));
    let twice = bank.local.spawn(behavior(move |(): (), cx| {
        let _ = cx.send(&stops, ()).and(cx.send(&stops, ()));
    }));
    twice.send(()).expect("it lives");
    drop(tree.stop());
    (0..16).for_each(|_| bank.local.run());
    let telemetry = start(anywhere());
    telemetry.watch(bank.local.handle());
    let again = Supervisor::new("next", Strategy::OneForAll);
    let again = again.spawn(&bank.local.handle()).expect("a tree");
    let child = bank.local.actor(|| Teller).named("<b>bold");
    let child = child.supervised_by(&again).spawn().expect("a child");
    bank.tell(&child, Do::Fail);
    telemetry.look();
    let address = telemetry.address();
    let failures = get(address, "/failures.json").json();
    let failures = failures["failures"].as_array().expect("a list");
    assert_eq!(failures.len(), 41);
    assert_eq!(failures[0]["effect"], "restarted");
    assert_eq!(telemetry.latest().recent_failures.len(), 32);
    let trees = get(address, "/tree.json").json();
    assert_eq!(trees["trees"][0]["name"], "next");
    assert_eq!(trees["trees"][0]["strategy"], "one for all");
    assert_eq!(trees["trees"][0]["children"][0]["name"], "<b>bold");
    let metrics = get(address, "/metrics");
    let lines: Vec<&str> = metrics.text().lines().collect();
    let letters = lines
        .iter()
        .find(|line| line.starts_with("garrick_dead_letters_total{"))
        .expect("a counter");
    assert!(
        letters.contains("reason=\"stopped\"") && letters.ends_with("} 1"),
        "{letters}"
    );
    let restarts = lines
        .iter()
        .find(|line| line.starts_with("garrick_child_restarts_total{"))
        .expect("a counter");
    assert!(
        restarts.contains("/next#") && restarts.ends_with("} 1"),
        "{restarts}"
    );
}
