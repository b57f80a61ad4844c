//! A bell: the wake state of a future that an actor runs. The bell determines whether a waker must
//! send the actor a message.
//!
//! A bell is three bits in one word. If the actor is idle, the waker sends it a message, which is
//! called a *ring*. Otherwise the waker only sets a bit. The actor reads this bit when the poll of
//! the future ends, or when the ring arrives. So at most one ring is in flight, regardless of the
//! number of wakers and their threads.
//!
//! ```text
//!   wake:   resting ------> WOKEN | RINGING, and the caller sends a ring
//!           RUNNING ------> RUNNING | WOKEN             seen when the poll ends
//!           RINGING ------> RINGING | WOKEN             seen when the ring arrives
//!   begin:  any ----------> RUNNING, RINGING as it was  this poll handles WOKEN
//!   answer: RUNNING | WOKEN -> RUNNING               this poll handles later wakes too
//!   end:    RUNNING | WOKEN -> RINGING                  and the caller sends a ring
//! ```
//!
//! Only the actor may call the methods that are marked "Only the actor may call this method". If
//! other code calls such a method, a wake may be lost, or a redundant ring may be sent. Nothing
//! worse can happen.
//!
//! Every operation is lock-free. An operation is at most one read-modify-write, which is retried
//! only if another thread has changed the word.

#[cfg(all(test, garrick_loom))]
mod loom_tests;

use crate::prim::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bit that is set while the future is being polled.
const RUNNING: u8 = 1;
/// Bit that is set if the future was woken after its most recent poll began.
const WOKEN: u8 = 2;
/// Bit that is set while a ring is in flight. A ring is the message by which a waker tells the
/// actor to poll.
const RINGING: u8 = 4;

/// The wake state of a future that an actor runs. Determines whether a waker must send a message to
/// the actor. The [module](self) explains the algorithm.
///
/// # Examples
/// ```
/// use garrick_core::bell::{Bell, Call};
///
/// let bell = Bell::new();
/// // The start counts as a ring on its way.
/// assert_eq!(bell.wake(), Call::Quiet);
/// assert!(bell.arrived());
/// bell.begin();
/// assert_eq!(bell.end(false), Call::Quiet);
/// assert_eq!(bell.wake(), Call::Ring);
/// assert_eq!(bell.wake(), Call::Quiet);
/// ```
#[derive(Debug)]
pub struct Bell {
    /// Word with the bits `RUNNING`, `WOKEN` and `RINGING`. The actor and wakers on any thread read
    /// and write this word.
    word: AtomicU8,
    /// Number of polls begun. Written by the actor, read by any thread.
    polls: AtomicU64,
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}

/// The result of [`Bell::wake`] and [`Bell::end`]. Tells the caller whether to send the actor a
/// *ring*, which is a message.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use]
pub enum Call {
    /// The caller must send a ring, which is a message to the actor.
    Ring,
    /// The caller must not send a ring (a message that tells the actor to poll): either there is no
    /// wake to report, or the actor notices the wake without another ring.
    Quiet,
}

impl Bell {
    /// Creates the bell of a future that has not been polled yet. The start of its actor counts as
    /// a ring that was sent and has not arrived yet.
    pub fn new() -> Self {
        Self {
            word: AtomicU8::new(WOKEN | RINGING),
            polls: AtomicU64::new(0),
        }
    }

    fn change(&self, next: impl Fn(u8) -> u8) -> u8 {
        // AcqRel: pairs with itself on other threads. What a waker did before the wake is seen by
        // the poll that answers the wake. What the actor did before it became idle is seen by its
        // next waker.
        let changed = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| Some(next(word)));
        changed.unwrap_or_else(|word| word)
    }

    /// Wakes the future. Returns [`Call::Ring`] if the caller must send the actor a ring, which is
    /// a message.
    pub fn wake(&self) -> Call {
        let before = self.change(|word| {
            if word & (RUNNING | RINGING) == 0 {
                word | WOKEN | RINGING
            } else {
                word | WOKEN
            }
        });
        if before & (RUNNING | RINGING) == 0 {
            Call::Ring
        } else {
            Call::Quiet
        }
    }

    /// Records that a ring, the message that reports a wake, has arrived at the actor. Returns true
    /// if the actor must now poll the future. Returns false if an earlier poll has already handled
    /// all wakes.
    pub fn arrived(&self) -> bool {
        self.change(|word| word & !RINGING) & WOKEN != 0
    }

    /// Begins a poll, which handles all earlier wakes. A wake during the poll takes effect when the
    /// poll ends. Only the actor may call this method.
    pub fn begin(&self) {
        self.change(|word| word & RINGING | RUNNING);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// Begins a poll like [`Bell::begin`], but without a read-modify-write. Only the actor may call
    /// this method, and only while no other thread can call a method of this bell.
    pub fn begin_alone(&self) {
        // Relaxed: no other thread writes.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word & RINGING | RUNNING, Ordering::Relaxed);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// Marks all wakes since the current poll began as handled by this poll. Only the actor may
    /// call this method, and only during a poll.
    ///
    /// Code that wakes the future first changes some state, for example stores a result. So the
    /// poll must first call this method, and then read this state.
    pub fn answer(&self) {
        self.change(|word| word & !WOKEN);
    }

    /// Returns the number of polls that have begun so far. If the actor or its future calls this
    /// method, the number is exact. On other threads, the number may be outdated.
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Ends the poll. Pass true for `again` if the future must be polled again. Returns
    /// [`Call::Ring`] if the caller must send the actor a ring, which is a message. Only the actor
    /// may call this method.
    pub fn end(&self, again: bool) -> Call {
        let again = if again { WOKEN } else { 0 };
        let before = self.change(|word| {
            let word = (word | again) & !RUNNING;
            if word & WOKEN == 0 {
                word
            } else {
                word | RINGING
            }
        });
        if (before | again) & WOKEN != 0 && before & RINGING == 0 {
            Call::Ring
        } else {
            Call::Quiet
        }
    }

    /// Ends the poll like [`Bell::end`], but without a read-modify-write. Only the actor may call
    /// this method, and only while no other thread can call a method of this bell.
    pub fn end_alone(&self, again: bool) -> Call {
        // Relaxed: no other thread writes.
        let before = self.word.load(Ordering::Relaxed) & !RUNNING;
        let again = if again { WOKEN } else { 0 };
        if (before | again) & WOKEN == 0 {
            self.word.store(before, Ordering::Relaxed);
            return Call::Quiet;
        }
        self.word.store(before | again | RINGING, Ordering::Relaxed);
        if before & RINGING == 0 {
            Call::Ring
        } else {
            Call::Quiet
        }
    }

    /// Returns true if a ring, the message that reports a wake, was sent to the actor and has not
    /// arrived yet.
    pub fn is_ringing(&self) -> bool {
        // Relaxed: a hint for the actor, which learns of the ring itself by a message.
        self.word.load(Ordering::Relaxed) & RINGING != 0
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_ring_answers_all_wakes_of_one_that_rests() {
        let bell = Bell::new();
        assert_eq!(bell.wake(), Call::Quiet, "its start is on its way");
        assert!(bell.arrived());
        bell.begin();
        assert_eq!(bell.end(false), Call::Quiet);
        assert_eq!(bell.wake(), Call::Ring);
        assert_eq!(bell.wake(), Call::Quiet);
        assert!(bell.is_ringing());
    }

    #[test]
    fn begin_and_end_alone_do_what_they_do_among_others() {
        for word in 0..8 {
            for again in [false, true] {
                let [alone, among] = [0, 1].map(|_| Bell {
                    word: AtomicU8::new(word),
                    polls: AtomicU64::new(3),
                });
                alone.begin_alone();
                among.begin();
                let states = [&alone, &among].map(|bell| format!("{bell:?}"));
                assert_eq!(states[0], states[1]);
                for bell in [&alone, &among] {
                    bell.word.store(word, Ordering::Relaxed);
                }
                assert_eq!(alone.end_alone(again), among.end(again));
                let states = [&alone, &among].map(|bell| format!("{bell:?}"));
                assert_eq!(states[0], states[1], "{word} {again}");
            }
        }
    }

    #[test]
    fn a_wake_during_a_poll_rings_when_it_ends() {
        let bell = Bell::new();
        assert!(bell.arrived());
        bell.begin();
        assert_eq!(bell.wake(), Call::Quiet);
        assert_eq!(bell.end(false), Call::Ring);
        assert!(bell.arrived());
        bell.begin();
        assert_eq!(bell.end(true), Call::Ring);
    }

    #[test]
    fn who_wakes_between_a_poll_and_its_ring_sends_no_second_one() {
        let bell = Bell::new();
        for again in [false, true] {
            assert!(bell.arrived());
            bell.begin();
            let _ = bell.wake();
            assert_eq!(bell.end(again), Call::Ring);
            assert!(bell.is_ringing());
            assert_eq!(bell.wake(), Call::Quiet, "one ring is on its way");
        }
    }

    #[test]
    fn a_poll_that_overtook_its_ring_sends_no_second_one() {
        let bell = Bell::new();
        bell.begin();
        assert_eq!(bell.end(true), Call::Quiet, "the first is still on its way");
        assert!(bell.is_ringing());
    }

    #[test]
    fn a_wake_before_a_poll_looks_at_anything_is_answered_by_it() {
        let bell = Bell::new();
        assert!(bell.arrived());
        bell.begin();
        assert_eq!(bell.wake(), Call::Quiet);
        bell.answer();
        assert_eq!(bell.end(false), Call::Quiet);
        assert_eq!(bell.wake(), Call::Ring);
    }

    #[test]
    fn a_ring_that_a_poll_has_overtaken_is_worth_nothing() {
        let bell = Bell::new();
        bell.begin();
        assert_eq!(bell.end(false), Call::Quiet);
        assert!(!bell.arrived());
        assert_eq!(bell.wake(), Call::Ring);
    }
}
