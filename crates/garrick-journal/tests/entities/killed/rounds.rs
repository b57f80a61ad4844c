//! Rounds: in each one, a process is started and killed, and its history is checked.

use std::collections::BTreeMap;
use std::path::Path;

use garrick_actor::System;
use garrick_core::random::mix;
use garrick_sim::history::Call;
use garrick_testkit::{Place, setting};

use super::engine::Engine;
use super::line::{Line, Words};
use super::process::{ENTITIES, Process, folder, run};
use super::since::Since;
use crate::branch::{ACCOUNTS, Bank, CENTS, Ret};
use crate::client::News;
use crate::node::start_first;
use crate::object::{HistoryOf, Object, Request, key_of};
use crate::register::Registers;

/// Number of times that a process is killed. The environment variable `GARRICK_JOURNAL_KILLS` sets
/// another number.
const KILLS: u64 = 10;

/// A process is killed before it has returned `ANSWERS` answers. One of `OPENINGS` processes is
/// killed while it opens the log.
const ANSWERS: u64 = 60;
const OPENINGS: u64 = 8;

/// Number of the client that reads the entities after a kill. No other client has this number.
const READER: u64 = 0;

/// Checks registers. `test` is the name of the test.
pub(crate) fn registers(engine: Engine, test: &str) {
    survives_kills::<Registers>(engine, test, |_, _| ());
}

/// Checks a bank: no money and no acknowledged transfer is lost.
pub(crate) fn bank(engine: Engine, test: &str) {
    let mut acknowledged = [0; ENTITIES];
    survives_kills::<Bank>(engine, test, |history, branches| {
        for operation in history.operations() {
            if let Some(Ret::Number(number)) = operation.ret() {
                let known = &mut acknowledged[key_of::<Bank>(&operation.op)];
                *known = (*number).max(*known);
            }
        }
        for (branch, books) in branches {
            let (transfers, acknowledged) = (books.transfers, acknowledged[*branch]);
            assert!(
                transfers >= acknowledged,
                "{transfers} after {acknowledged}"
            );
            let money: u64 = books.accounts.iter().sum();
            assert_eq!(money, CENTS * ACCOUNTS as u64);
        }
    });
}

/// Kills processes and checks their histories. `audit` checks the history of a process and the
/// states that were read after its end.
fn survives_kills<O: Object<Op: Words, Ret: Words>>(
    engine: Engine,
    test: &str,
    mut audit: impl FnMut(&HistoryOf<O>, &O::State),
) {
    if let Some(folder) = folder() {
        return run::<O>(engine, &folder);
    }
    let kills = setting("GARRICK_JOURNAL_KILLS").unwrap_or(KILLS);
    let place = Place::new(test);
    // The first process creates it.
    let files = place.path().join("journal");
    let mut model = Since {
        model: O::default(),
        state: O::default().init(),
    };
    let (mut calls, mut pending) = (0, 0);
    for round in 0..kills {
        let mut history = history_of::<O>(Process::start(test, &files, round), round);
        calls += history.len();
        pending += history
            .operations()
            .iter()
            .filter(|o| o.ended().is_none())
            .count();
        let state = look::<O>(engine, &files, &mut history);
        engine.verify(&files);
        let _ = history.check(&model).expect_order();
        audit(&history, &state);
        model.state = state;
    }
    println!("{test}: {kills} kills, {calls} calls, {pending} of them without an answer");
}

/// Kills a process at a random moment, and returns the history of its clients.
fn history_of<O: Object<Op: Words, Ret: Words>>(mut process: Process, round: u64) -> HistoryOf<O> {
    let chance = mix(round);
    let mut left = match chance % OPENINGS {
        0 => 0,
        _ => 1 + (chance >> 8) % ANSWERS,
    };
    let mut has_opened = false;
    let (mut history, mut open) = (HistoryOf::<O>::new(), BTreeMap::<u64, Call>::new());
    while let Some(text) = process.next() {
        match Line::<O>::parse(&text) {
            Some(Line::Opens) => {
                has_opened = true;
                if left == 0 {
                    process.kill();
                }
            }
            Some(Line::Told(client, News::Called(op))) => {
                open.insert(client, history.invoke(client, op));
            }
            Some(Line::Told(client, News::Returned(ret))) => {
                let call = open.remove(&client).expect("a client calls before");
                history.complete(call, ret);
                if left == 1 {
                    process.kill();
                }
                left = left.saturating_sub(1);
            }
            Some(Line::Told(client, News::Refused)) => {
                panic!("client {client} has no answer, although the disk works")
            }
            // Lines of the test runner.
            None => assert!(!has_opened, "{text}"),
        }
    }
    process.end();
    history
}

/// Reads all entities by the calls of one client, and returns their states.
fn look<O: Object>(engine: Engine, folder: &Path, history: &mut HistoryOf<O>) -> O::State {
    let system = System::new().unwrap();
    let journal = engine.open(&system, folder);
    let running = start_first::<O>(&system.handle(), &journal, ENTITIES, false, false);
    let mut state = O::default().init();
    for (key, entity) in running.entities.iter().enumerate() {
        let call = history.invoke(READER, O::look(key));
        let look = |reply| Request {
            op: O::look(key),
            reply,
        };
        let ret = entity.ask(look).wait().unwrap();
        O::see(&mut state, key, &ret);
        history.complete(call, ret);
    }
    drop((running, journal));
    system.shutdown();
    state
}
