//! Durable registers on a simulated disk whose node crashes at any moment. Clients on another node
//! read and write them. The history of their calls must be linearizable: what a client has seen is
//! never lost, and no call takes effect twice.

mod client;
mod register;

mod shop;

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Address, Handle};
use garrick_journal::{DurableActor, Journal, JournalError};
use garrick_sim::history::models::key_value::KeyValue;
use garrick_sim::{Check, DiskRule, Sim};

use client::{Crowd, Heard};
use register::Register;

/// Number of seeds of each check. More are checked if the environment variable
/// `GARRICK_JOURNAL_SEEDS` is set.
const SEEDS: u64 = 200;

/// Number of clients.
const CLIENTS: u64 = 3;

/// Number of restarts of an entity that its supervisor allows.
const RESTARTS_MAX: usize = 1_000;

/// Adds faults to a disk.
type Rule = fn(DiskRule<'_>) -> DiskRule<'_>;

type Program = fn(&mut Sim, Rule);

/// Checks a program on a disk with the faults that `rule` adds.
#[track_caller]
fn check(name: &str, program: Program, rule: Rule) {
    let seeds = std::env::var("GARRICK_JOURNAL_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().expect("it is a number"));
    let checked = Check::new(name).seeds(seeds).run(|sim| program(sim, rule));
    match checked {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

/// The entities of a node, until the node crashes.
struct Running<const N: usize, M: 'static> {
    _tree: Tree,
    keys: [Address<M>; N],
}

/// Starts the entities of a node. `make` returns the actor with a name.
fn start<const N: usize, A: DurableActor>(
    node: &Handle,
    files: Arc<dyn Files>,
    names: [&'static str; N],
    is_pipelined: bool,
    make: impl Fn(&str) -> A + Clone + Send + 'static,
) -> Result<Running<N, A::Msg>, JournalError> {
    let (journal, _) = Journal::open_files(node, files)?;
    let tree = Supervisor::new("entities", Strategy::OneForOne)
        .intensity(RESTARTS_MAX, Duration::from_secs(1))
        .spawn(node)
        .unwrap();
    let spawn = |name: &'static str| -> Address<A::Msg> {
        let (journal, make) = (journal.clone(), make.clone());
        let entity = move || {
            let entity = journal.entity(name, make(name)).unwrap();
            if is_pipelined {
                entity.pipelined()
            } else {
                entity
            }
        };
        node.actor(entity)
            .named(name)
            .supervised_by(&tree)
            .spawn()
            .unwrap()
    };
    let keys = names.map(spawn);
    Ok(Running { _tree: tree, keys })
}

/// Registers, and clients that call them.
fn registers(sim: &mut Sim, rule: Rule) {
    run_registers(sim, rule, false);
}

/// Registers that decide ahead, and one actor that calls them for all clients.
fn pipelined_registers(sim: &mut Sim, rule: Rule) {
    run_registers(sim, rule, true);
}

fn run_registers(sim: &mut Sim, rule: Rule, is_pipelined: bool) {
    let files: Arc<dyn Files> = Arc::new(sim.disk("n"));
    rule(sim.disks().all());
    sim.allow_failures();
    let seed = sim.seed();
    let clients = sim.node("clients");
    let (crowds, clients_of_each) = if is_pipelined {
        (1, 2 * CLIENTS)
    } else {
        (CLIENTS, 1)
    };
    let crowd = |number| {
        let first = number * clients_of_each;
        let crowd = Crowd::new(first..first + clients_of_each, seed);
        clients.spawn(crowd).unwrap()
    };
    let clients: Vec<Address<Heard>> = (0..crowds).map(crowd).collect();
    let mut running = None;
    sim.restarting("n", move |node| {
        // The tasks of the node that has crashed are gone.
        drop(running.take());
        let (files, names) = (Arc::clone(&files), ["a", "b"]);
        let make = move |_: &str| Register {
            panics: is_pipelined,
        };
        running = start(node.handle(), files, names, is_pipelined, make).ok();
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
    check("entities", registers, |rule| rule);
}

#[test]
fn a_crash_within_an_operation_of_the_disk_loses_nothing_that_was_seen() {
    check("entities within operations", registers, |rule| {
        rule.crashes(20)
    });
}

#[test]
fn writes_that_are_torn_or_reordered_lose_nothing_that_was_seen() {
    check("entities torn", registers, |rule| {
        rule.crashes(20).tears().reorders()
    });
}

#[test]
fn syncs_that_fail_lose_nothing_that_was_seen() {
    check("entities failing", registers, |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn a_full_disk_loses_nothing_that_was_seen() {
    check("entities full", registers, |rule| {
        rule.crashes(10).full(600)
    });
}

#[test]
fn registers_that_decide_ahead_lose_nothing_that_was_seen() {
    check("pipelined", pipelined_registers, |rule| rule);
}

#[test]
fn registers_that_decide_ahead_lose_nothing_on_a_failing_disk() {
    check("pipelined failing", pipelined_registers, |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn effects_and_reminders_take_place_once_in_spite_of_crashes() {
    check("effects", shop::program, |rule| rule.crashes(10));
}

#[test]
fn effects_and_reminders_take_place_once_in_spite_of_failing_disks() {
    check("effects failing", shop::program, |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn effects_of_an_actor_that_decides_ahead_take_place_once() {
    check("pipelined effects", shop::pipelined_program, |rule| {
        rule.crashes(10).fails(20)
    });
}
