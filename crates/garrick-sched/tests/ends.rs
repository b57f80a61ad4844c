//! Tests of the ends of tasks: notices about the end, and tasks that recover from a turn that
//! panicked.

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};

use common::does;
use garrick_sched::{Address, Ended, Flow, Here, Sponsor, Task, Turn, audit};
use garrick_testkit::{ends_alone, fail, silence_panics, wait};

/// A task that runs the functions that it receives.
fn obedient() -> impl Task<Message = fn() -> Flow> + Send {
    does(|order: fn() -> Flow, _: &Turn<'_, fn() -> Flow>| order())
}

/// Watches the task `whom` outside of a turn.
fn watched<M: 'static>(whom: &Address<M>) -> Receiver<Ended> {
    let (notices, heard) = channel();
    whom.watch(move |ended| notices.send(ended).unwrap());
    heard
}

#[test]
fn each_way_to_end_has_its_notice() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let orders: [(fn() -> Flow, Ended); 2] = [
            (|| Flow::Stop, Ended::Stopped),
            (|| fail(), Ended::Failed(garrick_testkit::ON_PURPOSE.into())),
        ];
        for (order, expected) in orders {
            let task = here.spawn(obedient());
            let (first, second) = (watched(&task), watched(&task));
            task.send(|| Flow::Continue).unwrap();
            here.run();
            assert!(first.try_recv().is_err(), "it lives");
            task.send(order).unwrap();
            here.run();
            assert_eq!(first.try_recv(), Ok(expected.clone()));
            assert_eq!(second.try_recv(), Ok(expected), "all who watch hear of it");
            assert_eq!(watched(&task).try_recv(), Ok(Ended::Before));
        }
        let asked = here.spawn(obedient());
        let heard = watched(&asked);
        asked.stop();
        here.run();
        assert_eq!(heard.try_recv(), Ok(Ended::Stopped));
    });
}

#[test]
fn a_watch_keeps_nothing_alive() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let task = here.spawn(obedient());
        let heard = watched(&task);
        here.run();
        drop(task);
        here.run();
        assert_eq!(heard.try_recv(), Ok(Ended::Unreachable));

        // A task that loses its last address to its own worker.
        let (notices, heard) = channel();
        let parent = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            let child = turn.spawn(obedient());
            let notices: Sender<Ended> = notices.clone();
            child.watch(move |ended| notices.send(ended).unwrap());
            turn.send(&child, (|| Flow::Continue) as fn() -> Flow)
                .unwrap();
            Flow::Continue
        }));
        parent.send(()).unwrap();
        here.run();
        assert_eq!(heard.try_recv(), Ok(Ended::Unreachable));
    });
}

#[test]
fn a_sponsor_that_ends_says_so_for_its_tasks() {
    ends_alone(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let task = sponsor.handle().spawn(obedient()).unwrap();
        let heard = watched(&task);
        sponsor.shutdown();
        assert_eq!(wait(&heard), Ended::SponsorEnded);
    });
}

#[test]
fn a_cancelled_watch_is_silent() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let task = here.spawn(obedient());
        let (notices, heard) = channel();
        let watch = task.watch(move |ended| notices.send(ended).unwrap());
        watch.cancel();
        let other = watched(&task);
        here.run();
        task.stop();
        here.run();
        assert_eq!(other.try_recv(), Ok(Ended::Stopped));
        assert!(heard.try_recv().is_err());
    });
}

#[test]
fn a_watch_of_an_undone_turn_never_was() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let task = here.spawn(obedient());
        let (notices, heard) = channel();
        let watcher = here.spawn(does({
            let task = task.clone();
            move |flow: Flow, turn: &Turn<'_, Flow>| {
                let notices = notices.clone();
                let _ = turn.watch(&task, move |_| {
                    notices.send(()).unwrap();
                    Flow::Continue
                });
                flow
            }
        }));
        watcher.send(Flow::Undo).unwrap();
        here.run();
        task.stop();
        here.run();
        assert!(heard.try_recv().is_err());
    });
}

#[test]
fn a_notice_comes_behind_what_the_dead_one_has_sent() {
    ends_alone(|| {
        let sponsors = [
            Sponsor::single("near").unwrap(),
            Sponsor::single("far").unwrap(),
        ];
        for far in [0, 1] {
            let (told, heard) = channel();
            let watcher = sponsors[0].handle().spawn(Watcher { told }).unwrap();
            let to = watcher.clone();
            let chatty = sponsors[far]
                .handle()
                .spawn(does(move |count: u32, turn: &Turn<'_, u32>| {
                    for number in 0..count {
                        turn.send(&to, Heard::Number(number)).unwrap();
                    }
                    Flow::Stop
                }))
                .unwrap();
            watcher.send(Heard::Watch(chatty)).unwrap();
            let heard: Vec<_> = (0..=300).map(|_| wait(&heard)).collect();
            let expected: Vec<_> = (0..300).map(Some).chain([None]).collect();
            assert_eq!(heard, expected);
        }
    });
}

/// The message of a [`Watcher`].
enum Heard {
    Watch(Address<u32>),
    Number(u32),
    Ended(Ended),
}

/// A task that forwards its messages, and a notice about an end as `None`.
struct Watcher {
    told: Sender<Option<u32>>,
}

impl Task for Watcher {
    type Message = Heard;

    fn receive(&mut self, message: Heard, turn: &Turn<'_, Heard>) -> Flow {
        match message {
            Heard::Watch(whom) => {
                let _ = turn.watch(&whom, Heard::Ended);
                turn.send(&whom, 300).unwrap();
            }
            Heard::Number(number) => self.told.send(Some(number)).unwrap(),
            Heard::Ended(ended) => {
                assert_eq!(ended, Ended::Stopped);
                self.told.send(None).unwrap();
            }
        }
        Flow::Continue
    }
}

/// The action of a [`Phoenix`] that handles a message.
#[derive(Clone, Copy)]
enum Blow {
    /// The message is handled.
    None,
    /// The turn panics.
    One,
    /// The turn panics, and so does the recovery.
    Two,
    /// The turn panics, and the recovery sends to itself and gives up.
    Last,
}

/// A task that recovers from panics.
struct Phoenix {
    told: Sender<String>,
    last: Blow,
}

impl Task for Phoenix {
    type Message = (u32, Blow);

    fn receive(&mut self, (number, blow): (u32, Blow), turn: &Turn<'_, (u32, Blow)>) -> Flow {
        self.last = blow;
        // Undone with the turn.
        turn.send(&turn.address(), (number + 1000, Blow::None))
            .unwrap();
        match blow {
            Blow::None => self.told.send(format!("handled {number}")).unwrap(),
            Blow::One | Blow::Two | Blow::Last => fail(),
        }
        Flow::Undo
    }

    const RECOVERS: bool = true;

    fn recover(&mut self, message: &str, turn: &Turn<'_, (u32, Blow)>) -> Flow {
        assert_eq!(message, garrick_testkit::ON_PURPOSE);
        self.told.send("recovered".into()).unwrap();
        match self.last {
            Blow::Two => fail(),
            Blow::Last => {
                turn.send(&turn.address(), (7, Blow::None)).unwrap();
                Flow::Stop
            }
            Blow::None | Blow::One => Flow::Continue,
        }
    }
}

/// Sends all of `blows` at once, or one by one. Returns the reports.
fn strike(blows: &[Blow], at_once: bool) -> (Vec<String>, Option<Ended>, u64, usize) {
    silence_panics();
    let here = Here::new_here().unwrap();
    let (told, heard) = channel();
    let phoenix = here.spawn(Phoenix {
        told,
        last: Blow::None,
    });
    let ended = watched(&phoenix);
    for (number, blow) in blows.iter().enumerate() {
        let _ = phoenix.send((number as u32, *blow));
        if !at_once {
            here.run();
        }
    }
    here.run();
    let handle = here.handle();
    (
        heard.try_iter().collect(),
        ended.try_recv().ok(),
        handle.dead_letters(),
        handle.failures(),
    )
}

#[test]
fn a_task_that_recovers_goes_on_with_the_next_message() {
    ends_alone(|| {
        for at_once in [true, false] {
            let blows = [Blow::None, Blow::One, Blow::One, Blow::None];
            let (heard, ended, dead_letters, failures) = strike(&blows, at_once);
            assert_eq!(heard, ["handled 0", "recovered", "recovered", "handled 3"]);
            assert_eq!((ended, dead_letters, failures), (None, 0, 2));
        }
    });
}

#[test]
fn a_task_that_does_not_recover_stops() {
    ends_alone(|| {
        for (blow, failures) in [(Blow::Two, 2), (Blow::Last, 1)] {
            for at_once in [true, false] {
                let (heard, ended, _, failed) = strike(&[Blow::None, blow, Blow::None], at_once);
                assert_eq!(heard, ["handled 0", "recovered"]);
                assert_eq!(
                    ended,
                    Some(Ended::Failed(garrick_testkit::ON_PURPOSE.into()))
                );
                assert_eq!(failed, failures);
            }
        }
    });
}

#[test]
fn nothing_is_left_of_watched_tasks() {
    ends_alone(|| {
        let before = audit();
        let sponsor = Sponsor::pool(2).unwrap();
        for _ in 0..1000 {
            let task = sponsor.handle().spawn(obedient()).unwrap();
            let heard = watched(&task);
            drop(task);
            assert_eq!(wait(&heard), Ended::Unreachable);
        }
        sponsor.shutdown();
        assert_eq!(audit(), before);
    });
}
