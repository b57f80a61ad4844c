//! Loom models of a worker in a long turn. During this turn, another worker visits the cells
//! (tasks) of the first worker, which means that it handles the messages of these cells.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Alive, Lives, Note, SharedLog, check_with, of, spawn};
use crate::remote::Remote;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::rescue::{lend_in_model, run_beside_loan_in_model, visit_in_model};
use crate::runtime::sponsor::{Handle, LeftInModel, Shared, Sponsor};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// A function that a `Meddler` calls in its turn. If the function returns true, the `Meddler` stops
/// after this turn.
type Meddle = fn(Address<u32>, &Turn<'_, ()>) -> bool;

/// Task that uses the address of another task, in a turn that counts as long.
struct Meddler {
    held: Option<Address<u32>>,
    does: Meddle,
    _lives: Lives,
}

impl Task for Meddler {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        match self.held.take().map(|held| (self.does)(held, turn)) {
            Some(true) => Flow::Stop,
            _ => Flow::Continue,
        }
    }
}

/// Returns a sponsor (group of workers) with two workers. Each turn immediately counts as long, so
/// the worker lends its cells to the other worker. The calling thread runs the first worker.
fn two_workers() -> (Arc<Shared>, Handle, LeftInModel) {
    let shared = Sponsor::builder()
        .workers(2)
        .lend_at_once(true)
        .share_in_model(true);
    let left = LeftInModel::sits(&shared, 0, &[1]);
    // Nobody counts as idle, so that nothing is given away.
    shared.announce_busy();
    shared.announce_busy();
    (shared.clone(), Handle::new(shared), left)
}

/// Ends the sponsor (group of workers) that [`two_workers`] has returned.
fn end(shared: &Shared, left: LeftInModel) {
    shared.announce_idle();
    shared.announce_idle();
    shared.stop();
    left.serve_from(0);
}

/// Runs two workers. The first worker runs a `Meddler`, which uses the address of a task. The
/// second worker sends messages to this task, and visits it: handles its messages during the long
/// turn of the first worker.
fn visited<T: Task<Message = u32> + Send>(
    preemptions: usize,
    task: fn(SharedLog, Lives) -> T,
    does: Meddle,
    sends: fn(&Address<u32>, &SharedLog),
    check: fn(&[u32]),
) {
    visited_after(preemptions, task, None, does, sends, check);
}

/// Runs the model of [`visited`]. If `does_before` is `Some`, another `Meddler` first calls this
/// function, in an earlier turn of the first worker.
fn visited_after<T: Task<Message = u32> + Send>(
    preemptions: usize,
    task: fn(SharedLog, Lives) -> T,
    does_before: Option<Meddle>,
    does: Meddle,
    sends: fn(&Address<u32>, &SharedLog),
    check: fn(&[u32]),
) {
    check_with(preemptions, move || {
        let (log, alive) = (SharedLog::default(), Alive::default());
        let (shared, handle, left) = two_workers();
        let home = shared.homes[0];
        let task = task(log.clone(), alive.one_more());
        let task = handle.spawn_at(home, task, true).unwrap();
        let meddler = |does| {
            let meddler = Meddler {
                held: Some(task.clone()),
                does,
                _lives: alive.one_more(),
            };
            handle.spawn_at(home, meddler, true).unwrap()
        };
        if let Some(does) = does_before {
            meddler(does).send(()).unwrap();
        }
        let meddler = meddler(does);
        // Makes the visitor see what the owner has done to the task.
        task.send(0).unwrap();
        left.runs(0);
        meddler.send(()).unwrap();
        let visitor = {
            let (shared, log) = (shared.clone(), log.clone());
            spawn(move || visit_in_model(&shared, || sends(&task, &log)))
        };
        left.runs(0);
        visitor.join().unwrap();
        left.runs(0);
        check(&log.lock().unwrap());
        drop(meddler);
        end(&shared, left);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_a_cell_is_visited_while_its_owner_sends_to_it() {
    let does: Meddle = |held, turn| {
        turn.send(&held, 11).unwrap();
        turn.send(&held, 12).unwrap();
        false
    };
    visited(
        1,
        Note::new,
        does,
        |task, _| {
            task.send(21).unwrap();
            task.send(22).unwrap();
        },
        |log| {
            assert_eq!(of(log, 1), [11, 12]);
            assert_eq!(of(log, 2), [21, 22]);
            assert_eq!(log.len(), 5);
        },
    );
}

#[test]
fn loom_a_cell_is_visited_while_its_owner_clones_and_drops_its_addresses() {
    let does: Meddle = |held, _| {
        let other = held.clone();
        drop(held);
        drop(other);
        false
    };
    visited(
        1,
        Note::new,
        does,
        |task, _| {
            let other = task.clone();
            task.send(21).unwrap();
            drop(other);
        },
        |log| assert_eq!(log, [0, 21]),
    );
}

#[test]
fn loom_a_timer_is_set_while_another_thread_looks_at_the_wheel() {
    // The timer is never due: the clock is the real one, and its time must not matter to a model.
    let sets: Meddle = |held, turn| turn.send_after(Duration::MAX, &held, 11).is_err();
    visited_after(
        2,
        Note::new,
        Some(sets),
        |held, turn| turn.send_after(Duration::MAX, &held, 12).is_err(),
        |_, _| (),
        |log| assert_eq!(log, [0]),
    );
}

/// Task whose destructor sends a message to another task.
struct Leaves(Address<u32>);

impl Task for Leaves {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.send(12).unwrap();
    }
}

#[test]
fn loom_a_cell_is_visited_while_destructors_of_the_turn_that_has_scheduled_it_run() {
    let does: Meddle = |held, turn| {
        turn.send(&held, 11).unwrap();
        // Unreachable when this turn ends.
        drop(turn.spawn(Leaves(held)));
        false
    };
    visited(
        1,
        Note::new,
        does,
        |task, _| task.send(21).unwrap(),
        |log| {
            assert_eq!(of(log, 1), [11, 12]);
            assert_eq!(of(log, 2), [21]);
            assert_eq!(log.len(), 4);
        },
    );
}

#[test]
fn loom_a_cell_is_visited_while_the_task_that_has_sent_to_it_stops() {
    let does: Meddle = |held, turn| {
        turn.send(&held, 11).unwrap();
        true
    };
    visited(
        1,
        Note::new,
        does,
        |task, _| task.send(21).unwrap(),
        |log| {
            assert_eq!(of(log, 1), [11]);
            assert_eq!(of(log, 2), [21]);
            assert_eq!(log.len(), 3);
        },
    );
}

#[test]
fn loom_a_task_that_stops_while_it_is_visited_is_closed_by_its_owner() {
    visited(
        1,
        |log, lives| Note::for_some(2, log, lives),
        |held, turn| {
            let _ = turn.send(&held, 11);
            false
        },
        |task, _| {
            let _ = task.send(21);
        },
        |log| assert_eq!(log.len(), 2),
    );
}

#[test]
fn loom_watchers_that_come_during_a_visit_are_told_of_the_end() {
    visited(
        1,
        |log, lives| Note::for_some(2, log, lives),
        |held, turn| {
            let _ = turn.send(&held, 11);
            false
        },
        |task, log| {
            let log = log.clone();
            drop(task.watch(move |_| log.lock().unwrap().push(99)));
            let _ = task.send(21);
        },
        |log| {
            assert_eq!(log.len(), 3);
            assert_eq!(log[2], 99);
        },
    );
}

/// Task that logs its messages and its nudges (requests for a turn without a message).
struct Hears(SharedLog, Note);

impl Hears {
    fn new(log: SharedLog, lives: Lives) -> Self {
        Self(log.clone(), Note::new(log, lives))
    }
}

/// Number that stands for a nudge (a request for a turn) in the log of [`Hears`].
const NUDGED: u32 = u32::MAX;

impl Task for Hears {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        self.1.receive(message, turn)
    }

    fn nudged(&mut self, _: &Turn<'_, u32>) -> Flow {
        self.0.lock().unwrap().push(NUDGED);
        Flow::Continue
    }
}

#[test]
fn loom_nudges_are_handled_by_a_visitor_in_their_order() {
    visited_after(
        1,
        Hears::new,
        Some(|held, turn| {
            turn.nudge(&held);
            turn.send(&held, 11).unwrap();
            turn.nudge(&held);
            false
        }),
        |held, turn| {
            turn.nudge(&held);
            false
        },
        |task, _| task.send(21).unwrap(),
        |log| {
            assert_eq!(log.iter().filter(|&&what| what == NUDGED).count(), 3);
            assert_eq!(log[..4], [0, NUDGED, 11, NUDGED]);
            assert_eq!(log.len(), 6);
        },
    );
}

/// An event that happens once in a model. A thread that waits for the event sees all writes that
/// were made before it.
#[derive(Default)]
struct Event {
    has_come: loom::sync::Mutex<bool>,
    bell: loom::sync::Condvar,
}

impl Event {
    fn comes(&self) {
        *self.has_come.lock().unwrap() = true;
        self.bell.notify_all();
    }

    fn wait(&self) {
        let mut has_come = self.has_come.lock().unwrap();
        while !*has_come {
            has_come = self.bell.wait(has_come).unwrap();
        }
    }
}

/// Task whose turns are long. The turn of each message signals the event of this message, and may
/// wait for another event.
struct Long {
    note: Note,
    says: HashMap<u32, Arc<Event>>,
    waits: HashMap<u32, Arc<Event>>,
}

impl Task for Long {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        let flow = self.note.receive(message, turn);
        if let Some(event) = self.says.get(&message) {
            event.comes();
        }
        if let Some(event) = self.waits.get(&message) {
            event.wait();
        }
        flow
    }
}

#[test]
fn loom_a_visit_that_outlasts_its_loan_is_continued_in_the_next_loan() {
    check_with(3, || {
        let (log, alive) = (SharedLog::default(), Alive::default());
        let (shared, handle, left) = two_workers();
        let event = Arc::<Event>::default;
        let (first, visit, second, last) = (event(), event(), event(), event());
        let long = |says: &[(u32, &Arc<Event>)], waits: &[(u32, &Arc<Event>)]| {
            let events = |of: &[(u32, &Arc<Event>)]| {
                of.iter().map(|&(at, event)| (at, event.clone())).collect()
            };
            let task = Long {
                note: Note::new(log.clone(), alive.one_more()),
                says: events(says),
                waits: events(waits),
            };
            handle.spawn_at(shared.homes[0], task, true).unwrap()
        };
        // The visit begins during the first long turn, and lasts until the second one has begun.
        // The second one waits for the last message, which only another visit can handle.
        let owner = long(&[(1, &first)], &[(1, &visit)]);
        let task = long(&[(21, &visit), (23, &last)], &[(21, &second)]);
        task.send(0).unwrap();
        left.runs(0);
        let other = long(&[(2, &second)], &[(2, &last)]);
        // The newest message comes first.
        other.send(2).unwrap();
        owner.send(1).unwrap();
        let visitor = {
            let (shared, task) = (shared.clone(), task.clone());
            spawn(move || {
                visit_in_model(&shared, || {
                    first.wait();
                    for number in 21..=23 {
                        task.send(number).unwrap();
                    }
                })
            })
        };
        left.runs(0);
        assert!(visitor.join().unwrap(), "the first turn is long");
        left.runs(0);
        let log = log.lock().unwrap();
        assert_eq!(of(&log, 2), [21, 22, 23]);
        assert_eq!(log.len(), 6);
        drop((owner, other, task));
        end(&shared, left);
        assert_eq!(alive.count(), 0);
    });
}

/// A worker closes while another thread lends its cells. No mark is left for the next worker with
/// the same number.
#[test]
fn loom_a_worker_that_closes_leaves_no_mark() {
    check_with(2, || {
        let (shared, handle, left) = two_workers();
        drop(handle);
        let lender = {
            let shared = shared.clone();
            spawn(move || {
                lend_in_model(&shared);
            })
        };
        end(&shared, left);
        lender.join().unwrap();
        for &home in &shared.homes {
            assert!(!Remote::of(home).ready.has_some(), "a mark is left");
        }
        assert!(!shared.signal().is_lent(), "a loan is left");
    });
}

/// A look finds no named cell, and the worker names one without a check of its ready stack. The
/// next look lends its cells.
#[test]
fn loom_a_loan_that_was_not_opened_is_opened_by_the_next_look() {
    check_with(1, || {
        let (log, alive) = (SharedLog::default(), Alive::default());
        let (shared, handle, left) = two_workers();
        let note = |at: usize| {
            let task = Note::new(log.clone(), alive.one_more());
            handle.spawn_at(shared.homes[at], task, true).unwrap()
        };
        let (task, other) = (note(0), note(0));
        for task in [&task, &other] {
            task.send(1).unwrap();
        }
        left.runs(0);
        task.send(2).unwrap();
        assert!(!lend_in_model(&shared), "no cell is named");
        left.names(0, other.cell(), || {
            assert!(lend_in_model(&shared), "a cell is named");
            let shared = shared.clone();
            let visitor = spawn(move || run_beside_loan_in_model(&shared, || ()));
            visitor.join().unwrap();
            assert_eq!(log.lock().unwrap().len(), 3, "the visitor has handled it");
        });
        drop((task, other));
        end(&shared, left);
        assert_eq!(alive.count(), 0);
    });
}

/// A task that sends a number to two other tasks.
struct Both(Option<[Address<u32>; 2]>, #[expect(dead_code)] Lives);

impl Task for Both {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        for task in self.0.take().into_iter().flatten() {
            turn.send(&task, 1).unwrap();
        }
        Flow::Continue
    }
}

/// A task that checks that the worker that runs it has kept no other worker.
struct KeepsNothing(SharedLog, #[expect(dead_code)] Lives);

impl Task for KeepsNothing {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        let worker = current::worker().unwrap();
        assert!(worker.has_kept_nothing(), "the visit could wait for it");
        self.0.lock().unwrap().push(number);
        Flow::Continue
    }
}

/// A worker has kept an idle worker to which its last turn has sent, and then visits a cell of a
/// third worker. It gives the idle worker to another thread before the visit.
#[test]
fn loom_a_kept_worker_is_given_away_before_a_visit() {
    check_with(1, || {
        let (log, alive) = (SharedLog::default(), Alive::default());
        let shared = Sponsor::builder()
            .workers(3)
            .lend_at_once(true)
            .share_in_model(true);
        let left = LeftInModel::sits(&shared, 0, &[1, 2]);
        // Nobody counts as idle, so that nothing is given away.
        (0..3).for_each(|_| shared.announce_busy());
        let handle = Handle::new(shared.clone());
        let visited = KeepsNothing(log.clone(), alive.one_more());
        let visited = handle.spawn_at(shared.homes[0], visited, true).unwrap();
        let kept = Note::new(log.clone(), alive.one_more());
        let kept = handle.spawn_at(shared.homes[2], kept, true).unwrap();
        let named = Note::new(log.clone(), alive.one_more());
        let named = handle.spawn_at(shared.homes[0], named, true).unwrap();
        for task in [&visited, &named] {
            task.send(0).unwrap();
        }
        left.runs(0);
        let both = Both(Some([kept, visited]), alive.one_more());
        let both = handle.spawn_at(shared.homes[1], both, true).unwrap();
        left.names(0, named.cell(), || {
            assert!(lend_in_model(&shared), "a cell is named");
            let shared = shared.clone();
            let visitor =
                spawn(move || run_beside_loan_in_model(&shared, || both.send(()).unwrap()));
            visitor.join().unwrap();
        });
        drop(named);
        (0..3).for_each(|_| shared.announce_idle());
        shared.stop();
        left.serve_from(0);
        assert_eq!(alive.count(), 0);
    });
}
