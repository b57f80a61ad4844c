//! Transfers numbers from thread to thread through any ring.

use std::io;
use std::ops::Range;

use garrick_measure::{Measured, Result};

use super::cores::Cores;
use super::tally::Tally;
use super::wait::Wait;
use crate::crowd::Crowd;

/// A ring with a sending half and a receiving half, which transfers numbers one at a time.
pub(super) trait Ring: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    /// Creates a ring with room for [`SLOTS`](super::SLOTS) numbers.
    fn open() -> (Self::Sender, Self::Receiver);

    /// Sends a number if there is room. Returns true if the number was sent.
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool;

    /// Takes the oldest number, if there is one.
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// A ring whose memory can be written and read in place, several numbers at a time.
pub(super) trait Batches: Ring {
    /// Writes numbers in place, and sends them together. Returns the count of sent numbers. Most
    /// rings send all numbers if there is room for all of them, and otherwise none. Other rings
    /// send as many as there is room for.
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64;

    /// Takes at most `max` of the oldest numbers. Adds them to `tally` in place, and frees their
    /// slots together.
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally);
}

/// Measures a ring whose numbers are sent and taken one at a time.
pub(super) fn single<R: Ring>(cores: Cores, ops: u64) -> Result<Measured> {
    let send = move |sender: &mut R::Sender| send_each::<R>(sender, ops);
    relay::<R>(cores, ops, send, move |receiver| {
        take_all(ops, |tally| {
            if let Some(number) = R::try_take(receiver) {
                tally.one(number);
            }
        })
    })
}

/// Measures a ring whose numbers are sent one at a time. The receiver takes all available numbers
/// together.
pub(super) fn taken_together<R: Batches>(cores: Cores, ops: u64) -> Result<Measured> {
    let send = move |sender: &mut R::Sender| send_each::<R>(sender, ops);
    relay::<R>(cores, ops, send, move |receiver| {
        take_all(ops, |tally| R::take_batch(receiver, usize::MAX, tally))
    })
}

/// Measures a ring whose numbers are sent and taken in batches of up to `batch` numbers.
pub(super) fn batched<R: Batches>(cores: Cores, batch: usize, ops: u64) -> Result<Measured> {
    let send = move |sender: &mut R::Sender| {
        send_all(ops, |first| {
            let end = ops.min(first + batch as u64);
            R::try_send_batch(sender, first..end)
        });
    };
    relay::<R>(cores, ops, send, move |receiver| {
        take_all(ops, |tally| R::take_batch(receiver, batch, tally))
    })
}

fn send_each<R: Ring>(sender: &mut R::Sender, ops: u64) {
    send_all(ops, |number| u64::from(R::try_send(sender, number)));
}

/// Sends `ops` numbers by calls of `send`. The argument of `send` is the first number that has not
/// been sent yet. `send` returns how many numbers it has sent.
#[inline]
fn send_all(ops: u64, mut send: impl FnMut(u64) -> u64) {
    let mut next = 0;
    let mut wait = Wait::default();
    while next < ops {
        match send(next) {
            0 => wait.moment(),
            count => {
                next += count;
                wait.end();
            }
        }
    }
}

/// Takes `ops` numbers by calls of `take`. Each call adds the available numbers to a tally.
#[inline]
fn take_all(ops: u64, mut take: impl FnMut(&mut Tally)) -> Tally {
    let mut tally = Tally::default();
    let mut wait = Wait::default();
    while tally.count() < ops {
        let before = tally.count();
        take(&mut tally);
        if tally.count() == before {
            wait.moment();
        } else {
            wait.end();
        }
    }
    tally
}

/// One end of a ring: a thread sends into it, or takes from it.
enum Half<S, T> {
    Send(S),
    Take(T),
}

/// Runs two threads at the two ends of a ring, each on its core. Measures the time from their
/// common start until both are done.
fn relay<R: Ring>(
    cores: Cores,
    ops: u64,
    send: impl Fn(&mut R::Sender) + Copy + Send + 'static,
    take: impl Fn(&mut R::Receiver) -> Tally + Copy + Send + 'static,
) -> Result<Measured> {
    let (sender, receiver) = R::open();
    let mut halves = [Half::Send(sender), Half::Take(receiver)].into_iter();
    let crowd = Crowd::gather(2, |side| {
        let half = halves.next();
        move || -> io::Result<Option<Tally>> {
            // A thread that cannot be pinned still does its work, because the other thread is
            // waiting for it.
            let pinned = cores.pin(side as usize);
            let tally = match half {
                Some(Half::Send(mut sender)) => {
                    send(&mut sender);
                    None
                }
                Some(Half::Take(mut receiver)) => Some(take(&mut receiver)),
                None => None,
            };
            pinned.map(|()| tally)
        }
    })?;
    let watch = crowd.begin();
    let ends = crowd.disperse();
    let span = watch.stop();
    let tallies = ends.into_iter().collect::<io::Result<Vec<_>>>()?;
    let tally = tallies.into_iter().flatten().next();
    tally
        .ok_or("the receiving thread has returned no tally")?
        .close(ops);
    Ok(Measured::new(ops, span))
}
