//! Loom models of turns whose commit is decided after the turns have ended.

use std::sync::{Arc, Mutex};

use loom::thread::JoinHandle;

use super::{Alive, Lives, Note, SharedLog, check_long, check_with, spawn};
use crate::runtime::address::Address;
use crate::runtime::pending::Pending;
use crate::runtime::sponsor::away;
use crate::runtime::sponsor::{Handle, LeftInModel, Sponsor, serve_in_model};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// Threads that must be joined at the end of a model.
type Threads = Arc<Mutex<Vec<JoinHandle<()>>>>;

/// A task that forwards each number that it receives to another task. If the number is 1, another
/// thread decides whether the turn commits.
struct Later {
    note: Address<u32>,
    decides: fn(Pending),
    threads: Threads,
    _lives: Lives,
}

impl Task for Later {
    type Message = u32;
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.note, number).unwrap();
        if number == 1 {
            let (decides, threads) = (self.decides, self.threads.clone());
            turn.commit_later(move |pending| {
                let decider = spawn(move || decides(pending));
                threads.lock().unwrap().push(decider);
            });
        }
        Flow::Continue
    }
}

/// Runs a [`Later`], which receives the numbers from 1 to `messages`. The sponsor stops when all
/// tasks have handled their messages. On another thread, `decides` determines whether the first
/// turn of the [`Later`] commits. If `now` is true, a third thread stops the sponsor meanwhile,
/// without waiting for the messages. Returns the numbers that the [`Later`] has forwarded and that
/// have arrived.
fn run(decides: fn(Pending), messages: u32, now: bool) -> Vec<u32> {
    let shared = Sponsor::builder().share_in_model(true);
    let handle = Handle::new(shared.clone());
    let (log, alive) = (SharedLog::default(), Alive::default());
    let threads = Threads::default();
    let home = shared.homes[0];
    let note = Note::new(log.clone(), alive.one_more());
    let note = handle.spawn_at(home, note, true).unwrap();
    let later = Later {
        note,
        decides,
        threads: threads.clone(),
        _lives: alive.one_more(),
    };
    let later = handle.spawn_at(home, later, true).unwrap();
    for number in 1..=messages {
        later.send(number).unwrap();
    }
    drop(later);
    shared.drain();
    if now {
        let other = shared.clone();
        threads.lock().unwrap().push(spawn(move || other.stop()));
    }
    serve_in_model(shared, 0, None);
    let threads = std::mem::take(&mut *threads.lock().unwrap());
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(alive.count(), 0);
    let numbers = log.lock().unwrap();
    super::of(&numbers, 0)
}

#[test]
fn loom_a_turn_that_is_committed_later_releases_its_effects_before_the_end() {
    check_long(2, || assert_eq!(run(Pending::commit, 2, false), [1, 2]));
}

#[test]
fn loom_a_turn_that_is_undone_later_releases_nothing() {
    check_long(2, || {
        assert_eq!(run(|pending| pending.undo("a model"), 1, false), []);
    });
}

#[test]
fn loom_a_turn_whose_worker_decides_waits_again_or_has_its_effects() {
    check_long(2, || {
        let decides: fn(Pending) = |pending| pending.when_due(|due| due.commit());
        assert_eq!(run(decides, 1, false), [1]);
    });
    check_long(2, || {
        let decides: fn(Pending) = |pending| pending.when_due(|due| due.wait().commit());
        assert!(run(decides, 1, true).len() <= 1);
    });
}

#[test]
fn loom_a_sponsor_that_ends_now_waits_for_the_decision() {
    check_long(2, || assert!(run(Pending::commit, 1, true).len() <= 1));
}

#[test]
fn loom_the_end_sees_that_a_turn_was_decided() {
    check_with(2, || {
        let shared = Sponsor::builder().share_in_model(true);
        shared.drain();
        let left = LeftInModel::new(&shared, &[0]);
        shared.note_undecided();
        let second = shared.clone();
        let other = spawn(move || away::decide_in_model(&second));
        assert!(
            !shared.end_if_drained(),
            "a turn is undecided, or somebody sits on the seat"
        );
        other.join().unwrap();
        shared.announce_idle();
        shared.stop();
        left.serve_from(0);
    });
}
