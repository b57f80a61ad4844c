//! Tests of nudges (requests for a turn without a message): their order, their fate in undone
//! turns, and their part in the end of a task.

use std::sync::{Arc, mpsc};

use garrick_sched::{
    Address, Door, Ended, Flow, Here, Orders, SendError, Sponsor, Task, Turn, door,
};
use garrick_testkit::{ends, fail, silence_panics};

/// The reaction of a [`Hearer`] to a nudge.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Notes,
    Stops,
    Undoes,
    Panics,
    NudgesItself,
}

/// A task that reports its messages and its nudges in order. A nudge is reported as 0.
struct Hearer {
    told: mpsc::Sender<u32>,
    manner: Manner,
}

impl Hearer {
    fn new(manner: Manner) -> (Self, mpsc::Receiver<u32>) {
        let (told, heard) = mpsc::channel();
        (Self { told, manner }, heard)
    }

    fn tell(&self, what: u32) {
        let _ = self.told.send(what);
    }
}

impl Task for Hearer {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.tell(message);
        Flow::Continue
    }

    fn nudged(&mut self, turn: &Turn<'_, u32>) -> Flow {
        self.tell(0);
        match self.manner {
            Manner::Notes => Flow::Continue,
            Manner::Stops => Flow::Stop,
            Manner::Undoes => {
                let _ = turn.send(&turn.address(), 9);
                Flow::Undo
            }
            Manner::Panics => {
                let _ = turn.send(&turn.address(), 9);
                fail()
            }
            Manner::NudgesItself => {
                turn.nudge(&turn.address());
                Flow::Continue
            }
        }
    }

    const RECOVERS: bool = true;

    fn recover(&mut self, _: &str, _: &Turn<'_, u32>) -> Flow {
        self.tell(99);
        Flow::Continue
    }
}

/// A task that calls its closure with each number that it receives.
struct Doer<F>(F);

impl<F: Fn(u32, &Turn<'_, u32>) -> Flow + Send + 'static> Task for Doer<F> {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        (self.0)(message, turn)
    }
}

/// Runs `f` in a turn.
fn in_turn(here: &Here, f: impl Fn(&Turn<'_, u32>) -> Flow + Send + 'static) {
    let doer = here.spawn(Doer(move |_, turn: &Turn<'_, u32>| f(turn)));
    doer.send(0).unwrap();
    here.run();
}

#[test]
fn a_nudge_comes_in_its_place_among_the_messages() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (hearer, heard) = Hearer::new(Manner::Notes);
        let to = here.spawn(hearer);
        in_turn(&here, move |turn| {
            turn.send(&to, 1).unwrap();
            turn.nudge(&to);
            turn.nudge(&to);
            turn.send(&to, 2).unwrap();
            turn.send(&to, 3).unwrap();
            turn.nudge(&to);
            Flow::Continue
        });
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 0, 0, 2, 3, 0]);
    });
}

#[test]
fn a_nudge_to_another_worker_comes_in_its_place_too() {
    ends(|| {
        let (near, far) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        let (hearer, heard) = Hearer::new(Manner::Notes);
        let to = far.handle().spawn(hearer).unwrap();
        let doer = Doer(move |number, turn: &Turn<'_, u32>| {
            turn.send(&to, number).unwrap();
            turn.nudge(&to);
            Flow::Continue
        });
        let doer = near.handle().spawn(doer).unwrap();
        (1..=100).for_each(|number| doer.send(number).unwrap());
        drop(doer);
        near.shutdown();
        far.shutdown();
        let expected: Vec<u32> = (1..=100).flat_map(|number| [number, 0]).collect();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
    });
}

#[test]
fn a_turn_that_is_undone_has_nudged_nobody() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (hearer, heard) = Hearer::new(Manner::Notes);
        let to = here.spawn(hearer);
        let kept = to.clone();
        in_turn(&here, move |turn| {
            turn.send(&to, 1).unwrap();
            turn.nudge(&to);
            turn.send(&to, 2).unwrap();
            Flow::Undo
        });
        kept.send(3).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [3]);
    });
}

#[test]
fn what_a_nudged_turn_that_is_undone_has_sent_vanishes() {
    ends(|| {
        for (manner, expected) in [
            (Manner::Undoes, vec![0, 1]),
            (Manner::Panics, vec![0, 99, 1]),
        ] {
            silence_panics();
            let here = Here::new_here().unwrap();
            let (hearer, heard) = Hearer::new(manner);
            let to = here.spawn(hearer);
            in_turn(&here, move |turn| {
                turn.nudge(&to);
                turn.send(&to, 1).unwrap();
                Flow::Continue
            });
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
        }
    });
}

#[test]
fn a_task_can_stop_in_a_nudged_turn() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (hearer, heard) = Hearer::new(Manner::Stops);
        let to = here.spawn(hearer);
        let (told, ended) = mpsc::channel();
        let _watch = to.watch(move |how| told.send(how).unwrap());
        let kept = to.clone();
        in_turn(&here, move |turn| {
            turn.nudge(&to);
            turn.send(&to, 1).unwrap();
            turn.nudge(&to);
            Flow::Continue
        });
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0]);
        assert_eq!(ended.try_recv(), Ok(Ended::Stopped));
        assert_eq!(here.handle().dead_letters(), 1, "a nudge is no letter");
        // A nudge to a stopped task has no effect.
        in_turn(&here, move |turn| {
            turn.nudge(&kept);
            Flow::Continue
        });
        assert_eq!(here.handle().dead_letters(), 1);
    });
}

#[test]
fn a_task_that_nudges_itself_without_end_lets_others_run() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let (hearer, heard) = Hearer::new(Manner::NudgesItself);
        let to = here.spawn(hearer);
        let kept = to.clone();
        let first = here.spawn(Doer(move |_, turn: &Turn<'_, u32>| {
            turn.nudge(&to);
            Flow::Continue
        }));
        // Gives it as many turns as it takes others to have ten.
        let count = std::cell::Cell::new(0);
        let other = here.spawn(Doer(move |_, turn: &Turn<'_, u32>| {
            count.set(count.get() + 1);
            if count.get() < 10 {
                turn.send(&turn.address(), 0).unwrap();
            } else {
                kept.stop();
            }
            Flow::Continue
        }));
        first.send(0).unwrap();
        other.send(0).unwrap();
        here.run();
        assert!(heard.try_iter().count() > 0);
    });
}

/// A door that refuses all messages.
struct Closed;

impl Door for Closed {
    type Message = u32;

    fn pass(&self, message: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        Err(SendError(message))
    }
}

#[test]
fn a_nudge_to_a_door_does_nothing() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let closed = door(Closed);
        in_turn(&here, move |turn| {
            turn.nudge(&closed);
            Flow::Continue
        });
        assert_eq!(here.handle().dead_letters(), 0);
    });
}

#[test]
fn orders_are_seen_with_the_next_message_and_taken_in_order() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let orders = Arc::new(Orders::default());
        let (told, heard) = mpsc::channel();
        let seen = orders.clone();
        let to = here.spawn(Doer(move |message, _: &Turn<'_, u32>| {
            while seen.are_any() {
                told.send(seen.take().unwrap()).unwrap();
            }
            assert_eq!(seen.take(), None);
            told.send(message).unwrap();
            Flow::Continue
        }));
        in_turn(&here, move |turn| {
            turn.send(&to, 1).unwrap();
            orders.give(turn, &to, 10);
            orders.give(turn, &to, 11);
            Flow::Continue
        });
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [10, 11, 1]);
    });
}
