//! Loom models of turns that block. While a turn blocks, another thread runs the worker of the
//! turn. Later, the turn comes back to this worker.

use std::sync::Arc;

use super::{Alive, Lives, Note, SharedLog, check_long, check_with, spawn};
use crate::reply::{NoReply, Reply};
use crate::runtime::address::Address;
use crate::runtime::sponsor::away::{self, AwayInModel};
use crate::runtime::sponsor::{Handle, LeftInModel, Shared, Sponsor, serve_in_model};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// Message to a task that blocks.
enum Wish {
    /// Makes the task send the number 1, block, and send the number 2. Contains a function that
    /// runs while the task blocks.
    Block(fn(&Blocks, &Address<Wish>)),
    /// Makes the task record a number.
    Note(u32),
}

/// A task that keeps questions and never answers them.
struct Keeps(Vec<Reply<u32>>, #[expect(dead_code)] Lives);

impl Task for Keeps {
    type Message = Reply<u32>;

    fn receive(&mut self, reply: Reply<u32>, _: &Turn<'_, Reply<u32>>) -> Flow {
        self.0.push(reply);
        Flow::Continue
    }
}

/// A task that blocks.
struct Blocks {
    note: Address<u32>,
    keeps: Address<Reply<u32>>,
    log: SharedLog,
    end: Flow,
    _lives: Lives,
}

impl Task for Blocks {
    type Message = Wish;

    fn receive(&mut self, wish: Wish, turn: &Turn<'_, Wish>) -> Flow {
        match wish {
            Wish::Note(number) => {
                self.log.lock().unwrap().push(number);
                Flow::Continue
            }
            Wish::Block(then) => {
                let me = turn.address();
                turn.send(&self.note, 1).unwrap();
                let this = &*self;
                turn.blocking(move || then(this, &me));
                turn.send(&self.note, 2).unwrap();
                self.end
            }
        }
    }
}

/// Creates a sponsor (a group of workers) with one worker, a task that blocks, and a task to which
/// the blocking task sends messages.
fn blocks(end: Flow, then: fn(&Blocks, &Address<Wish>)) -> (Arc<Shared>, SharedLog, Alive) {
    let shared = Sponsor::builder().share_in_model(true);
    let handle = Handle::new(shared.clone());
    let (log, alive) = (SharedLog::default(), Alive::default());
    let home = shared.homes[0];
    let note = Note::new(log.clone(), alive.one_more());
    let note = handle.spawn_at(home, note, true).unwrap();
    let keeps = Keeps(Vec::new(), alive.one_more());
    let keeps = handle.spawn_at(home, keeps, true).unwrap();
    let blocks = Blocks {
        note,
        keeps,
        log: log.clone(),
        end,
        _lives: alive.one_more(),
    };
    let blocks = handle.spawn_at(home, blocks, true).unwrap();
    blocks.send(Wish::Block(then)).unwrap();
    (shared, log, alive)
}

/// Runs the sponsor (a group of workers) on this thread and on a spare thread until the sponsor
/// stops.
fn serve(shared: &Arc<Shared>) {
    let second = shared.clone();
    let spare = spawn(move || away::serve_in_model(second));
    serve_in_model(shared.clone(), 0, None);
    spare.join().unwrap();
}

/// Runs a thread that leaves its worker, calls `meanwhile`, and comes back. In between, a spare
/// thread may run the worker.
fn come_and_go(preemptions: usize, meanwhile: fn(&Arc<Shared>)) {
    check_long(preemptions, move || {
        let shared = Sponsor::builder().share_in_model(true);
        shared.drain();
        let second = shared.clone();
        let spare = spawn(move || away::serve_in_model(second));
        away::come_and_go_in_model(&shared, || meanwhile(&shared));
        spare.join().unwrap();
    });
}

#[test]
fn loom_who_has_left_a_seat_gets_it_back_from_a_hand_that_rests() {
    come_and_go(2, |shared| shared.wake_all());
}

#[test]
fn loom_a_seat_is_not_wound_up_while_somebody_is_away() {
    come_and_go(2, |shared| shared.stop());
}

#[test]
fn loom_who_is_called_back_has_what_the_last_sitter_left() {
    check_with(2, || {
        let shared = Sponsor::builder().share_in_model(true);
        let left = LeftInModel::sits(&shared, 0, &[]);
        let other = {
            let shared = shared.clone();
            spawn(move || away::take_back_in_model(&shared))
        };
        left.hands_over(0);
        other.join().unwrap();
        shared.stop();
        left.serve();
    });
}

#[test]
fn loom_the_end_sees_that_a_turn_has_come_back() {
    check_with(2, || {
        let shared = Sponsor::builder().share_in_model(true);
        shared.drain();
        let left = LeftInModel::new(&shared, &[0]);
        let away = AwayInModel::new(&shared);
        let other = spawn(move || away.comes_back());
        assert!(
            !shared.end_if_drained(),
            "somebody is away, or sits on the seat"
        );
        other.join().unwrap();
        shared.announce_idle();
        shared.stop();
        left.serve_from(0);
    });
}

#[test]
fn loom_a_turn_that_blocks_comes_back_before_the_end() {
    check_long(2, || {
        let (shared, log, alive) = blocks(Flow::Continue, |this, _| {
            this.note.send(11).unwrap();
        });
        shared.drain();
        serve(&shared);
        let log = log.lock().unwrap();
        assert_eq!(super::of(&log, 0), [1, 2]);
        assert_eq!(super::of(&log, 1), [11]);
        assert_eq!(alive.count(), 0);
        assert_eq!(Handle::new(shared).dead_letters(), 0);
    });
}

#[test]
fn loom_what_comes_for_a_task_whose_turn_blocks_waits_for_it() {
    check_with(1, || {
        let (shared, log, alive) = blocks(Flow::Continue, |this, me| {
            me.send(Wish::Note(21)).unwrap();
            me.send(Wish::Note(22)).unwrap();
            this.log.lock().unwrap().push(11);
        });
        shared.drain();
        serve(&shared);
        let log = log.lock().unwrap();
        assert_eq!(super::of(&log, 0), [1, 2]);
        let own: Vec<_> = log.iter().copied().filter(|number| *number > 10).collect();
        assert_eq!(own, [11, 21, 22]);
        assert_eq!(alive.count(), 0);
        assert_eq!(Handle::new(shared).dead_letters(), 0);
    });
}

#[test]
fn loom_a_turn_that_is_undone_after_it_has_blocked_sends_nothing() {
    check_with(1, || {
        let (shared, log, alive) = blocks(Flow::Undo, |this, _| {
            this.note.send(11).unwrap();
        });
        shared.drain();
        serve(&shared);
        assert_eq!(*log.lock().unwrap(), [11]);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_a_sponsor_that_ends_now_waits_for_a_turn_that_blocks() {
    check_with(1, || {
        let (shared, log, alive) = blocks(Flow::Continue, |_, _| ());
        let other = shared.clone();
        let stops = spawn(move || other.stop());
        serve(&shared);
        stops.join().unwrap();
        let numbers = log.lock().unwrap().len() as u64;
        assert!(numbers <= 2);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_a_shutdown_fails_the_question_of_a_turn_that_blocks() {
    check_with(1, || {
        let (shared, _, alive) = blocks(Flow::Continue, |this, _| {
            assert_eq!(this.keeps.ask(|reply| reply).wait(), Err(NoReply::Dropped));
        });
        let other = shared.clone();
        let stops = spawn(move || other.stop());
        serve(&shared);
        stops.join().unwrap();
        assert_eq!(alive.count(), 0);
    });
}
