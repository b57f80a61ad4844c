//! Loom models of timers. Another thread cancels a timer while it fires, while its owner ends, or
//! while its sponsor stops.

use std::sync::{Arc, Mutex};

use super::{Alive, Lives, check, here, spawn};
use crate::runtime::current;
use crate::runtime::sponsor::Here;
use crate::runtime::task::{Flow, Task};
use crate::runtime::timer::{SharedWheel, Timer};
use crate::runtime::turn::Turn;
use crate::world::Nanos;

/// A message to a task that owns a timer.
enum Word {
    /// Makes the task set a timer with the given deadline.
    Set(Nanos),
    /// The message that the timer sends.
    Rung(#[allow(dead_code)] Lives),
    Stop,
}

/// Task that sets a timer for itself and publishes the handle of the timer.
struct Owner {
    repeats: bool,
    timer: Arc<Mutex<Option<Timer>>>,
    alive: Alive,
    rung: Arc<Mutex<usize>>,
}

impl Task for Owner {
    type Message = Word;

    fn receive(&mut self, word: Word, turn: &Turn<'_, Word>) -> Flow {
        match word {
            Word::Set(deadline) => {
                let timer = if self.repeats {
                    Timer::repeating()
                } else {
                    turn.timer()
                };
                let rung = Word::Rung(self.alive.one_more());
                let set = turn.set_own_timer(&timer, deadline, &turn.address(), rung);
                assert!(set.is_ok());
                *self.timer.lock().unwrap() = Some(timer);
            }
            Word::Rung(_) => *self.rung.lock().unwrap() += 1,
            Word::Stop => return Flow::Stop,
        }
        Flow::Continue
    }
}

/// Makes a task set a timer. Another thread cancels the timer while `then` runs on this thread.
/// Checks that the timer fires at most once, and that its message is dropped once.
fn cancelled_while(deadline: Nanos, repeats: bool, then: fn(Here)) {
    check(move || {
        let (here, alive) = (here(), Alive::default());
        let (timer, rung): (Arc<Mutex<Option<Timer>>>, _) = Default::default();
        let owner = Owner {
            repeats,
            timer: timer.clone(),
            alive: alive.clone(),
            rung: Arc::clone(&rung),
        };
        let owner = here.spawn(owner);
        assert!(owner.send(Word::Set(deadline)).is_ok());
        if deadline == Nanos::MAX {
            here.run();
            assert!(owner.send(Word::Stop).is_ok());
        }
        drop(owner);
        let stranger = spawn(move || {
            if let Some(timer) = timer.lock().unwrap().clone() {
                timer.cancel();
            }
        });
        then(here);
        stranger.join().unwrap();
        assert_eq!(alive.count(), 0, "the message is handled or dropped");
        assert!(*rung.lock().unwrap() <= 1, "it fires once");
    });
}

#[test]
fn loom_a_timer_is_cancelled_while_it_fires() {
    for repeats in [false, true] {
        cancelled_while(0, repeats, |here| here.run());
    }
}

#[test]
fn loom_a_timer_is_cancelled_while_its_owner_ends() {
    for repeats in [false, true] {
        cancelled_while(Nanos::MAX, repeats, |here| here.run());
    }
}

#[test]
fn loom_a_timer_is_cancelled_while_its_sponsor_ends() {
    for repeats in [false, true] {
        cancelled_while(Nanos::MAX, repeats, drop);
    }
}

/// Task that publishes the timer wheel of its worker in its first turn. In its second turn, it sets
/// timers that are due immediately, and cancels them.
struct Fickle {
    wheel: Arc<Mutex<Option<&'static SharedWheel>>>,
    repeats: bool,
    alive: Alive,
}

impl Task for Fickle {
    type Message = Option<Lives>;

    fn receive(&mut self, _: Option<Lives>, turn: &Turn<'_, Option<Lives>>) -> Flow {
        if self.wheel.lock().unwrap().is_none() {
            let worker = current::worker().expect("a turn has a worker");
            *self.wheel.lock().unwrap() = Some(worker.timers.wheel);
            return Flow::Continue;
        }
        let timer = if self.repeats {
            Timer::repeating()
        } else {
            turn.timer()
        };
        let rung = Some(self.alive.one_more());
        let set = turn.set_own_timer(&timer, 0, &turn.address(), rung);
        assert!(set.is_ok());
        timer.cancel();
        Flow::Continue
    }
}

#[test]
fn loom_others_never_see_a_timer_that_the_turn_has_set_and_cancelled() {
    for repeats in [false, true] {
        check(move || {
            let (here, alive) = (here(), Alive::default());
            let wheel = Arc::default();
            let fickle = Fickle {
                wheel: Arc::clone(&wheel),
                repeats,
                alive: alive.clone(),
            };
            let fickle = here.spawn(fickle);
            assert!(fickle.send(None).is_ok());
            here.run();
            let wheel = wheel.lock().unwrap().expect("it was shown");
            let stranger = spawn(move || {
                // Like a thread that delivers due timers of a worker in a long turn.
                let due = wheel.with(|wheel| wheel.pop_due(Nanos::MAX));
                assert!(
                    due.is_none(),
                    "it was cancelled by the turn that has set it"
                );
            });
            assert!(fickle.send(None).is_ok());
            here.run();
            stranger.join().unwrap();
            drop(fickle);
            here.run();
            assert_eq!(alive.count(), 0, "the message is dropped");
        });
    }
}
