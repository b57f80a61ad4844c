//! A writer appends events, saves snapshots, compacts, deletes journals and opens its log again, on
//! a simulated disk whose node crashes at any moment. After each crash, the log must contain
//! everything that was acknowledged. The operation that was under way must be in the log wholly or
//! not at all.

mod writer;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_sim::{Check, DiskRule, Sim};
use garrick_testkit::seeds;

use writer::{Model, Writer};

/// Number of seeds of each check in an optimized build. `GARRICK_JOURNAL_SEEDS` sets another
/// number.
const SEEDS: u64 = 1_000;

/// Number of operations of a run.
const STEPS: u32 = 40;

/// Checks the writer on a disk with the faults that `rule` adds.
#[track_caller]
fn check(name: &str, rule: fn(DiskRule<'_>) -> DiskRule<'_>) {
    let seeds = seeds("GARRICK_JOURNAL_SEEDS", SEEDS);
    let checked = Check::new(name).seeds(seeds).run(|sim| program(sim, rule));
    match checked {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

fn program(sim: &mut Sim, rule: fn(DiskRule<'_>) -> DiskRule<'_>) {
    let files: Arc<dyn Files> = Arc::new(sim.disk("n"));
    rule(sim.disks().all());
    let model = Arc::new(Mutex::new(Model::new(sim.seed())));
    let writer = Writer::new(files, Arc::clone(&model));
    sim.restarting("n", move |node| {
        let writer = node.spawn(writer.again()).unwrap();
        writer.send(STEPS).unwrap();
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("n", 4, after);
    sim.explained("the log has what was acknowledged", move |_| {
        let model = model.lock().unwrap();
        model.mistake().map_or(Ok(()), Err)
    });
}

#[test]
fn a_crash_leaves_all_that_was_acknowledged() {
    check("crashes", |rule| rule);
}

#[test]
fn a_crash_within_an_operation_leaves_all_that_was_acknowledged() {
    check("crashes within operations", |rule| rule.crashes(30));
}

#[test]
fn writes_that_are_torn_or_reordered_leave_all_that_was_acknowledged() {
    check("torn", |rule| rule.crashes(30).tears().reorders());
}

#[test]
fn operations_and_syncs_that_fail_leave_all_that_was_acknowledged() {
    check("failing", |rule| {
        rule.crashes(20).tears().reorders().fails(30).sync_fails(50)
    });
}

#[test]
fn a_full_disk_leaves_all_that_was_acknowledged() {
    check("full", |rule| rule.crashes(20).tears().full(3000));
}
