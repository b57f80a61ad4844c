//! Tests of the times that messages wait, as measured by a sponsor with probes.

mod common;

use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::kind;
use garrick_sched::{Address, Durations, Flow, Handle, Sponsor, Task, TaskSample, Turn};
use garrick_testkit::{HANGS_AFTER, ends_alone, wait};

/// A task that reports that its turn has begun, and waits for permission to end it.
struct Gate(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Task for Gate {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        self.0.send(()).unwrap();
        wait(&self.1);
        Flow::Continue
    }
}

/// A [`Gate`] task of a worker, with the other ends of its channels.
struct Keeper {
    gate: Address<()>,
    began: mpsc::Receiver<()>,
    leave: mpsc::Sender<()>,
}

impl Keeper {
    fn new(handle: &Handle) -> Self {
        let ((told, began), (leave, may_leave)) = (mpsc::channel(), mpsc::channel());
        let gate = handle.spawn(Gate(told, may_leave)).unwrap();
        Self { gate, began, leave }
    }

    /// Waits until the only worker is in a turn of the [`Gate`].
    fn hold(&self) {
        self.gate.send(()).unwrap();
        wait(&self.began);
    }

    fn release(&self) {
        self.leave.send(()).unwrap();
    }
}

/// A task that checks that the messages of each sender arrive in order. It reports each handled
/// message. When it is dropped, it reports the number of handled messages.
struct Reads {
    next: Vec<u64>,
    handled: mpsc::Sender<()>,
    ended: mpsc::Sender<u64>,
}

impl Reads {
    /// Returns a [`Reads`] for the given number of senders, and receivers of its reports.
    fn new(senders: usize) -> (Self, mpsc::Receiver<()>, mpsc::Receiver<u64>) {
        let ((handled, heard), (ended, end)) = (mpsc::channel(), mpsc::channel());
        let next = vec![0; senders];
        let reader = Self {
            next,
            handled,
            ended,
        };
        (reader, heard, end)
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        let _ = self.ended.send(self.next.iter().sum());
    }
}

impl Task for Reads {
    type Message = (usize, u64);

    fn receive(&mut self, (sender, number): (usize, u64), _: &Turn<'_, (usize, u64)>) -> Flow {
        assert_eq!(self.next[sender], number, "{sender}");
        self.next[sender] += 1;
        let _ = self.handled.send(());
        Flow::Continue
    }
}

/// A task that sends the next numbers to a [`Reads`], and a message to itself, so that another turn
/// follows.
struct Writes {
    sender: usize,
    next: u64,
    to: Address<(usize, u64)>,
}

impl Task for Writes {
    type Message = u64;

    fn receive(&mut self, count: u64, turn: &Turn<'_, u64>) -> Flow {
        for number in self.next..self.next + count {
            turn.send(&self.to, (self.sender, number)).unwrap();
        }
        self.next += count;
        Flow::Continue
    }
}

fn sponsor(workers: usize) -> Sponsor {
    let builder = Sponsor::builder().workers(workers).probes(true);
    builder.start().unwrap()
}

fn total(waits: &Durations) -> u64 {
    waits.counts().iter().sum()
}

/// Returns the number of waiting times that were certainly at least `time`.
fn at_least(waits: &Durations, time: Duration) -> u64 {
    let classes = 1..Durations::LEN;
    let long = classes.filter(|class| u128::from(Durations::limit(class - 1)) >= time.as_nanos());
    long.map(|class| waits.counts()[class]).sum()
}

/// Repeats `round` until it returns true.
fn until(mut round: impl FnMut() -> bool) {
    let began = Instant::now();
    while !round() {
        assert!(began.elapsed() < HANGS_AFTER);
    }
}

/// Waits until `time` has passed.
fn pass(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::thread::yield_now();
    }
}

const LONG: Duration = Duration::from_millis(20);

#[test]
fn a_message_from_outside_that_waits_behind_a_long_turn_is_measured() {
    ends_alone(|| {
        let sponsor = sponsor(1);
        let handle = sponsor.handle();
        let keeper = Keeper::new(&handle);
        let reader = handle.spawn(Reads::new(1).0).unwrap();
        let (mut sent, began) = (0, Instant::now());
        until(|| {
            keeper.hold();
            // The message that the gate has got may have been measured.
            pass(LONG / 2);
            reader.send((0, sent)).unwrap();
            sent += 1;
            pass(2 * LONG);
            keeper.release();
            at_least(&kind(&handle, "Reads").unwrap_or_default().waits, LONG) >= 2
        });
        let waits = kind(&handle, "Reads").unwrap_or_default().waits;
        assert!(total(&waits) <= sent);
        assert_eq!(at_least(&waits, 2 * began.elapsed()), 0, "{waits:?}");
        let worker = handle.sample().workers[0];
        assert!(at_least(&worker.waits, LONG) >= 2);
        sponsor.shutdown();
    });
}

#[test]
fn a_message_from_a_turn_waits_from_the_end_of_that_turn() {
    /// A task that sends a message at the beginning of its turn, and then runs for a long time.
    struct Slow(Address<(usize, u64)>, u64);

    impl Task for Slow {
        type Message = ();

        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            turn.send(&self.0, (0, self.1)).unwrap();
            self.1 += 1;
            pass(LONG);
            Flow::Continue
        }
    }

    ends_alone(|| {
        let sponsor = sponsor(1);
        let handle = sponsor.handle();
        let (reader, heard, _) = Reads::new(1);
        let reader = handle.spawn(reader).unwrap();
        let slow = handle.spawn(Slow(reader, 0)).unwrap();
        // The reader runs as soon as the turn has ended, unless the machine is busy.
        until(|| {
            slow.send(()).unwrap();
            wait(&heard);
            let waits = kind(&handle, "Reads").unwrap_or_default().waits;
            total(&waits) > at_least(&waits, LONG / 4)
        });
        sponsor.shutdown();
    });
}

#[test]
fn measured_messages_keep_their_order() {
    const WRITERS: usize = 3;
    for workers in [1, 2] {
        ends_alone(move || {
            let sponsor = sponsor(workers);
            let handle = sponsor.handle();
            let (reader, heard, end) = Reads::new(WRITERS + 1);
            let reader = handle.spawn(reader).unwrap();
            let writers: Vec<_> = (0..WRITERS)
                .map(|sender| {
                    let to = reader.clone();
                    let writer = Writes {
                        sender,
                        next: 0,
                        to,
                    };
                    handle.spawn(writer).unwrap()
                })
                .collect();
            let (mut turns, mut sent, mut written) = (0, 0, 0);
            until(|| {
                let count = 1 + turns % 7;
                for writer in &writers {
                    writer.send(count).unwrap();
                }
                (0..3).for_each(|_| {
                    reader.send((WRITERS, sent)).unwrap();
                    sent += 1;
                });
                turns += 1;
                written += WRITERS as u64 * count;
                // Not many messages wait at the same time.
                (0..3 + WRITERS as u64 * count).for_each(|_| wait(&heard));
                turns.is_multiple_of(64)
                    && total(&kind(&handle, "Reads").unwrap_or_default().waits) > 50
            });
            drop((reader, writers));
            sponsor.shutdown();
            let reads = kind(&handle, "Reads").unwrap_or_default();
            assert_eq!((reads.failures, wait(&end)), (0, sent + written));
            assert!(total(&reads.waits) < reads.turns / 2);
        });
    }
}

#[test]
fn the_age_of_the_oldest_message_is_listed_with_its_task() {
    ends_alone(|| {
        let sponsor = sponsor(1);
        let handle = sponsor.handle();
        let (gate, slow) = (Keeper::new(&handle), Keeper::new(&handle));
        let of = |handle: &Handle, task: &Address<()>| -> Option<TaskSample> {
            let tasks = handle.sample().tasks;
            tasks.into_iter().find(|listed| listed.task == task.id())
        };
        // Each turn of the slow task takes long, so its second message becomes old.
        until(|| {
            gate.hold();
            (0..40).for_each(|_| slow.gate.send(()).unwrap());
            gate.release();
            let mut oldest = 0;
            for turn in 0..40 {
                wait(&slow.began);
                if turn == 20 {
                    pass(LONG);
                }
                oldest = oldest.max(of(&handle, &slow.gate).map_or(0, |listed| listed.oldest));
                slow.release();
            }
            u128::from(oldest) >= LONG.as_nanos()
        });
        sponsor.shutdown();
    });
}

#[test]
fn nothing_is_measured_without_probes() {
    ends_alone(|| {
        // Another sponsor measures in the same process.
        let other = sponsor(1);
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let from = other
            .handle()
            .spawn(Writes {
                sender: 0,
                next: 0,
                to: handle.spawn(Reads::new(1).0).unwrap(),
            })
            .unwrap();
        (0..10_000).for_each(|_| from.send(1).unwrap());
        drop(from);
        other.shutdown();
        sponsor.shutdown();
        let sample = handle.sample();
        assert!(sample.kinds.is_empty());
        assert_eq!(total(&sample.workers[0].waits), 0);
        assert_eq!(sample.failures, 0);
    });
}

/// A task that forwards its message to another task until the number in it is 0. The message must
/// not leave the thread.
struct Stays(Option<Address<Rc<u32>>>);

impl Task for Stays {
    type Message = Rc<u32>;

    fn receive(&mut self, left: Rc<u32>, turn: &Turn<'_, Rc<u32>>) -> Flow {
        if let (Some(to), 1..) = (&self.0, *left) {
            turn.send(to, Rc::new(*left - 1)).unwrap();
            turn.send(&turn.address(), Rc::new(*left - 1)).unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn messages_that_must_not_leave_their_thread_are_measured_too() {
    ends_alone(|| {
        let here = Sponsor::builder().probes(true).here().unwrap();
        let last = here.spawn(Stays(None));
        let first = here.spawn(Stays(Some(last)));
        until(|| {
            first.send(Rc::new(1_000)).unwrap();
            here.run();
            total(&here.handle().sample().workers[0].waits) > 5
        });
        assert_eq!(here.handle().sample().failures, 0);
    });
}
