//! Actors and functions that several scenarios share.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::mpsc;

use garrick::{Actor, Address, Context, Local, Next, System};
use garrick_measure::{Clock, Measured, Result, Stopwatch};

pub(crate) use garrick_measure::sent;

/// Number of messages that a sender sends in one turn, unless a scenario uses another number.
pub(crate) const BURST: u64 = 256;

thread_local! {
    /// True if the systems that this thread starts have probes, which are counters for each type of
    /// actor.
    static PROBES: Cell<bool> = const { Cell::new(false) };
}

/// Runs `measure`. During this call, all systems that [`builder`] configures have probes.
pub(super) fn probed<R>(measure: impl FnOnce() -> R) -> R {
    let before = PROBES.replace(true);
    let result = measure();
    PROBES.set(before);
    result
}

/// Returns a builder of systems. During a call of [`probed`], these systems have probes.
pub(crate) fn builder() -> garrick::system::Builder {
    System::builder().probes(PROBES.get())
}

/// Creates a [`Local`], which runs actors on this thread.
pub(crate) fn local() -> Result<Local> {
    Ok(builder().name("local").local()?)
}

/// Calls `prepare`, which creates actors. Runs the actors on this thread until no work is left, and
/// measures `ops` operations. The measured time does not include the call of `prepare`.
pub(crate) fn measure_here(ops: u64, prepare: impl FnOnce(&Local)) -> Result<Measured> {
    let local = local()?;
    prepare(&local);
    let watch = Stopwatch::start(Clock::Thread);
    local.run();
    let span = watch.stop();
    assert_eq!(local.handle().dead_letters(), 0, "every message is handled");
    Ok(Measured::new(ops, span))
}

/// Starts a system with one worker, which runs on a separate thread.
pub(crate) fn worker(name: &str) -> Result<System> {
    Ok(builder().name(name).workers(1).start()?)
}

/// An actor that counts messages, and reports when the last expected message has arrived.
#[derive(Clone)]
pub(crate) struct Counter {
    /// Number of messages that have not arrived yet.
    left: u64,
    /// Sender for the notification that the last message has arrived.
    done: mpsc::Sender<()>,
}

impl Counter {
    /// Creates a counter that expects `count` messages. Returns the counter, and the receiver of
    /// the notification that the last message has arrived.
    pub(crate) fn new(count: u64) -> (Self, mpsc::Receiver<()>) {
        let (done, waiting) = mpsc::channel();
        (Self { left: count, done }, waiting)
    }

    #[inline]
    pub(super) fn count(&mut self, message: u64) {
        black_box(message);
        self.left -= 1;
        if self.left == 0 {
            // If there is no receiver, the actors run on the measuring thread, which checks the
            // result after the run.
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

/// An actor that subtracts 1 from each received number and passes the result on, until the number
/// is 0.
pub(crate) struct Relay {
    /// Next relay. `None` until the message with its address arrives.
    next: Option<Address<Pass>>,
    /// Sender for the notification that the number is 0.
    done: mpsc::Sender<()>,
}

/// Messages that a [`Relay`] handles.
pub(crate) enum Pass {
    /// Passes the address of the next relay.
    Next(Address<Pass>),
    /// The token, which the relays pass on. Contains the number of times that the token must still
    /// be passed on.
    Token(u64),
}

impl Relay {
    /// Creates a relay that passes the number on to `next`. If `next` is `None`, a later message
    /// must contain the address of the next relay.
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
                // As in `Counter`: a missing receiver is no error.
                let _ = self.done.send(());
            }
            (Pass::Token(left), Some(next)) => return sent(&cx.send(next, Pass::Token(left - 1))),
            (Pass::Token(_), None) => return Next::Stop,
        }
        Next::Continue
    }
}

/// Creates a ring of `count` relays with `spawn`, and returns one of them.
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

/// Sends the message that starts a scenario.
///
/// # Panics
/// Panics if the actor has stopped. No actor of a scenario stops before its first message.
#[track_caller]
pub(crate) fn send_in<M: 'static>(to: &Address<M>, message: M) {
    assert!(
        to.send(message).is_ok(),
        "the actor waits for its first message"
    );
}
