//! Tests durable registers, and a bank of durable branches. Their node crashes at any moment, on a
//! simulated disk with faults. On the real disk, their process is killed. The history of the calls
//! of their clients must be linearizable: what a client has seen is never lost, and no call takes
//! effect twice.
#![forbid(unsafe_code)]

mod object;

mod branch;
mod register;

mod client;
mod node;

mod simulated;

#[cfg(unix)]
mod killed;
mod shop;

use branch::Bank;
#[cfg(unix)]
use killed::Engine;
use register::Registers;
use simulated::{check, pipelined, plain};

#[test]
fn a_crash_loses_nothing_that_was_seen() {
    check("registers", plain::<Registers>, |rule| rule);
}

#[test]
fn a_crash_within_an_operation_of_the_disk_loses_nothing_that_was_seen() {
    check("registers within operations", plain::<Registers>, |rule| {
        rule.crashes(20)
    });
}

#[test]
fn writes_that_are_torn_or_reordered_lose_nothing_that_was_seen() {
    check("registers torn", plain::<Registers>, |rule| {
        rule.crashes(20).tears().reorders()
    });
}

#[test]
fn syncs_that_fail_lose_nothing_that_was_seen() {
    check("registers failing", plain::<Registers>, |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn a_full_disk_loses_nothing_that_was_seen() {
    check("registers full", plain::<Registers>, |rule| {
        rule.crashes(10).full(600)
    });
}

#[test]
fn registers_that_decide_ahead_lose_nothing_that_was_seen() {
    check("pipelined registers", pipelined::<Registers>, |rule| rule);
}

#[test]
fn registers_that_decide_ahead_lose_nothing_on_a_failing_disk() {
    check(
        "pipelined registers failing",
        pipelined::<Registers>,
        |rule| rule.crashes(10).tears().reorders().fails(20).sync_fails(50),
    );
}

#[test]
fn a_crash_loses_no_transfer() {
    check("bank", plain::<Bank>, |rule| rule);
}

#[test]
fn a_crash_within_an_operation_of_the_disk_loses_no_transfer() {
    check("bank within operations", plain::<Bank>, |rule| {
        rule.crashes(20)
    });
}

#[test]
fn writes_that_are_torn_or_reordered_lose_no_transfer() {
    check("bank torn", plain::<Bank>, |rule| {
        rule.crashes(20).tears().reorders()
    });
}

#[test]
fn syncs_that_fail_lose_no_transfer() {
    check("bank failing", plain::<Bank>, |rule| {
        rule.crashes(10).tears().reorders().fails(20).sync_fails(50)
    });
}

#[test]
fn a_full_disk_loses_no_transfer() {
    check("bank full", plain::<Bank>, |rule| {
        rule.crashes(10).full(600)
    });
}

#[test]
fn branches_that_decide_ahead_lose_no_transfer() {
    check("pipelined bank", pipelined::<Bank>, |rule| rule);
}

#[test]
fn branches_that_decide_ahead_lose_no_transfer_on_a_failing_disk() {
    check("pipelined bank failing", pipelined::<Bank>, |rule| {
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

#[cfg(unix)]
#[test]
fn registers_survive_kills() {
    killed::registers(Engine::Segments, "registers_survive_kills");
}

#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn registers_in_sqlite_survive_kills() {
    killed::registers(Engine::Sqlite, "registers_in_sqlite_survive_kills");
}

#[cfg(unix)]
#[test]
fn a_bank_survives_kills() {
    killed::bank(Engine::Segments, "a_bank_survives_kills");
}

#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn a_bank_in_sqlite_survives_kills() {
    killed::bank(Engine::Sqlite, "a_bank_in_sqlite_survives_kills");
}
