//! The directory and the topics watch actors only as long as their entries need it. Watches that
//! are cancelled do not pile up, for each kind of address.
#![forbid(unsafe_code)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use garrick_actor::naming::Key;
use garrick_actor::{Actor, Address, Context, Local, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, Kind, KindOptions, LocalNet, NameError, Node, Wire};
use garrick_testkit::{ByHand, ms, notices_kept};

#[derive(Wire, Clone)]
#[wire(name = "test.Job")]
struct Job(u64);

const JOBS: Key<Job> = Key::new("jobs");

struct Idle;

impl Actor for Idle {
    type Msg = Job;
    type Outcome = ();

    fn receive(&mut self, Job(_): Job, _: &mut Context<'_, Job>) {}
}

/// Number of entries that are added for an actor and removed again.
const CYCLES: u64 = 100;

/// Maximum number of turns after the end of an actor. With a watch for each removed entry, each of
/// them would cause a turn.
const TURNS_MAX: u64 = 30;

/// Number of watches that are cancelled.
const WATCHES: usize = 1_000;

/// Maximum number of cancelled watches that are kept.
const KEPT_MAX: usize = 130;

const COUNTER: Kind<Job> = Kind::new("counter");

/// Two members of a cluster on one thread.
struct Place {
    clock: Arc<ByHand>,
    local: Local,
    nodes: [Node; 2],
    members: [Entities; 2],
}

impl Place {
    fn new() -> Self {
        let clock = ByHand::new();
        let local = System::builder().world(clock.clone()).local().unwrap();
        let (handle, net) = (local.handle(), LocalNet::new());
        let placement = LocalPlacement::new(&handle).unwrap();
        let nodes =
            ["one", "two"].map(|name| Node::join(&handle, net.clone(), "test", name).unwrap());
        let members = nodes
            .each_ref()
            .map(|node| Entities::start(node, placement.clone()).unwrap());
        let place = Self {
            clock,
            local,
            nodes,
            members,
        };
        place.pass();
        place
    }

    /// Lets some seconds pass.
    fn pass(&self) {
        for _ in 0..6 {
            self.clock.advance(ms(500));
            self.local.run();
        }
    }

    /// Runs the nodes until all messages are handled, and returns the output of a future.
    fn get<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        for _ in 0..10 {
            self.local.run();
            let mut context = task::Context::from_waker(Waker::noop());
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                self.local.run();
                return output;
            }
            self.clock.advance(ms(500));
        }
        panic!("the future does not end");
    }

    /// Watches an actor many times, and cancels each watch. Checks that the notices do not pile up.
    fn watch_and_cancel(&self, watched: &Address<Job>) {
        let kept = notices_kept(watched, WATCHES, || self.local.run());
        assert!(kept <= KEPT_MAX, "{kept} notices are kept");
    }

    /// Stops an actor, and returns the number of turns that follow.
    fn turns_after_end(&self, of: &Address<Job>) -> u64 {
        self.pass();
        let turns = || -> u64 {
            let sample = self.local.handle().sample();
            sample.workers.iter().map(|worker| worker.turns).sum()
        };
        let before = turns();
        of.stop();
        self.local.run();
        assert!(of.is_stopped());
        turns() - before
    }
}

#[test]
fn an_actor_that_was_registered_often_is_watched_once() {
    let place = Place::new();
    let registry = place.members[0].registry().unwrap();
    let idle = place.local.spawn(Idle);
    for _ in 0..CYCLES {
        place.get(registry.register("leader", &idle)).unwrap();
        place.get(registry.unregister("leader", &idle)).unwrap();
    }
    place.get(registry.register("leader", &idle)).unwrap();
    let turns = place.turns_after_end(&idle);
    assert!(turns <= TURNS_MAX, "{turns} turns");
    // The last registration is over, because its watch is not cancelled.
    let found = place.get(registry.lookup::<Job>("leader"));
    assert!(matches!(found, Err(NameError::Unknown { .. })));
}

#[test]
fn a_candidate_for_a_name_that_is_taken_is_not_watched() {
    let place = Place::new();
    let [holder, candidate] = [(); 2].map(|()| place.local.spawn(Idle));
    let [one, two] = place
        .members
        .each_ref()
        .map(|member| member.registry().unwrap());
    place.get(one.register("leader", &holder)).unwrap();
    for _ in 0..CYCLES {
        let taken = place.get(two.register("leader", &candidate));
        assert!(matches!(taken, Err(NameError::Taken { .. })));
    }
    let turns = place.turns_after_end(&candidate);
    assert!(turns <= TURNS_MAX, "{turns} turns");
    assert!(place.get(two.lookup::<Job>("leader")).is_ok());
}

#[test]
fn an_actor_that_was_served_often_is_watched_once() {
    let place = Place::new();
    let receptionist = place.members[0].receptionist().unwrap();
    let idle = place.local.spawn(Idle);
    for _ in 0..CYCLES {
        place.get(receptionist.serve(&JOBS, &idle)).unwrap();
        place.get(receptionist.withdraw(&JOBS, &idle)).unwrap();
    }
    place.get(receptionist.serve(&JOBS, &idle)).unwrap();
    let turns = place.turns_after_end(&idle);
    assert!(turns <= TURNS_MAX, "{turns} turns");
    assert!(place.get(receptionist.find(&JOBS)).unwrap().is_empty());
}

#[test]
fn an_actor_that_has_subscribed_often_is_watched_once() {
    let place = Place::new();
    let topic = place.members[0].topic::<Job>("jobs").unwrap();
    let idle = place.local.spawn(Idle);
    for _ in 0..CYCLES {
        place.get(topic.subscribe(&idle)).unwrap();
        place.get(topic.unsubscribe(&idle)).unwrap();
    }
    place.get(topic.subscribe(&idle)).unwrap();
    let turns = place.turns_after_end(&idle);
    assert!(turns <= TURNS_MAX, "{turns} turns");
    assert_eq!(topic.sample().subscribers, 0);
}

#[test]
fn cancelled_watches_of_an_own_service_do_not_pile_up() {
    let place = Place::new();
    let idle = place.local.spawn(Idle);
    place.nodes[0].offer("idle", &idle);
    place.watch_and_cancel(&place.nodes[0].service("one", "idle").unwrap());
}

#[test]
fn cancelled_watches_of_an_actor_that_is_served_do_not_pile_up() {
    let place = Place::new();
    let receptionist = place.members[0].receptionist().unwrap();
    let idle = place.local.spawn(Idle);
    place.get(receptionist.serve(&JOBS, &idle)).unwrap();
    let found = place.get(receptionist.find(&JOBS)).unwrap();
    place.watch_and_cancel(&found[0]);
}

#[test]
fn cancelled_watches_of_an_entity_do_not_pile_up() {
    let place = Place::new();
    let host = |members: &Entities| members.host(COUNTER, KindOptions::new(), |_| Idle);
    host(&place.members[0]).unwrap();
    place.watch_and_cancel(&place.members[0].get(COUNTER, "a").unwrap());
}

#[test]
fn cancelled_watches_of_an_actor_on_another_node_do_not_pile_up() {
    let place = Place::new();
    let idle = place.local.spawn(Idle);
    place.nodes[0].offer("idle", &idle);
    let far = place.nodes[1].service("one", "idle").unwrap();
    place.watch_and_cancel(&far);
    // The other node has dropped its notices, too.
    let turns = place.turns_after_end(&idle);
    assert!(turns <= TURNS_MAX + KEPT_MAX as u64, "{turns} turns");
}
