//! Tests that a turn that is undone or panics has no effect: no message, no task and no timer.

mod common;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::does;
use garrick_sched::{Address, Flow, Here, Sponsor, Task, Turn};
use garrick_testkit::{ByHand, OnDrop, ends, fail, silence_panics, wait};

/// The way in which a turn is undone. A panic also stops the task.
type End = fn() -> Flow;

const UNDONE: [End; 2] = [|| Flow::Undo, || fail()];

/// Makes a sponsor on this thread, and a task on it that forwards its messages.
fn stand<M: 'static>() -> (Here, Arc<ByHand>, Address<M>, Receiver<M>) {
    silence_panics();
    let clock = ByHand::new();
    let here = Sponsor::builder().world(clock.clone()).here().unwrap();
    let (told, heard) = channel();
    let listener = here.spawn(does(move |message: M, _: &Turn<'_, M>| {
        told.send(message).unwrap();
        Flow::Continue
    }));
    (here, clock, listener, heard)
}

/// Runs one turn of a new task on `here`.
fn turn(here: &Here, mut body: impl FnMut(&Turn<'_, ()>) -> Flow + 'static) {
    here.spawn(does(move |(), turn: &Turn<'_, ()>| body(turn)))
        .send(())
        .unwrap();
    here.run();
}

/// Sends messages from `of` in a turn that is undone, to a listener that has `before` messages
/// waiting.
fn sends_vanish<M: Send + 'static>(of: fn(u32) -> M, number: fn(&M) -> u32, before: u32) {
    for end in UNDONE {
        let (here, _, listener, heard) = stand();
        let to = listener.clone();
        turn(&here, move |turn| {
            (0..before).for_each(|n| turn.send(&to, of(n)).unwrap());
            // Runs before the listener does, which makes the messages wait.
            let to = to.clone();
            let undone = turn.spawn(Undone { to, of, end });
            turn.send(&undone, ()).unwrap();
            Flow::Continue
        });
        listener.send(of(1_000)).unwrap();
        here.run();
        let heard: Vec<_> = heard.try_iter().map(|message| number(&message)).collect();
        let expected: Vec<_> = (0..before).chain([1_000]).collect();
        assert_eq!(heard, expected);
    }
}

/// A task that sends a hundred messages in a turn that is undone.
struct Undone<M> {
    to: Address<M>,
    of: fn(u32) -> M,
    end: End,
}

impl<M: Send + 'static> Task for Undone<M> {
    type Message = ();

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        (0..100).for_each(|n| turn.send(&self.to, (self.of)(500 + n)).unwrap());
        (self.end)()
    }
}

#[test]
fn sends_to_a_neighbour() {
    for before in [0, 1, 2, 100] {
        sends_vanish(|n| n, |n| *n, before);
        sends_vanish(Box::new, |n| **n, before);
        sends_vanish(|n| [n; 8], |n| n[0], before);
        sends_vanish(|n| Box::new([n; 900]), |n| n[0], before);
        sends_vanish(|n| [n; 1_200], |n| n[0], before);
    }
}

#[test]
fn sends_to_oneself() {
    for payload in [false, true] {
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let task = here.spawn(does(
            move |(n, _): (u32, Option<[u64; 8]>), turn: &Turn<'_, _>| {
                told.send(n).unwrap();
                if n % 2 == 1 {
                    (0..50).for_each(|_| turn.send(&turn.address(), (99, None)).unwrap());
                    return Flow::Undo;
                }
                if n < 10 {
                    turn.send(&turn.address(), (n + 1, None)).unwrap();
                    turn.send(&turn.address(), (n + 2, payload.then_some([0; 8])))
                        .unwrap();
                }
                Flow::Continue
            },
        ));
        task.send((0, None)).unwrap();
        here.run();
        let expected: Vec<_> = (0..=10).collect();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn sends_to_another_sponsor() {
    ends(|| {
        silence_panics();
        let elsewhere = Sponsor::pool(2).unwrap();
        for end in UNDONE {
            let here = Here::new_here().unwrap();
            let (told, heard): (Sender<u32>, _) = channel();
            let listeners: Vec<_> = (0..9)
                .map(|_| {
                    let told = told.clone();
                    let task = does(move |n, _: &Turn<'_, u32>| {
                        told.send(n).unwrap();
                        Flow::Continue
                    });
                    elsewhere.handle().spawn(task).unwrap()
                })
                .collect();
            let all = listeners.clone();
            turn(&here, move |turn| {
                (0..200).for_each(|n| turn.send(&all[n % 9], 500).unwrap());
                end()
            });
            listeners
                .iter()
                .for_each(|listener| listener.send(1).unwrap());
            let heard: Vec<_> = (0..9).map(|_| wait(&heard)).collect();
            assert_eq!(heard, [1; 9]);
        }
    });
}

/// A task that reports when it starts and when it is dropped.
struct Child(Sender<&'static str>);

impl Task for Child {
    type Message = ();
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, ()>) -> Flow {
        self.0.send("starts").unwrap();
        Flow::Continue
    }

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send("receives").unwrap();
        Flow::Continue
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.0.send("dropped").unwrap();
    }
}

#[test]
fn tasks_that_were_made() {
    for end in UNDONE {
        let (here, _, told, heard) = stand::<()>();
        drop((told, heard));
        let (told, heard) = channel();
        turn(&here, move |turn| {
            let child = turn.spawn(Child(told.clone()));
            turn.send(&child, ()).unwrap();
            let _unused = turn.spawn(Child(told.clone()));
            end()
        });
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["dropped", "dropped"]);
    }
}

#[test]
fn a_child_that_is_kept_starts_with_its_first_message() {
    let here = Here::new_here().unwrap();
    let (told, heard) = channel();
    let mut child: Option<Address<()>> = None;
    let parent = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
        if let Some(child) = &child {
            turn.send(child, ()).unwrap();
            return Flow::Continue;
        }
        child = Some(turn.spawn(Child(told.clone())));
        Flow::Undo
    }));
    parent.send(()).unwrap();
    here.run();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [""; 0]);
    parent.send(()).unwrap();
    here.run();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["starts", "receives"]);
}

#[test]
fn timers() {
    for end in UNDONE {
        let (here, clock, listener, heard) = stand();
        turn(&here, move |turn| {
            turn.send_after(Duration::from_millis(1), &listener, 1)
                .unwrap();
            end()
        });
        clock.advance(Duration::from_secs(1));
        (0..16).for_each(|_| here.run());
        assert_eq!(heard.try_iter().count(), 0);
    }
}

#[test]
fn what_was_sent_is_dropped_once() {
    for end in UNDONE {
        let (here, _, listener, heard) = stand::<Box<dyn Send>>();
        let elsewhere = Here::new_here().unwrap();
        let foreign = elsewhere.spawn(does(|_: Box<dyn Send>, _| Flow::Continue));
        let (died, dies) = channel();
        turn(&here, move |turn| {
            let message = || {
                let died = died.clone();
                Box::new(OnDrop(move || died.send(()).unwrap()))
            };
            turn.send(&listener, message()).unwrap();
            turn.send(&listener, message()).unwrap();
            turn.send(&foreign, message()).unwrap();
            turn.send_after(Duration::from_secs(1), &foreign, message())
                .unwrap();
            end()
        });
        assert_eq!(dies.try_iter().count(), 4);
        assert_eq!(heard.try_iter().count(), 0);
    }
}

#[test]
fn nothing_else_changes() {
    let (here, _, listener, heard) = stand();
    let mut own = 0;
    let to = listener.clone();
    let task = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
        own += 1;
        turn.send(&to, own).unwrap();
        if n == 0 { Flow::Undo } else { Flow::Continue }
    }));
    // Messages of others stay, and so do the task, its fields and its waiting messages.
    [1, 0, 0, 1].iter().for_each(|n| task.send(*n).unwrap());
    listener.send(77).unwrap();
    here.run();
    let mut heard: Vec<_> = heard.try_iter().collect();
    heard.sort_unstable();
    assert_eq!(heard, [1, 4, 77]);
    assert_eq!(
        (here.handle().failures(), here.handle().dead_letters()),
        (0, 0)
    );
}

#[test]
fn a_panic_stops_its_task_and_is_reported() {
    silence_panics();
    let (told, tells) = channel();
    let report =
        move |failure: &garrick_sched::Failure| told.send(failure.message.clone()).unwrap();
    let here = Sponsor::builder().on_failure(report).here().unwrap();
    let task = here.spawn(does(|(), _| fail()));
    [(), (), ()]
        .into_iter()
        .for_each(|()| task.send(()).unwrap());
    here.run();
    assert!(task.is_stopped());
    assert_eq!(
        tells.try_iter().collect::<Vec<_>>(),
        [garrick_testkit::ON_PURPOSE]
    );
    assert_eq!(
        (here.handle().failures(), here.handle().dead_letters()),
        (1, 2)
    );
}

/// A task that forwards its messages, and panics when it is asked if it stops.
struct Stubborn(Address<u32>);

impl Task for Stubborn {
    type Message = u32;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.0, message).unwrap();
        Flow::Continue
    }

    fn stops(&mut self) -> bool {
        fail()
    }
}

#[test]
fn a_panic_between_turns_does_not_undo_the_turn_before() {
    let (here, _, listener, heard) = stand::<u32>();
    let stubborn = here.spawn(Stubborn(listener));
    stubborn.send(7).unwrap();
    stubborn.stop();
    here.run();
    assert!(stubborn.is_stopped());
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [7]);
}
