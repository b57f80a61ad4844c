//! Tests of tasks and messages whose destructors send or panic, in every place where the scheduler
//! drops them.

mod common;

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::does;
use garrick_sched::{Address, Flow, Here, Sponsor, Task, Turn};
use garrick_testkit::{Bomb, ByHand, OnDrop, ends, fail, silence_panics, wait};

/// A task that sends to other tasks (its heirs) when it is dropped.
#[derive(Default)]
struct Testator {
    heirs: Vec<Address<Will>>,
}

enum Will {
    Heir(Address<Will>),
    Legacy(#[allow(dead_code, reason = "carried, not read")] Box<u32>),
}

impl Task for Testator {
    type Message = Will;

    fn receive(&mut self, will: Will, _: &Turn<'_, Will>) -> Flow {
        if let Will::Heir(heir) = will {
            self.heirs.push(heir);
        }
        Flow::Continue
    }
}

impl Drop for Testator {
    fn drop(&mut self) {
        for heir in &self.heirs {
            let _ = heir.send(Will::Legacy(Box::new(1)));
        }
    }
}

/// Returns a list of tasks. Each task sends to the next two tasks in the list.
fn testators(here: &Here) -> Vec<Address<Will>> {
    let ring: Vec<_> = (0..8).map(|_| here.spawn(Testator::default())).collect();
    for (index, task) in ring.iter().enumerate() {
        task.send(Will::Heir(ring[(index + 1) % ring.len()].clone()))
            .unwrap();
        task.send(Will::Heir(ring[(index + 2) % ring.len()].clone()))
            .unwrap();
    }
    here.run();
    ring
}

#[test]
fn tasks_that_send_when_dropped_at_the_end() {
    ends(|| {
        let here = Here::new_here().unwrap();
        drop(testators(&here));
        drop(here);
    });
}

#[test]
fn tasks_with_addresses_outside_that_send_when_dropped_at_the_end() {
    ends(|| {
        let here = Here::new_here().unwrap();
        let ring = testators(&here);
        drop(here);
        assert!(ring.iter().all(Address::is_stopped));
    });
}

#[test]
fn a_message_to_nobody_that_panics_when_its_time_has_come() {
    silence_panics();
    let clock = ByHand::new();
    let here = Sponsor::builder().world(clock.clone()).here().unwrap();
    let late = here.spawn(does(|_: Option<Bomb>, _| Flow::Stop));
    let later = late.clone();
    let sender = here.spawn(does(move |(), turn| {
        turn.send_after(Duration::from_millis(1), &later, Some(Bomb))
            .unwrap();
        Flow::Continue
    }));
    sender.send(()).unwrap();
    here.run();
    late.send(None).unwrap();
    here.run();
    // The last task to run is gone when its time comes.
    here.spawn(does(|(), _| Flow::Continue)).send(()).unwrap();
    here.run();
    clock.advance(Duration::from_secs(1));
    for _ in 0..16 {
        here.run();
    }
    assert!(!sender.is_stopped(), "nobody but the message is to blame");
}

#[test]
fn an_innocent_task_is_not_blamed_for_a_message_that_panics() {
    silence_panics();
    let clock = ByHand::new();
    let here = Sponsor::builder().world(clock.clone()).here().unwrap();
    let late = here.spawn(does(|_: Option<Bomb>, _| Flow::Stop));
    let later = late.clone();
    let sender = here.spawn(does(move |(), turn| {
        turn.send_after(Duration::from_millis(1), &later, Some(Bomb))
            .unwrap();
        Flow::Continue
    }));
    let innocent = here.spawn(does(|(), _| Flow::Continue));
    sender.send(()).unwrap();
    here.run();
    late.send(None).unwrap();
    here.run();
    innocent.send(()).unwrap();
    here.run();
    clock.advance(Duration::from_secs(1));
    for _ in 0..16 {
        here.run();
    }
    assert!(!innocent.is_stopped());
}

#[test]
fn what_a_committed_turn_sent_survives_the_destructor_that_panics_after_it() {
    silence_panics();
    let here = Here::new_here().unwrap();
    let (heard, hears) = channel();
    let listener = here.spawn(does(move |n: u32, _| {
        heard.send(n).unwrap();
        Flow::Continue
    }));
    let bomb = Bomb;
    let to = listener.clone();
    let last = here.spawn(does(move |n: u32, turn| {
        let _armed = &bomb;
        turn.send(&to, n).unwrap();
        Flow::Continue
    }));
    last.send(7).unwrap();
    drop(last);
    here.run();
    assert_eq!(hears.try_recv(), Ok(7));
}

#[test]
fn a_queued_message_that_panics_when_the_sponsor_ends_now() {
    silence_panics();
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (entered, enters) = channel();
        let (go, gone) = channel::<()>();
        let task = sponsor.handle().spawn(does(move |_: Option<Bomb>, _| {
            entered.send(()).unwrap();
            let _ = gone.recv();
            Flow::Continue
        }));
        let task = task.unwrap();
        task.send(None).unwrap();
        wait(&enters);
        task.send(Some(Bomb)).unwrap();
        task.send(Some(Bomb)).unwrap();
        let ending = std::thread::spawn(move || sponsor.shutdown_now());
        drop(go);
        ending
            .join()
            .expect("a destructor's panic must not come out of a shutdown");
    });
}

#[test]
fn waiting_messages_that_panic_when_their_task_stops() {
    silence_panics();
    ends(|| {
        let here = Here::new_here().unwrap();
        let task = here.spawn(does(|_: Option<Bomb>, _| Flow::Stop));
        task.send(None).unwrap();
        for _ in 0..3 {
            task.send(Some(Bomb)).unwrap();
        }
        here.run();
        assert!(task.is_stopped());
        assert!(task.send(None).is_err());
    });
}

#[test]
fn a_message_that_panics_in_the_inbox_of_a_stopped_task_takes_no_other_with_it() {
    silence_panics();
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (entered, enters) = channel();
        let (go, gone) = channel::<()>();
        let stops = sponsor.handle().spawn(does(move |_: Option<Bomb>, _| {
            entered.send(()).unwrap();
            let _ = gone.recv();
            Flow::Stop
        }));
        let stops = stops.unwrap();
        let (heard, hears) = channel();
        let listener = sponsor.handle().spawn(does(move |n: u32, _| {
            heard.send(n).unwrap();
            Flow::Continue
        }));
        let listener = listener.unwrap();
        stops.send(None).unwrap();
        wait(&enters);
        stops.send(Some(Bomb)).unwrap();
        listener.send(1).unwrap();
        drop(go);
        assert_eq!(wait(&hears), 1);
        sponsor.shutdown();
    });
}

#[test]
fn a_panic_whose_payload_panics_when_dropped() {
    silence_panics();
    ends(|| {
        let here = Here::new_here().unwrap();
        let task = here.spawn(does(|(), _| std::panic::panic_any(Bomb)));
        task.send(()).unwrap();
        here.run();
        assert!(task.is_stopped());
    });
}

#[test]
fn a_reporter_that_panics_leaves_no_task_half_alive() {
    silence_panics();
    ends(|| {
        let here = Sponsor::builder().on_failure(|_| fail()).here().unwrap();
        let task = here.spawn(does(|(), _| fail()));
        task.send(()).unwrap();
        here.run();
        assert!(task.is_stopped());
    });
}

#[test]
fn a_task_that_panics_when_dropped_at_the_end_and_a_reporter_that_does() {
    silence_panics();
    ends(|| {
        let sponsor = Sponsor::builder()
            .workers(2)
            .on_failure(|_| fail())
            .start()
            .unwrap();
        let bomb = Bomb;
        let task = sponsor.handle().spawn(does(move |(), _| {
            let _armed = &bomb;
            Flow::Continue
        }));
        sponsor.shutdown_now();
        assert!(task.unwrap().is_stopped());
    });
}

#[test]
fn what_a_reporter_sends_is_sent_even_if_a_destructor_failed() {
    silence_panics();
    ends(|| {
        let (heard, hears) = channel();
        let elsewhere = Sponsor::pool(1).unwrap();
        let supervisor = elsewhere.handle().spawn(does(move |(), _| {
            heard.send(()).unwrap();
            Flow::Continue
        }));
        let supervisor = supervisor.unwrap();
        let here = Sponsor::builder()
            .on_failure(move |_| supervisor.send(()).unwrap())
            .here()
            .unwrap();
        let bomb = Bomb;
        let task = here.spawn(does(move |(), _| {
            let _armed = &bomb;
            Flow::Continue
        }));
        task.send(()).unwrap();
        drop(task);
        here.run();
        wait(&hears);
    });
}

#[test]
fn what_a_late_message_to_nobody_sends_when_dropped_is_sent() {
    ends(|| {
        let (heard, hears) = channel();
        let elsewhere = Sponsor::pool(1).unwrap();
        let listener = elsewhere.handle().spawn(does(move |(), _| {
            heard.send(()).unwrap();
            Flow::Continue
        }));
        let listener = listener.unwrap();
        let clock = ByHand::new();
        let here = Sponsor::builder().world(clock.clone()).here().unwrap();
        let late = here.spawn(does(|_: Option<Box<dyn Send>>, _| Flow::Stop));
        let later = late.clone();
        let sender = here.spawn(does(move |(), turn| {
            let to = listener.clone();
            let message = OnDrop(move || to.send(()).unwrap());
            turn.send_after(Duration::from_millis(1), &later, Some(Box::new(message)))
                .unwrap();
            Flow::Continue
        }));
        sender.send(()).unwrap();
        here.run();
        late.send(None).unwrap();
        here.run();
        clock.advance(Duration::from_secs(1));
        for _ in 0..16 {
            here.run();
        }
        wait(&hears);
    });
}

/// A task that sends a message and then fails. The destructor of the message reports to the task.
struct Rueful {
    other: Address<OnDropBox>,
    /// True if the task survives a failure.
    recovers: bool,
    heard: std::sync::mpsc::Sender<u32>,
}

type OnDropBox = OnDrop<Box<dyn FnMut()>>;

impl Task for Rueful {
    type Message = u32;
    const RECOVERS: bool = true;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        self.heard.send(number).unwrap();
        if number < 10 {
            let me = turn.address();
            let tells = move || {
                let _ = me.send(10 + number);
            };
            turn.send(&self.other, OnDrop(Box::new(tells) as _))
                .unwrap();
            // Undone with the other messages, unlike the messages that its destructor sends.
            turn.send(&turn.address(), 100).unwrap();
            fail();
        }
        Flow::Continue
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, u32>) -> Flow {
        if self.recovers {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }
}

#[test]
fn what_an_undone_message_sends_to_the_one_that_failed_is_handled_or_counted_once() {
    silence_panics();
    // One message is handled in the run queue's entry, several in the mailbox.
    for (recovers, numbers) in [(true, 1), (true, 3), (false, 1), (false, 3)] {
        ends(move || {
            let here = Here::new_here().unwrap();
            let (heard, told) = channel();
            let other = here.spawn(does(|_: OnDropBox, _: &Turn<'_, _>| Flow::Continue));
            let rueful = here.spawn(Rueful {
                other,
                recovers,
                heard,
            });
            (0..numbers).for_each(|number| rueful.send(number).unwrap());
            here.run();
            let mut heard: Vec<_> = told.try_iter().collect();
            heard.sort_unstable();
            let (dead, failures) = (here.handle().dead_letters(), here.handle().failures());
            if recovers {
                let all: Vec<_> = (0..numbers).chain(10..10 + numbers).collect();
                assert_eq!((heard, dead, failures), (all, 0, numbers as usize));
                assert!(!rueful.is_stopped());
            } else {
                // The waiting messages, and the message of the destructor.
                assert_eq!((heard, dead, failures), (vec![0], u64::from(numbers), 1));
                assert!(rueful.is_stopped());
            }
            drop(rueful);
            here.run();
        });
    }
}

#[test]
fn a_reporter_that_drops_the_last_address_of_the_task_that_failed() {
    silence_panics();
    for messages in 1..=2 {
        ends(move || {
            let last: Arc<Mutex<Option<Address<()>>>> = Arc::default();
            let (died, dies) = channel();
            let taken = last.clone();
            let here = Sponsor::builder()
                .on_failure(move |_| drop(taken.lock().unwrap().take()))
                .here()
                .unwrap();
            let guard = OnDrop(move || died.send(()).unwrap());
            let task = here.spawn(does(move |(), _| {
                let _ = &guard;
                fail()
            }));
            (0..messages).for_each(|_| task.send(()).unwrap());
            *last.lock().unwrap() = Some(task);
            here.run();
            assert_eq!(dies.try_iter().count(), 1);
            assert_eq!(here.handle().dead_letters(), messages - 1);
        });
    }
}

/// A task that fails, and then may fail again while it recovers.
struct Relapses(Flow);

impl Task for Relapses {
    type Message = ();
    const RECOVERS: bool = true;

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        fail()
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, ()>) -> Flow {
        if self.0 == Flow::Stop {
            fail();
        }
        self.0
    }
}

#[test]
fn what_a_reporter_sends_is_not_undone_by_the_task_that_recovers() {
    silence_panics();
    for (flow, failures) in [(Flow::Continue, 1), (Flow::Undo, 1), (Flow::Stop, 2)] {
        ends(move || {
            let (heard, hears) = channel();
            let elsewhere = Here::new_here().unwrap();
            let supervisor = elsewhere.spawn(does(move |(), _| {
                heard.send(()).unwrap();
                Flow::Continue
            }));
            let here = Sponsor::builder()
                .on_failure(move |_| supervisor.send(()).unwrap())
                .here()
                .unwrap();
            here.spawn(Relapses(flow)).send(()).unwrap();
            here.run();
            elsewhere.run();
            assert_eq!(hears.try_iter().count(), failures, "{flow:?}");
        });
    }
}

/// A task whose destructor sends a message and then panics.
struct LastWord(Address<u32>);

impl Task for LastWord {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }
}

impl Drop for LastWord {
    fn drop(&mut self) {
        self.0.send(7).unwrap();
        fail();
    }
}

/// Returns a task on a separate sponsor, and a receiver of the task's messages. Events on other
/// sponsors do not affect this task.
fn elsewhere() -> (Here, Address<u32>, Receiver<u32>) {
    let (heard, hears) = channel();
    let elsewhere = Here::new_here().unwrap();
    let listener = elsewhere.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
        heard.send(n).unwrap();
        Flow::Continue
    }));
    (elsewhere, listener, hears)
}

#[test]
fn what_a_task_sends_when_dropped_is_sent_even_if_it_fails_then() {
    silence_panics();
    // Dropped at the end of an activation, between two, when it stops, and at the end of the
    // sponsor.
    let ways: [fn(&Here, Address<()>); 4] = [
        |here, task| {
            task.send(()).unwrap();
            drop(task);
            here.run();
        },
        |here, task| {
            here.run();
            drop(task);
            here.run();
        },
        |here, task| {
            task.stop();
            here.run();
        },
        |_, _| {},
    ];
    for way in ways {
        ends(move || {
            let (elsewhere, listener, hears) = elsewhere();
            let here = Here::new_here().unwrap();
            way(&here, here.spawn(LastWord(listener)));
            let handle = here.handle();
            drop(here);
            elsewhere.run();
            assert_eq!(hears.try_iter().collect::<Vec<_>>(), [7]);
            assert_eq!(handle.failures(), 1);
        });
    }
}

type Movable = OnDrop<Box<dyn FnMut() + Send>>;

/// A task that never handles its first message.
struct Stillborn(fn() -> Flow);

impl Task for Stillborn {
    type Message = Movable;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, Movable>) -> Flow {
        (self.0)()
    }

    fn receive(&mut self, _: Movable, _: &Turn<'_, Movable>) -> Flow {
        unreachable!("it has not begun")
    }
}

#[test]
fn what_the_first_message_sends_when_dropped_is_not_undone_with_the_start_that_failed() {
    silence_panics();
    for end in [|| Flow::Stop, || fail()] {
        ends(move || {
            let (elsewhere, listener, hears) = elsewhere();
            let here = Here::new_here().unwrap();
            // The child is made in a turn that is undone, and starts with its first message.
            let mut kept = None;
            let parent = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
                let Some(child) = kept.take() else {
                    kept = Some(turn.spawn(Stillborn(end)));
                    return Flow::Undo;
                };
                let to = listener.clone();
                let tells = OnDrop(Box::new(move || to.send(7).unwrap()) as _);
                turn.send(&child, tells).unwrap();
                Flow::Continue
            }));
            parent.send(()).unwrap();
            parent.send(()).unwrap();
            here.run();
            elsewhere.run();
            assert_eq!(hears.try_iter().collect::<Vec<_>>(), [7]);
            assert_eq!(here.handle().dead_letters(), 1);
        });
    }
}
