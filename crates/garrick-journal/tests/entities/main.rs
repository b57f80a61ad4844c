//! Durable registers on a simulated disk whose node crashes at any moment. Clients on another node
//! read and write them. The history of their calls must be linearizable: what a client has seen is
//! never lost, and no call takes effect twice.

mod client;
mod register;

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Address, Handle};
use garrick_journal::{Journal, JournalError};
use garrick_sim::history::models::key_value::KeyValue;
use garrick_sim::{Check, DiskRule, Sim};

use client::{Client, Heard, Keys};
use register::{Command, Register};

/// Number of seeds of each check. More are checked if the environment variable
/// `GARRICK_JOURNAL_SEEDS` is set.
const SEEDS: u64 = 200;

/// Number of clients.
const CLIENTS: u64 = 3;

/// Number of restarts of an entity that its supervisor allows.
const RESTARTS_MAX: usize = 1_000;

/// Checks the registers on a disk with the faults that `rule` adds.
#[track_caller]
fn check(name: &str, rule: fn(DiskRule<'_>) -> DiskRule<'_>) {
    let seeds = std::env::var("GARRICK_JOURNAL_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().expect("it is a number"));
    let checked = Check::new(name).seeds(seeds).run(|sim| program(sim, rule));
    match checked {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

/// The entities of a node, until the node crashes.
struct Running {
    _tree: Tree,
    keys: Keys,
}

/// Starts the entities of a node.
fn start(node: &Handle, files: Arc<dyn Files>) -> Result<Running, JournalError> {
    let (journal, _) = Journal::open_files(node, files)?;
    let tree = Supervisor::new("registers", Strategy::OneForOne)
        .intensity(RESTARTS_MAX, Duration::from_secs(1))
        .spawn(node)
        .unwrap();
    let spawn = |name: &'static str| -> Address<Command> {
        let journal = journal.clone();
        node.actor(move || journal.entity(name, Register).unwrap())
            .named(name)
            .supervised_by(&tree)
            .spawn()
            .unwrap()
    };
    let keys = ["a", "b"].map(spawn);
    Ok(Running { _tree: tree, keys })
}

fn program(sim: &mut Sim, rule: fn(DiskRule<'_>) -> DiskRule<'_>) {
    let files: Arc<dyn Files> = Arc::new(sim.disk("n"));
    rule(sim.disks().all());
    sim.allow_failures();
    let seed = sim.seed();
    let clients = sim.node("clients");
    let client = |number| clients.spawn(Client::new(number, seed)).unwrap();
    let clients: Vec<Address<Heard>> = (0..CLIENTS).map(client).collect();
    let mut running = None;
    sim.restarting("n", move |node| {
        // The tasks of the node that has crashed are gone.
        drop(running.take());
        running = start(node.handle(), Arc::clone(&files)).ok();
        if let Some(running) = &running {
            for client in &clients {
                client.send(Heard::Started(running.keys.clone())).unwrap();
            }
        }
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("n", 3, after);
    sim.faults().turn_fails::<Register>(20);
    sim.linearizable(KeyValue::<&'static str, u64>::new());
}

#[test]
fn a_crash_loses_nothing_that_was_seen() {
    check("entities", |rule| rule);
}

#[test]
fn a_crash_within_an_operation_of_the_disk_loses_nothing_that_was_seen() {
    check("entities within operations", |rule| rule.crashes(20));
}

#[test]
fn writes_that_are_torn_or_reordered_lose_nothing_that_was_seen() {
    check("entities torn", |rule| rule.crashes(20).tears().reorders());
}

#[test]
fn syncs_that_fail_lose_nothing_that_was_seen() {
    check("entities failing", |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn a_full_disk_loses_nothing_that_was_seen() {
    check("entities full", |rule| rule.crashes(10).full(600));
}
