//! Actors and stages that several scenarios share.

use std::hint::black_box;
use std::sync::mpsc;

use garrick::{Actor, Address, Context, Local, Next, System};
use garrick_measure::{Clock, Measured, Result, Stopwatch};

pub(crate) use garrick_measure::sent;

/// Messages that a sender sends in one turn, where a scenario does not say otherwise.
pub(crate) const BURST: u64 = 256;

/// Runs what `prepare` makes on this thread until nothing is left to do, and measures `ops` operations.
/// Making and dropping the actors is not part of the time.
pub(crate) fn measure_here(ops: u64, prepare: impl FnOnce(&Local)) -> Result<Measured> {
    let local = Local::new()?;
    prepare(&local);
    let watch = Stopwatch::start(Clock::Thread);
    local.run();
    let span = watch.stop();
    assert_eq!(local.handle().dead_letters(), 0, "every message is handled");
    Ok(Measured::new(ops, span))
}

/// A system of one worker, with a thread of its own.
pub(crate) fn worker(name: &str) -> Result<System> {
    Ok(System::builder().name(name).workers(1).start()?)
}

/// Counts messages, and says at the end of the last expected one that it was the last.
#[derive(Clone)]
pub(crate) struct Counter {
    /// Messages still to come.
    left: u64,
    /// Whom to tell.
    done: mpsc::Sender<()>,
}

impl Counter {
    /// One that expects `count` messages, and where it tells that they came.
    pub(crate) fn new(count: u64) -> (Self, mpsc::Receiver<()>) {
        let (done, waiting) = mpsc::channel();
        (Self { left: count, done }, waiting)
    }

    #[inline]
    pub(super) fn count(&mut self, message: u64) {
        black_box(message);
        self.left -= 1;
        if self.left == 0 {
            // Nobody waits where the actors run on the thread that measures, which looks afterwards.
            let _ = self.done.send(());
        }
    }
}

impl Actor for Counter {
    type Msg = u64;
    type Outcome = ();
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) {
        self.count(message);
    }
}

/// Passes a number on, one less each time, until it is 0.
pub(crate) struct Relay {
    /// The next one. None until told.
    next: Option<Address<Pass>>,
    /// Whom to tell that 0 was reached.
    done: mpsc::Sender<()>,
}

/// What a [`Relay`] receives.
pub(crate) enum Pass {
    /// Who comes next.
    Next(Address<Pass>),
    /// How often to pass this on.
    Token(u64),
}

impl Relay {
    /// One that passes on to `next`, or to whom it is told.
    pub(crate) fn new(next: Option<Address<Pass>>, done: mpsc::Sender<()>) -> Self {
        Self { next, done }
    }
}

impl Actor for Relay {
    type Msg = Pass;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: Pass, cx: &mut Context<'_, Pass>) -> Next {
        match (message, &self.next) {
            (Pass::Next(next), _) => self.next = Some(next),
            (Pass::Token(0), _) => {
                // See `Counter`.
                let _ = self.done.send(());
            }
            (Pass::Token(left), Some(next)) => return sent(&cx.send(next, Pass::Token(left - 1))),
            (Pass::Token(_), None) => return Next::Stop,
        }
        Next::Continue
    }
}

/// Makes a ring of `count` relays with `spawn`, and returns one of them.
pub(crate) fn ring_of(
    count: usize,
    done: &mpsc::Sender<()>,
    mut spawn: impl FnMut(usize, Relay) -> Address<Pass>,
) -> Address<Pass> {
    let first = spawn(0, Relay::new(None, done.clone()));
    let mut next = first.clone();
    for index in 1..count {
        next = spawn(index, Relay::new(Some(next), done.clone()));
    }
    send_in(&first, Pass::Next(next));
    first
}

/// Sends a message that sets a scenario going.
///
/// # Panics
/// If the actor is gone, which no scenario's actor is before its first message.
#[track_caller]
pub(crate) fn send_in<M: 'static>(to: &Address<M>, message: M) {
    assert!(
        to.send(message).is_ok(),
        "the actor waits for its first message"
    );
}
