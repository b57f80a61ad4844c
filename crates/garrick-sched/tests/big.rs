//! Tests of messages and tasks of every size and alignment, on one worker and between workers.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;

use common::does;
use garrick_sched::{Address, Flow, Here, MESSAGE_BYTES_MAX, Sponsor, Task, Turn};
use garrick_testkit::{OnDrop, ends, fail, silence_panics};

trait Numbered: Send + 'static {
    fn of(n: u16) -> Self;
    /// Returns the number in the value, or 0 for a type without room for a number. Panics if the
    /// value is not aligned.
    fn number(&self) -> u16;
}

macro_rules! numbered {
    ($name:ident, $align:literal, $bytes:literal) => {
        #[repr(align($align))]
        struct $name([u8; $bytes]);

        impl Numbered for $name {
            fn of(n: u16) -> Self {
                let [low, high] = n.to_le_bytes();
                let mut bytes = [0; $bytes];
                bytes
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, b)| *b = if i % 2 == 0 { low } else { high });
                Self(bytes)
            }

            fn number(&self) -> u16 {
                assert!((&raw const *self).is_aligned(), "aligned");
                let mut bytes = self
                    .0
                    .chunks_exact(2)
                    .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                let first = bytes.next().unwrap_or(0);
                assert!(bytes.all(|other| other == first), "whole");
                first
            }
        }
    };
}

numbered!(Nothing, 1, 0);
numbered!(NothingAt64, 64, 0);
numbered!(Bytes24, 1, 24);
numbered!(Words24, 8, 24);
numbered!(Bytes25, 1, 25);
numbered!(Bytes300, 1, 300);
numbered!(Bytes4032, 1, 4032);
numbered!(Bytes5000, 1, 5000);
numbered!(BytesMax, 1, 16384);
numbered!(At16, 16, 16);
numbered!(At16Long, 16, 48);
numbered!(At64, 64, 64);
numbered!(At64Long, 64, 5056);

const MESSAGES: u16 = 300;

/// Sends messages of type `M` to a task that contains a value of type `T`. Checks the messages and
/// the value.
fn all<M: Numbered, T: Numbered>() {
    let expected: Vec<_> = (0..MESSAGES).map(|n| M::of(n).number()).collect();
    for near in [true, false] {
        ends({
            let expected = expected.clone();
            move || assert_eq!(heard::<M, T>(near), expected)
        });
    }
    let here = Here::new_here().unwrap();
    let unread = here.spawn(holder::<M, T>(std::sync::mpsc::channel().0));
    (0..MESSAGES).for_each(|n| unread.send(M::of(n)).ok().unwrap());
    let handle = here.handle();
    drop(here);
    assert_eq!(handle.dead_letters(), u64::from(MESSAGES));
    assert_eq!(
        unread.send(M::of(7)).err().unwrap().0.number(),
        M::of(7).number()
    );
}

fn holder<M: Numbered, T: Numbered>(
    told: std::sync::mpsc::Sender<u16>,
) -> impl Task<Message = M> + Send {
    let held = T::of(0x1234);
    does(move |message: M, _: &Turn<'_, M>| {
        assert_eq!(held.number(), T::of(0x1234).number());
        told.send(message.number()).unwrap();
        Flow::Continue
    })
}

/// Returns the messages that a receiver has got from a task on the same sponsor, or on another
/// sponsor. Half of the messages are sent in undone turns.
fn heard<M: Numbered, T: Numbered>(near: bool) -> Vec<u16> {
    let (one, two) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
    let (told, tells) = channel();
    let receiver = if near { &one } else { &two }
        .handle()
        .spawn(holder::<M, T>(told))
        .unwrap();
    let sender = one
        .handle()
        .spawn(does(move |(n, count): (u16, u16), turn: &Turn<'_, _>| {
            for n in n..n + count {
                turn.send(&receiver, M::of(n)).ok().unwrap();
            }
            if count == 1 {
                Flow::Undo
            } else {
                Flow::Continue
            }
        }));
    let sender = sender.unwrap();
    for n in (0..MESSAGES).step_by(100) {
        sender.send((n, 1)).unwrap();
        sender.send((n, 100)).unwrap();
    }
    drop(sender);
    one.shutdown();
    two.shutdown();
    tells.iter().collect()
}

#[test]
fn messages() {
    assert_eq!(size_of::<BytesMax>(), MESSAGE_BYTES_MAX);
    all::<Nothing, Words24>();
    all::<NothingAt64, Words24>();
    all::<Bytes24, Words24>();
    all::<Words24, Words24>();
    all::<Bytes25, Words24>();
    all::<Bytes4032, Words24>();
    all::<Bytes5000, Words24>();
    all::<BytesMax, Words24>();
    all::<At16, Words24>();
    all::<At16Long, Words24>();
    all::<At64, Words24>();
    all::<At64Long, Words24>();
}

#[test]
fn tasks() {
    all::<Words24, Nothing>();
    all::<Words24, NothingAt64>();
    all::<Words24, Bytes25>();
    all::<Words24, Bytes4032>();
    all::<Words24, Bytes5000>();
    all::<Words24, At16>();
    all::<Words24, At64>();
    all::<At64Long, At64Long>();
}

/// A type with a size of 0 bytes.
struct Zst;

impl Task for Zst {
    type Message = OnDrop<Box<dyn FnMut() + Send>>;

    fn receive(&mut self, _: Self::Message, turn: &Turn<'_, Self::Message>) -> Flow {
        let child = turn.spawn(Zst);
        if child == turn.address() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

#[test]
fn a_task_of_no_size_is_one_of_its_own_all_the_same() {
    let here = Here::new_here().unwrap();
    let tasks: Vec<_> = (0..100).map(|_| here.spawn(Zst)).collect();
    let (died, dies) = channel();
    for task in &tasks {
        let died = died.clone();
        assert!(
            task.send(OnDrop(Box::new(move || died.send(()).unwrap())))
                .is_ok()
        );
    }
    here.run();
    assert_eq!(dies.try_iter().count(), 100);
    assert!(tasks.iter().all(|task| !task.is_stopped()));
    for (index, task) in tasks.iter().enumerate() {
        assert!(tasks[index + 1..].iter().all(|other| other != task));
    }
}

/// A message that counts how often it was dropped, of 8 bytes plus `MORE` words.
struct Counted<const MORE: usize>(Arc<AtomicUsize>, [u64; MORE]);

impl<const MORE: usize> Drop for Counted<MORE> {
    fn drop(&mut self) {
        assert_eq!(self.1, [!0; MORE], "whole");
        self.0.fetch_add(1, SeqCst);
    }
}

/// The way in which a task begins that gets one message before its start.
#[derive(Clone, Copy)]
enum Begins {
    Well,
    Stops,
    Panics,
}

struct Starter<const MORE: usize>(Begins);

impl<const MORE: usize> Task for Starter<MORE> {
    type Message = Counted<MORE>;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, Counted<MORE>>) -> Flow {
        match self.0 {
            Begins::Well => Flow::Continue,
            Begins::Stops => Flow::Stop,
            Begins::Panics => fail(),
        }
    }

    fn receive(&mut self, _: Counted<MORE>, _: &Turn<'_, Counted<MORE>>) -> Flow {
        Flow::Continue
    }
}

/// In one turn, sends a message to a task that begins in the given way, and a message to a task
/// that has already begun. The turn ends in the given way. Returns the number of dropped messages,
/// and the number of dead letters.
fn dropped_and_dead<const MORE: usize>(begins: Begins, ends: Flow) -> (usize, u64) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let here = Here::new_here().unwrap();
    let old = here.spawn(does(|_: Counted<MORE>, _: &Turn<'_, _>| Flow::Continue));
    old.send(Counted(dropped.clone(), [!0; MORE])).ok().unwrap();
    here.run();
    let counter = dropped.clone();
    let sender = here.spawn(does(move |(): (), turn: &Turn<'_, ()>| {
        let newborn = turn.spawn(Starter::<MORE>(begins));
        for to in [&newborn, &old, &newborn, &old] {
            let message = Counted(counter.clone(), [!0; MORE]);
            turn.send(to, message).ok().unwrap();
        }
        ends
    }));
    sender.send(()).unwrap();
    here.run();
    let dead = here.handle().dead_letters();
    drop(here);
    (dropped.load(SeqCst) - 1, dead)
}

fn first_messages<const MORE: usize>() {
    use Begins::{Panics, Stops, Well};
    assert_eq!(dropped_and_dead::<MORE>(Well, Flow::Continue), (4, 0));
    assert_eq!(dropped_and_dead::<MORE>(Well, Flow::Undo), (4, 0));
    assert_eq!(dropped_and_dead::<MORE>(Stops, Flow::Continue), (4, 2));
    assert_eq!(dropped_and_dead::<MORE>(Panics, Flow::Continue), (4, 2));
}

/// A message of 24 bytes fits into an entry of the run queue. A larger message goes into an
/// envelope, and a very large message into a box.
#[test]
fn a_first_message_of_any_size_is_handled_or_dropped_once() {
    silence_panics();
    first_messages::<0>();
    first_messages::<2>();
    first_messages::<3>();
    first_messages::<600>();
}

/// Sends one message to each of many tasks in one turn. The two workers of the sponsor share the
/// tasks.
fn crowd_told<const MORE: usize>(shut_down: fn(Sponsor)) -> (usize, u64) {
    const CROWD: usize = 5_000;
    let dropped = Arc::new(AtomicUsize::new(0));
    let sponsor = Sponsor::pool(2).unwrap();
    let handle = sponsor.handle();
    let crowd: Vec<Address<Counted<MORE>>> = (0..CROWD)
        .map(|_| does(|_: Counted<MORE>, _: &Turn<'_, _>| Flow::Continue))
        .map(|task| handle.spawn(task).ok().unwrap())
        .collect();
    let (counter, (told, tells)) = (dropped.clone(), channel());
    let sender = does(move |(): (), turn: &Turn<'_, ()>| {
        let newborns = (0..CROWD)
            .map(|_| turn.spawn(does(|_: Counted<MORE>, _: &Turn<'_, _>| Flow::Continue)));
        for to in newborns.collect::<Vec<_>>().iter().chain(&crowd) {
            let message = Counted(counter.clone(), [!0; MORE]);
            turn.send(to, message).ok().unwrap();
        }
        told.send(()).unwrap();
        Flow::Stop
    });
    let sender = handle.spawn(sender).ok().unwrap();
    sender.send(()).unwrap();
    tells.recv().unwrap();
    shut_down(sponsor);
    let lost = dropped.load(SeqCst).abs_diff(2 * CROWD);
    (lost, handle.dead_letters())
}

#[test]
fn what_two_workers_share_is_handled_once() {
    ends(|| {
        for _ in 0..20 {
            assert_eq!(crowd_told::<2>(Sponsor::shutdown), (0, 0));
            assert_eq!(crowd_told::<3>(Sponsor::shutdown), (0, 0));
        }
    });
}

#[test]
fn what_an_end_overtakes_is_dropped_once() {
    ends(|| {
        for _ in 0..20 {
            assert_eq!(crowd_told::<2>(Sponsor::shutdown_now).0, 0);
            assert_eq!(crowd_told::<3>(Sponsor::shutdown_now).0, 0);
        }
    });
}

/// Returns the messages that a task receives after two notes in its mailbox: a move to the sponsor
/// `on`, and a watch.
fn behind_notes<M: Numbered>(on: &Sponsor) -> Vec<u16> {
    let (told, tells) = channel();
    let here = Here::new_here().unwrap();
    let task = does(move |message: M, _: &Turn<'_, M>| {
        told.send(message.number()).unwrap();
        Flow::Continue
    });
    let handle = on.handle();
    let to = handle.spawn(task).unwrap();
    let sender = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
        for n in (1..=9).step_by(3) {
            turn.send_on(&handle, &to, M::of(n)).unwrap();
            to.watch(|_| {});
            turn.send(&to, M::of(n + 1)).unwrap();
            turn.send(&to, M::of(n + 2)).unwrap();
        }
        Flow::Stop
    }));
    sender.send(()).unwrap();
    here.run();
    // The sender has gone, and its address of the task with it: the channel ends with the task.
    tells.iter().collect()
}

#[test]
fn a_message_of_any_size_behind_a_note() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let all: Vec<u16> = (1..=9).collect();
        assert_eq!(behind_notes::<Words24>(&sponsor), all);
        assert_eq!(behind_notes::<At16Long>(&sponsor), all);
        assert_eq!(behind_notes::<Bytes300>(&sponsor), all);
        assert_eq!(behind_notes::<Bytes4032>(&sponsor), all);
        assert_eq!(behind_notes::<Bytes5000>(&sponsor), all);
    });
}

#[test]
fn a_message_of_any_size_behind_a_note_of_its_own_worker() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (told, tells) = channel();
        let task = does(move |message: Bytes4032, _: &Turn<'_, Bytes4032>| {
            told.send(message.number()).unwrap();
            Flow::Continue
        });
        let to = sponsor.handle().spawn(task).unwrap();
        let sender = sponsor.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
            for n in 1..=9 {
                turn.send_on(&turn.sponsor(), &to, Bytes4032::of(n))
                    .unwrap();
            }
            Flow::Stop
        }));
        sender.unwrap().send(()).unwrap();
        assert_eq!(
            tells.iter().collect::<Vec<_>>(),
            (1..=9).collect::<Vec<_>>()
        );
    });
}
