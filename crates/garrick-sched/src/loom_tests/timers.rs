//! Timers that are cancelled by another thread, while they fire, their owner ends, or their sponsor does.

use std::sync::{Arc, Mutex};

use super::{Alive, Lives, check, here, spawn};
use crate::runtime::sponsor::Here;
use crate::runtime::task::{Flow, Task};
use crate::runtime::timer::Timer;
use crate::runtime::turn::Turn;
use crate::world::Nanos;

/// A message to an owner.
enum Word {
    /// Sets a timer for that time.
    Set(Nanos),
    /// From the timer.
    Rung(#[allow(dead_code)] Lives),
    Stop,
}

/// Sets a timer for itself, and shows it.
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

/// Lets an owner set a timer, which another thread cancels while `then` happens here. The timer fires at most once, and its message is dropped
/// once.
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
