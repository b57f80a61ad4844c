//! Entities in a simulation, on a disk whose node crashes at any moment, and clients on another
//! node.

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Address, Context};
use garrick_journal::Journal;
use garrick_sim::history::{Called, Returned};
use garrick_sim::{Check, DiskEvent, DiskFault, DiskRule, Facts, Restarted, Sim};
use garrick_testkit::seeds;

use crate::client::{Crowd, Heard, News, Sink};
use crate::node::start_first;
use crate::object::Object;

/// Number of seeds of each check in an optimized build. `GARRICK_JOURNAL_SEEDS` sets another
/// number.
const SEEDS: u64 = 1_000;

/// Number of entities.
const ENTITIES: usize = 2;

/// Number of clients, if the entities do not decide ahead.
const CLIENTS: u64 = 3;

/// Number of calls of a client.
const CALLS: u32 = 6;

/// A function that adds faults to a disk.
pub(crate) type Rule = fn(DiskRule<'_>) -> DiskRule<'_>;

pub(crate) type Program = fn(&mut Sim, Rule);

/// Checks a program on a disk with the faults that `rule` adds.
#[track_caller]
pub(crate) fn check(name: &str, program: Program, rule: Rule) {
    let seeds = seeds("GARRICK_JOURNAL_SEEDS", SEEDS);
    let checked = Check::new(name).seeds(seeds).run(|sim| program(sim, rule));
    match checked {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

/// A receiver of reports that records them as facts of the simulation.
struct Noted;

impl<O: Object> Sink<O> for Noted {
    fn tell(&self, client: u64, news: News<O>, cx: &Context<'_, Heard<O>>) {
        match news {
            News::Called(op) => cx.note(Called { client, op }),
            News::Returned(ret) => cx.note(Returned { client, ret }),
            News::Refused => {}
        }
    }

    fn finish(&self, cx: &Context<'_, Heard<O>>) {
        cx.note(Finished);
    }
}

/// A fact: a client has read all entities after its calls.
#[derive(Debug)]
struct Finished;

/// Returns the number of clients that have read all entities since the last crash.
fn finished(facts: &Facts) -> usize {
    let restarted = facts.placed::<Restarted>().next_back();
    let last = restarted.map_or(0, |(position, _)| position);
    let finished = facts.placed::<Finished>();
    finished.filter(|(position, _)| *position > last).count()
}

/// Returns true if an operation of a disk has returned an error.
fn has_failed(facts: &Facts) -> bool {
    use DiskEvent::{Failed, Full, SyncFailed};
    let is_error = |fault: &DiskFault| matches!(fault.what, Failed(_) | Full | SyncFailed { .. });
    facts.seen().any(is_error)
}

/// Runs entities, and clients that call them.
pub(crate) fn plain<O: Object>(sim: &mut Sim, rule: Rule) {
    program::<O>(sim, rule, CLIENTS, 1, false);
}

/// Runs entities that decide ahead and panic. One actor calls them for all clients.
pub(crate) fn pipelined<O: Object>(sim: &mut Sim, rule: Rule) {
    program::<O>(sim, rule, O::CLIENTS_AHEAD, O::CLIENTS_AHEAD as usize, true);
}

/// Runs entities, and actors that call them. Each actor makes the calls of several clients.
fn program<O: Object>(
    sim: &mut Sim,
    rule: Rule,
    clients: u64,
    clients_of_each: usize,
    is_pipelined: bool,
) {
    let files: Arc<dyn Files> = Arc::new(sim.disk("n"));
    rule(sim.disks().all());
    sim.allow_failures();
    let (seed, node) = (sim.seed(), sim.node("clients"));
    let crowds: Vec<Address<Heard<O>>> = (0..clients)
        .step_by(clients_of_each)
        .map(|first| {
            let numbers = first..first + clients_of_each as u64;
            let crowd = Crowd::<O, _>::new(numbers, seed, CALLS, Noted);
            node.spawn(crowd).unwrap()
        })
        .collect();
    let mut running = None;
    sim.restarting("n", move |node| {
        // The tasks of the node that has crashed are gone.
        drop(running.take());
        let Ok((journal, _)) = Journal::open_files(node.handle(), Arc::clone(&files)) else {
            return;
        };
        let started = start_first::<O>(
            node.handle(),
            &journal,
            ENTITIES,
            is_pipelined,
            is_pipelined,
        );
        for crowd in &crowds {
            crowd
                .send(Heard::Started(started.entities.clone()))
                .unwrap();
        }
        running = Some(started);
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("n", 3, after);
    sim.faults().turn_fails::<O::Entity>(20);
    sim.linearizable(O::default());
    sim.at_end("clients see all entities in the end", move |facts| {
        finished(facts) as u64 >= clients || has_failed(facts)
    });
}
