//! Tests of trails: values that are passed along with the messages of a turn.

use std::sync::{Arc, mpsc};

use garrick_sched::{
    Address, Flow, Looking, Spawns, Sponsor, Task, Trail, Turn, WhenFull, audit,
    trails_from_outside,
};
use garrick_testkit::{HANGS_AFTER, ends_alone, fail, silence_panics};

/// The number in a trail, or `None` if there is no trail.
fn number_in(trail: Option<&Trail>) -> Option<u32> {
    trail
        .and_then(|trail| trail.value::<Arc<u32>>())
        .map(|n| **n)
}

/// A message to a [`Hop`].
#[derive(Debug, Clone, Copy)]
struct Go {
    number: u32,
    /// The trail that the turn sets, if there is one.
    sets: Option<u32>,
    does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Nothing,
    Blocks,
    Panics,
    Undoes,
}

fn plain(number: u32) -> Go {
    Go {
        number,
        sets: None,
        does: Does::Nothing,
    }
}

/// A task that reports the number of each message and the trail of its turn, and passes the message
/// on.
struct Hop {
    next: Vec<Address<Go>>,
    told: mpsc::Sender<(u32, Option<u32>)>,
}

impl Task for Hop {
    type Message = Go;
    const RECOVERS: bool = true;

    fn receive(&mut self, go: Go, turn: &Turn<'_, Go>) -> Flow {
        let _ = self
            .told
            .send((go.number, number_in(turn.trail().as_ref())));
        if let Some(trail) = go.sets {
            turn.set_trail(Trail::new(Arc::new(trail)));
        }
        for next in &self.next {
            let _ = turn.send(next, plain(go.number));
        }
        match go.does {
            Does::Nothing => Flow::Continue,
            Does::Blocks => {
                turn.blocking(std::thread::yield_now);
                for next in &self.next {
                    let _ = turn.send(next, plain(go.number + 1));
                }
                Flow::Continue
            }
            Does::Panics => fail(),
            Does::Undoes => Flow::Undo,
        }
    }

    fn recover(&mut self, _: &str, turn: &Turn<'_, Go>) -> Flow {
        assert!(turn.trail().is_none());
        Flow::Continue
    }
}

/// A line of [`Hop`] tasks, and the reports of each of them.
struct Row {
    first: Address<Go>,
    heard: Vec<mpsc::Receiver<(u32, Option<u32>)>>,
}

fn row(sponsor: &Sponsor, hops: usize) -> Row {
    let (mut next, mut heard) = (Vec::new(), Vec::new());
    for _ in 0..hops {
        let (told, hears) = mpsc::channel();
        let hop = sponsor.handle().spawn(Hop { next, told }).unwrap();
        next = vec![hop];
        heard.push(hears);
    }
    heard.reverse();
    Row {
        first: next.remove(0),
        heard,
    }
}

impl Row {
    fn send(&self, go: Go) {
        self.first.send(go).unwrap();
    }

    /// Stops the sponsor after all messages are handled, and returns the reports of each [`Hop`].
    fn end(self, sponsor: Sponsor) -> Vec<Vec<(u32, Option<u32>)>> {
        drop(self.first);
        sponsor.shutdown();
        self.heard
            .iter()
            .map(|heard| heard.iter().collect())
            .collect()
    }
}

#[test]
fn a_trail_travels_with_the_messages_of_its_turn_and_of_no_other() {
    ends_alone(|| {
        for workers in 1..4 {
            let sponsor = Sponsor::builder().workers(workers).start().unwrap();
            let row = row(&sponsor, 3);
            for number in 0u32..1000 {
                let sets = number.is_multiple_of(3).then_some(number + 7);
                row.send(Go {
                    sets,
                    ..plain(number)
                });
            }
            let heard = row.end(sponsor);
            let all = |trail: fn(u32) -> Option<u32>| -> Vec<_> {
                (0..1000).map(|number| (number, trail(number))).collect()
            };
            assert_eq!(heard[0], all(|_| None), "{workers}");
            let set = |number: u32| number.is_multiple_of(3).then_some(number + 7);
            // In the order of sending, and with the trail of each message.
            assert_eq!(heard[1], all(set), "{workers}");
            assert_eq!(heard[2], all(set), "{workers}");
        }
    });
}

#[test]
fn failed_and_undone_turns_leave_no_trail() {
    ends_alone(|| {
        silence_panics();
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let row = row(&sponsor, 2);
        for (number, does) in (0..).zip([Does::Panics, Does::Undoes, Does::Nothing]) {
            row.send(Go {
                number,
                sets: (does != Does::Nothing).then_some(5),
                does,
            });
        }
        let letters = sponsor.handle();
        let heard = row.end(sponsor);
        assert_eq!(heard[0], [(0, None), (1, None), (2, None)]);
        assert_eq!(heard[1], [(2, None)]);
        assert_eq!(letters.dead_letters(), 0);
    });
}

#[test]
fn a_turn_that_blocks_keeps_its_trail_and_no_other_turn_gets_it() {
    ends_alone(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let row = row(&sponsor, 2);
        for number in (0..200).step_by(2) {
            row.send(Go {
                number,
                sets: Some(number),
                does: Does::Blocks,
            });
        }
        let heard = row.end(sponsor);
        let expected: Vec<_> = (0..200).map(|n| (n, Some(n - n % 2))).collect();
        assert_eq!(heard[1], expected);
        assert!(heard[0].iter().all(|(_, trail)| trail.is_none()));
    });
}

/// A task that sends its number to several tasks, with the number as the trail.
struct Sends(Vec<Address<u32>>);

impl Task for Sends {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.set_trail(Trail::new(Arc::new(number)));
        for to in &self.0 {
            turn.send(to, number).unwrap();
        }
        Flow::Continue
    }
}

/// A task that blocks away from its worker in its first turn, and reports trails.
struct Waits {
    begins: mpsc::Sender<()>,
    go: mpsc::Receiver<()>,
    told: mpsc::Sender<Option<u32>>,
}

impl Task for Waits {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        if number == 0 {
            let (begins, go) = (&self.begins, &mut self.go);
            turn.blocking(move || {
                let _ = begins.send(());
                let _ = go.recv();
            });
        }
        let _ = self.told.send(number_in(turn.trail().as_ref()));
        Flow::Continue
    }
}

fn waits() -> (
    Waits,
    mpsc::Receiver<()>,
    mpsc::Sender<()>,
    mpsc::Receiver<Option<u32>>,
) {
    let ((begins, begun), (let_go, go), (told, heard)) =
        (mpsc::channel(), mpsc::channel(), mpsc::channel());
    (Waits { begins, go, told }, begun, let_go, heard)
}

#[test]
fn trails_do_not_count_as_messages() {
    ends_alone(|| {
        let sponsor = Sponsor::builder().workers(2).probes(true).start().unwrap();
        let (task, begun, let_go, heard) = waits();
        let waits = sponsor.handle().spawn(task).unwrap();
        let sends = sponsor.handle().spawn(Sends(vec![waits.clone()])).unwrap();
        waits.send(0).unwrap();
        begun.recv().unwrap();
        (1..=100).for_each(|number| sends.send(number).unwrap());
        // The task is away, so its worker can count its messages.
        let waiting = || {
            let Looking::Asked(asking) = waits.look().looking else {
                panic!("the task is there");
            };
            let Looking::Seen(seen) = asking.wait(HANGS_AFTER) else {
                panic!("the worker answers");
            };
            seen.waiting.unwrap()
        };
        loop {
            let count = waiting();
            assert!(count <= 100, "{count}");
            if count == 100 {
                break;
            }
        }
        let_go.send(()).unwrap();
        let trails: Vec<_> = heard.iter().take(101).skip(1).collect();
        assert_eq!(trails, (1..=100).map(Some).collect::<Vec<_>>());
        assert_eq!(waiting(), 0);
        sponsor.shutdown();
    });
}

#[test]
fn messages_in_bounded_mailboxes_have_their_trails() {
    ends_alone(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (task, _begun, _let_go, heard) = waits();
        let handle = sponsor.handle();
        let bounded = handle.spawn_bounded(64, WhenFull::Wait, task).unwrap();
        let sends = sponsor.handle().spawn(Sends(vec![bounded])).unwrap();
        (1..50).for_each(|number| sends.send(number).unwrap());
        drop(sends);
        sponsor.shutdown();
        let expected: Vec<_> = (1..50).map(Some).collect();
        assert_eq!(heard.iter().collect::<Vec<_>>(), expected);
    });
}

/// A task that sends each message with a trail, and undoes every fifth turn.
struct Gives(Address<u32>, Arc<u32>);

impl Task for Gives {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.set_trail(Trail::new(self.1.clone()));
        let _ = turn.send(&self.0, number + 1);
        if number.is_multiple_of(5) {
            Flow::Undo
        } else {
            Flow::Continue
        }
    }
}

#[test]
fn each_trail_is_dropped_once_whatever_happens_to_its_message() {
    ends_alone(|| {
        silence_panics();
        let before = audit();
        let counted = Arc::new(0u32);
        for workers in 1..4 {
            let sponsor = Sponsor::builder().workers(workers).start().unwrap();
            let (task, begun, let_go, _heard) = waits();
            let waits = sponsor.handle().spawn(task).unwrap();
            waits.send(0).unwrap();
            begun.recv().unwrap();
            let gives = Gives(waits.clone(), counted.clone());
            let gives = sponsor.handle().spawn(gives).unwrap();
            (0..500).for_each(|number| gives.send(number).unwrap());
            let_go.send(()).unwrap();
            // Some messages are handled, and some become dead letters.
            waits.stop();
            drop((waits, gives));
            sponsor.shutdown_now();
        }
        assert_eq!(Arc::strong_count(&counted), 1);
        assert_eq!(audit(), before);
    });
}

#[test]
fn a_thread_gives_a_trail_to_its_messages() {
    thread_local! {
        static NUMBER: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
    }
    trails_from_outside(|| NUMBER.get().map(|number| Trail::new(Arc::new(number))));
    ends_alone(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let row = row(&sponsor, 2);
        for number in 0u32..100 {
            NUMBER.set(number.is_multiple_of(2).then_some(number));
            row.send(plain(number));
        }
        NUMBER.set(Some(1));
        let first = row.first.clone();
        let heard = row.end(sponsor);
        let expected: Vec<_> = (0..100)
            .map(|n: u32| (n, n.is_multiple_of(2).then_some(n)))
            .collect();
        assert_eq!(heard, [expected.clone(), expected]);
        // The message comes back, and its trail is dropped.
        assert_eq!(first.send(plain(7)).unwrap_err().0.number, 7);
        NUMBER.set(None);
    });
}

/// A task that waits in its turn for the answer of another task of the same worker, so that another
/// worker must run that task.
struct Asks(mpsc::Receiver<Option<u32>>);

impl Task for Asks {
    type Message = u32;

    fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
        let _ = self.0.recv();
        Flow::Continue
    }
}

#[test]
fn a_message_with_a_trail_is_handled_while_its_worker_is_in_a_long_turn() {
    ends_alone(|| {
        for _ in 0..20 {
            let sponsor = Sponsor::builder().workers(2).start().unwrap();
            let (task, _begun, _let_go, heard) = waits();
            let told = sponsor.handle().spawn(task).unwrap();
            let asks = sponsor.handle().spawn(Asks(heard)).unwrap();
            let sends = Sends(vec![asks.clone(), told]);
            let sends = sponsor.handle().spawn(sends).unwrap();
            sends.send(3).unwrap();
            sponsor.shutdown();
        }
    });
}

/// Workers visit tasks of other workers only on Linux, where the fence before each check is cheap.
#[cfg(all(target_os = "linux", not(garrick_portable)))]
mod visits {
    use super::*;

    /// A task that reports the trail of each of its messages, with its own number.
    struct Reports(usize, mpsc::Sender<(usize, Option<u32>)>);

    impl Task for Reports {
        type Message = u32;

        fn receive(&mut self, _: u32, turn: &Turn<'_, u32>) -> Flow {
            let _ = self.1.send((self.0, number_in(turn.trail().as_ref())));
            Flow::Continue
        }
    }

    /// Number of messages that each task receives in a test of visits. A worker handles fewer
    /// messages of another worker's task at a time.
    const FLOOD: u32 = 500;

    /// A task that sends many messages, each with its number as the trail.
    struct Floods(Vec<Address<u32>>);

    impl Task for Floods {
        type Message = ();

        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            for number in 0..FLOOD {
                turn.set_trail(Trail::new(Arc::new(number)));
                for to in &self.0 {
                    turn.send(to, number).unwrap();
                }
            }
            Flow::Continue
        }
    }

    /// A task that tells a thread that its turn has begun, and ends its turn when that thread
    /// allows it.
    struct Stuck;

    impl Task for Stuck {
        type Message = (mpsc::Sender<()>, mpsc::Receiver<()>);

        fn receive(&mut self, (begins, go): Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
            begins.send(()).unwrap();
            let _ = go.recv();
            Flow::Continue
        }
    }

    /// Handles many messages with trails while the worker of half of the tasks is in a long turn,
    /// so that the other worker visits these tasks.
    #[test]
    fn many_messages_have_their_trails_while_their_worker_is_in_a_long_turn() {
        ends_alone(|| {
            let sponsor = Sponsor::builder().workers(2).start().unwrap();
            let handle = sponsor.handle();
            let (tell, told) = mpsc::channel();
            let spawn = |number| handle.spawn(Reports(number, tell.clone())).unwrap();
            let tasks: Vec<_> = (0..8).map(spawn).collect();
            for task in &tasks {
                task.send(0).unwrap();
            }
            // A task that has not run yet is not visited.
            assert_eq!(told.iter().take(8).filter(|(_, t)| t.is_none()).count(), 8);
            let ((begins, begun), (let_go, go)) = (mpsc::channel(), mpsc::channel());
            let stuck = handle.spawn(Stuck).unwrap();
            stuck.send((begins, go)).unwrap();
            begun.recv_timeout(HANGS_AFTER).unwrap();
            let floods = handle.spawn(Floods(tasks)).unwrap();
            floods.send(()).unwrap();
            let mut heard = vec![Vec::new(); 8];
            for _ in 0..8 * FLOOD {
                let (task, trail) = told.recv_timeout(HANGS_AFTER).unwrap();
                heard[task].push(trail);
            }
            let expected: Vec<_> = (0..FLOOD).map(Some).collect();
            assert_eq!(heard, vec![expected; 8]);
            let_go.send(()).unwrap();
            sponsor.shutdown();
        });
    }
}
