//! Routers whose routees are on many nodes, with real threads.
#![forbid(unsafe_code)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use common::Cluster;
use garrick_actor::naming::Key;
use garrick_actor::route::{Policy, Random, RoundRobin, Router};
use garrick_actor::{Actor, Address, Context, NoReply, Reply, System};
use garrick_cluster::{Carrier, Entities, Node, Receptionist, SameOnAllNodes, ServiceError, Wire};
use garrick_testkit::HANGS_AFTER;

/// A message to a desk, with a key. The desk returns its name.
#[derive(Wire)]
#[wire(name = "test.Visit", context = Carrier)]
struct Visit(String, Reply<String>);

const DESKS: Key<Visit> = Key::new("desks");

struct Desk(String);

impl Actor for Desk {
    type Msg = Visit;
    type Outcome = ();

    fn receive(&mut self, Visit(_, reply): Visit, _: &mut Context<'_, Visit>) {
        reply.send(self.0.clone());
    }
}

/// A node that has its own system.
struct Place {
    system: System,
    node: Node,
    entities: Entities,
    receptionist: Receptionist,
}

impl Cluster {
    fn place(&self, name: &str) -> Place {
        let (system, node, entities) = self.join(name);
        let receptionist = entities.receptionist().unwrap();
        Place {
            system,
            node,
            entities,
            receptionist,
        }
    }
}

impl Place {
    /// Lists `count` desks. Their names begin with the name of the node.
    fn serve(&self, count: usize) -> Vec<Address<Visit>> {
        let desks = (0..count).map(|number| {
            let name = format!("{}-{number}", self.node.name());
            let desk = self.system.spawn(Desk(name)).unwrap();
            self.receptionist.serve(&DESKS, &desk).wait().unwrap();
            desk
        });
        desks.collect()
    }

    /// Returns a router after it knows `desks` desks.
    fn router(&self, policy: impl Policy<Visit>, desks: usize) -> Router<Visit> {
        let router = Router::spawn(&self.system.handle(), policy).unwrap();
        self.receptionist.route(&DESKS, &router).wait().unwrap();
        knows(&router, desks);
        router
    }
}

/// Waits until `holds` returns true.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < HANGS_AFTER, "not seen: {what}");
        thread::yield_now();
    }
}

/// Waits until a router knows `desks` desks.
fn knows(router: &Router<Visit>, desks: usize) {
    until("desks", || {
        router.status().wait().unwrap().routees.len() == desks
    });
}

fn visit(router: &Router<Visit>, key: &str) -> Result<String, NoReply> {
    router.ask(|reply| Visit(key.into(), reply)).wait()
}

#[test]
fn messages_go_round_all_nodes() {
    let cluster = Cluster::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| cluster.place(name));
    one.serve(1);
    two.serve(2);
    let router = three.router(RoundRobin::new(), 3);
    let visited = |count: usize| {
        let visits = (0..count).map(|_| visit(&router, "").unwrap());
        visits.collect::<BTreeSet<_>>()
    };
    assert_eq!(visited(3).len(), 3, "each once");
    // One comes, and a node leaves.
    three.serve(1);
    knows(&router, 4);
    assert!(visited(4).contains("three-0"));
    two.entities.leave();
    knows(&router, 2);
    assert_eq!(
        visited(2),
        BTreeSet::from(["one-0".to_owned(), "three-0".to_owned()])
    );
    one.entities.leave();
    knows(&router, 1);
    assert_eq!(router.status().wait().unwrap().undelivered, 0);
}

#[test]
fn a_random_policy_reaches_all_nodes() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.serve(1);
    two.serve(1);
    let router = one.router(Random::seeded(7), 2);
    let visited: BTreeSet<_> = (0..64).map(|_| visit(&router, "").unwrap()).collect();
    assert_eq!(visited.len(), 2);
}

#[test]
fn a_key_leads_to_the_same_actor_from_each_node() {
    let cluster = Cluster::new();
    let places = ["one", "two", "three"].map(|name| cluster.place(name));
    // The routers hear of the desks in different orders.
    let policy = || SameOnAllNodes::new(|Visit(key, _): &Visit| key.clone());
    let early = places[2].router(policy(), 0);
    for place in &places {
        place.serve(2);
    }
    let routers = [
        places[0].router(policy(), 6),
        places[1].router(policy(), 6),
        early,
    ];
    knows(&routers[2], 6);
    let keys: Vec<String> = (0..120).map(|number| format!("key-{number}")).collect();
    let desks_of = |router: &Router<Visit>| -> Vec<String> {
        keys.iter().map(|key| visit(router, key).unwrap()).collect()
    };
    let before = desks_of(&routers[0]);
    assert_eq!(desks_of(&routers[1]), before);
    assert_eq!(desks_of(&routers[2]), before);
    let mut shares: BTreeMap<&str, u32> = BTreeMap::new();
    for desk in &before {
        *shares.entry(desk).or_default() += 1;
    }
    assert_eq!(shares.len(), 6);
    assert!(
        shares.values().all(|share| (8..=36).contains(share)),
        "{shares:?}"
    );
    // Only the keys of a node that leaves move.
    places[1].entities.leave();
    knows(&routers[0], 4);
    knows(&routers[2], 4);
    let after = desks_of(&routers[0]);
    assert_eq!(desks_of(&routers[2]), after);
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after || before.starts_with("two") && !after.starts_with("two"));
    }
}

#[test]
fn a_key_leads_to_the_same_place_after_a_node_has_started_again() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.serve(2);
    two.serve(2);
    let policy = || SameOnAllNodes::new(|Visit(key, _): &Visit| key.clone());
    let router = one.router(policy(), 4);
    let keys: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let desks = || -> Vec<String> {
        keys.iter()
            .map(|key| visit(&router, key).unwrap())
            .collect()
    };
    let before = desks();
    two.entities.leave();
    two.node.leave();
    two.system.shutdown();
    knows(&router, 2);
    let two = cluster.place("two");
    two.serve(2);
    knows(&router, 4);
    assert_eq!(desks(), before);
}

#[test]
fn a_router_that_follows_no_longer_ends_with_its_last_handle() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    one.serve(1);
    let alive = Arc::new(());
    let of_policy = alive.clone();
    let policy = SameOnAllNodes::new(move |_: &Visit| Arc::strong_count(&of_policy));
    let router = Router::spawn(&one.system.handle(), policy).unwrap();
    let follower = one.receptionist.route(&DESKS, &router).wait().unwrap();
    knows(&router, 1);
    let unsubscribed = one.receptionist.unsubscribe(&DESKS, &follower);
    unsubscribed.wait().unwrap();
    // The router learns of no further desks.
    one.serve(1);
    assert_eq!(one.receptionist.find(&DESKS).wait().unwrap().len(), 2);
    assert_eq!(router.status().wait().unwrap().routees.len(), 1);
    drop((router, follower));
    until("the end of the router", || Arc::strong_count(&alive) == 1);
}

#[test]
fn a_router_that_cannot_follow_is_told() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let router = Router::spawn(&one.system.handle(), RoundRobin::new()).unwrap();
    let refused = one.receptionist.route(&Key::new("a b"), &router).wait();
    let name = "a b".to_owned();
    assert_eq!(refused, Err(ServiceError::Key { name }));
    assert_eq!(visit(&router, ""), Err(NoReply::Dropped));
    assert_eq!(router.status().wait().unwrap().undelivered, 1);
}
