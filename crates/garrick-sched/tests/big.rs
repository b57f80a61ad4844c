//! Messages and tasks of every size and alignment, near and far.

mod common;

use std::sync::mpsc::channel;

use common::{OnDrop, does, ends};
use garrick_sched::{Flow, Here, Sponsor, Task, Turn};

trait Numbered: Send + 'static {
    fn of(n: u16) -> Self;
    /// The number, or 0 for what has no room for one; panics if it is not where it ought to be.
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
numbered!(Bytes4032, 1, 4032);
numbered!(Bytes5000, 1, 5000);
numbered!(At16, 16, 16);
numbered!(At16Long, 16, 48);
numbered!(At64, 64, 64);
numbered!(At64Long, 64, 5056);

const MESSAGES: u16 = 300;

/// Sends messages `M` to a task that holds a `T`, and checks both.
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

/// What a receiver hears from a task beside it, or of another sponsor; half of it is sent in vain.
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
    all::<Nothing, Words24>();
    all::<NothingAt64, Words24>();
    all::<Bytes24, Words24>();
    all::<Words24, Words24>();
    all::<Bytes25, Words24>();
    all::<Bytes4032, Words24>();
    all::<Bytes5000, Words24>();
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

/// Nothing at all.
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
