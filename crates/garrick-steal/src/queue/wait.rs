//! Lets the receiver of a lock-free queue wait, and lets the senders wake it.
//!
//! To *ring* means to wake the receiver. If each push rang, each push would cost an additional
//! read-modify-write operation. To avoid this, the receiver *dozes* before it parks: it sets a mark
//! in the word that each push must change anyway. A push rings only if it finds the mark.
//!
//! ```text
//!     receiver                                        sender
//!     pop: nothing                                    push: change the word
//!     doze: set the mark, or see that a value came    was the mark set? then ring
//!     park                                            drop of the last sender: ring
//! ```
//!
//! Both sides use a read-modify-write on the same word, so one of them comes first. Either the
//! receiver sees the push and does not park, or the push sees the mark and rings. If the ring comes
//! before the park, the parker stores the ring as a token, and the park returns immediately.

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

/// The part of a queue's shared state by which senders wake the receiver.
pub(super) struct Doorbell {
    /// Number of senders. Written by senders, read by the receiver.
    senders: AtomicUsize,

    /// Handle that wakes the receiver. Used by senders.
    unparker: Unparker,
}

/// The result of `Sleeper::doze`, which tries to set the mark that makes the next push wake the
/// receiver.
#[must_use]
pub(super) enum Doze {
    /// The mark was set, so the next push wakes the receiver.
    Marked,
    /// The mark was not set, because a value was pushed, or because a push is in progress.
    Disturbed,
}

/// Operations that a [`Waiter`] needs from the receiver of a queue.
pub(super) trait Sleeper<T> {
    fn try_pop(&mut self) -> Option<T>;

    /// Sets the mark that makes the next push wake the receiver. Does not set the mark if a value
    /// was pushed since the last pop, or if a push is in progress.
    fn doze(&mut self) -> Doze;

    /// Clears the mark that [`doze`](Self::doze) has set, or leaves it set if that costs less. The
    /// waiter calls this method after each sleep.
    fn rise(&mut self);

    fn doorbell(&self) -> &Doorbell;
}

/// The means by which a receiver waits: a parker, and a limit for spinning.
pub(super) struct Waiter {
    parker: Parker,
    spin: Spin,
}

impl Doorbell {
    /// Creates the doorbell of a queue with one sender, and the waiter that the doorbell wakes.
    pub(super) fn new() -> (Self, Waiter) {
        let waiter = Waiter {
            parker: Parker::new(),
            // The only thread known to want a core is the receiver's own.
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
        // Release: pairs with the Acquire in `has_senders`; publishes this sender's pushes.
        if self.senders.fetch_sub(1, Release) == 1 {
            self.ring();
        }
    }

    /// Returns true if there is a sender. If the result is false, every later pop sees all values
    /// that were pushed.
    pub(super) fn has_senders(&self) -> bool {
        // Acquire: pairs with the Release in `remove_sender`, of all senders: they form one release
        // sequence.
        self.senders.load(Acquire) > 0
    }
}

impl Waiter {
    /// Pops a value. Waits for a value if necessary. If `timeout` is `Some`, waits no longer than
    /// this time.
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
        // A timeout beyond the range of the clock counts as no timeout.
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
                // The other thread is between two instructions of a push, so let it continue. This
                // cannot last unless that thread gets no core, and then yielding gives it ours.
                Doze::Disturbed => thread::yield_now(),
            }
        }
    }

    fn park(&mut self, timeout: Option<Duration>) {
        match timeout {
            None => self.parker.park(),
            // The result does not matter: the caller looks again, and then at the clock.
            Some(timeout) => _ = self.parker.park_timeout(timeout),
        }
    }
}
