//! How the receiver of a lock-free queue waits, and how senders wake it.
//!
//! Ringing at each push would cost a read-modify-write. So the receiver *dozes* first: it leaves a mark
//! in the very word that a push must change anyway, and only the pushes that find the mark ring.
//!
//! ```text
//!     receiver                                        sender
//!     pop: nothing                                    push: change the word
//!     doze: leave the mark, or see that a push came   was the mark there? then ring
//!     park                                            drop of the last sender: ring
//! ```
//!
//! Both sides use a read-modify-write on one word, so one of them comes first: either the receiver sees
//! the push and does not park, or the push sees the mark and rings. A ring before the park is kept as
//! the parker's token.

use std::time::{Duration, Instant};

use garrick_core::park::{Parker, Spin, Unparker};
use garrick_core::prim::{
    atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

use super::PopTimeoutError;

/// The part of a queue's shared state by which senders reach the receiver.
pub(super) struct Doorbell {
    /// How many senders there are. Written by senders, read by the receiver.
    senders: AtomicUsize,

    /// Wakes the receiver. Used by senders.
    unparker: Unparker,
}

/// What came of a receiver's wish to sleep.
#[must_use]
pub(super) enum Doze {
    /// The mark is set: the next push rings.
    Marked,
    /// A push has come or is under way.
    Disturbed,
}

/// What waiting needs of a queue's receiver.
pub(super) trait Sleeper<T> {
    fn try_pop(&mut self) -> Option<T>;

    /// Sets the mark if nothing has come since the last pop.
    fn doze(&mut self) -> Doze;

    /// Called after each sleep; the mark may be there or not.
    fn rise(&mut self);

    fn doorbell(&self) -> &Doorbell;
}

/// What the receiver waits with.
pub(super) struct Waiter {
    parker: Parker,
    spin: Spin,
}

impl Doorbell {
    /// Creates a doorbell with one sender, and what it wakes.
    pub(super) fn new() -> (Self, Waiter) {
        let waiter = Waiter {
            parker: Parker::new(),
            // Of the threads that want a core we know only the receiver's own.
            spin: Spin::new(1),
        };
        let doorbell = Self {
            senders: AtomicUsize::new(1),
            unparker: waiter.parker.unparker(),
        };
        (doorbell, waiter)
    }

    #[cold]
    pub(super) fn ring(&self) {
        self.unparker.unpark();
    }

    pub(super) fn add_sender(&self) {
        // Relaxed: made from a live sender, so the count is not zero and nothing depends on it.
        self.senders.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_sender(&self) {
        // Release: pairs with the Acquire in `has_senders`; this sender's pushes come before.
        if self.senders.fetch_sub(1, Release) == 1 {
            self.ring();
        }
    }

    /// When this is false, a pop that follows sees all that was ever pushed.
    pub(super) fn has_senders(&self) -> bool {
        // Acquire: pairs with the Release in `remove_sender`, of all senders: they form one release
        // sequence.
        self.senders.load(Acquire) > 0
    }
}

impl Waiter {
    /// Pops, waiting for at most `timeout` if there is one.
    #[inline]
    pub(super) fn pop<T>(
        &mut self,
        queue: &mut impl Sleeper<T>,
        timeout: Option<Duration>,
    ) -> Result<T, PopTimeoutError> {
        match queue.try_pop() {
            Some(value) => Ok(value),
            None => self.wait(queue, timeout),
        }
    }

    #[cold]
    fn wait<T>(
        &mut self,
        queue: &mut impl Sleeper<T>,
        timeout: Option<Duration>,
    ) -> Result<T, PopTimeoutError> {
        // A timeout beyond what the clock can count is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(value) = self.spin.wait(|| queue.try_pop()) {
                return Ok(value);
            }
            if !queue.doorbell().has_senders() {
                return queue.try_pop().ok_or(PopTimeoutError::Closed);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(PopTimeoutError::Timeout);
            }
            match queue.doze() {
                Doze::Marked => {
                    self.park(left);
                    queue.rise();
                }
                // The other thread is between two instructions of a push: let it go on. This cannot last
                // unless that thread gets no core, and then ours is the one to give.
                Doze::Disturbed => thread::yield_now(),
            }
        }
    }

    fn park(&mut self, timeout: Option<Duration>) {
        match timeout {
            None => self.parker.park(),
            // Whether the token came is no matter: the caller looks again, and then at the clock.
            Some(timeout) => _ = self.parker.park_timeout(timeout),
        }
    }
}
