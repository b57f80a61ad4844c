//! A bell: who wakes a future that an actor runs, and whether anybody has to send for it.
//!
//! Three bits in one word. Whoever wakes an actor that rests sends it a message, the ring; every other wake leaves a
//! mark, which the actor finds when its poll ends or when the ring arrives. So at most one ring is on its way, however
//! many wakers there are and whichever threads they are on.
//!
//! ```text
//!   wake:   resting ------> WOKEN | RINGING, and the caller sends a ring
//!           RUNNING ------> RUNNING | WOKEN             seen when the poll ends
//!           RINGING ------> RINGING | WOKEN             seen when the ring arrives
//!   begin:  any ----------> RUNNING, RINGING as it was  WOKEN is answered by this poll
//!   answer: RUNNING | WOKEN -> RUNNING               the same for wakes since it began
//!   end:    RUNNING | WOKEN -> RINGING                  and the caller sends a ring
//! ```
//!
//! What is said below to be the actor's alone is so for the sake of the rings: a call from elsewhere may lose a wake or send
//! a ring too many, and can do no other harm.
//!
//! Every operation is lock-free: one read-modify-write, repeated only when another thread has changed the word.

#[cfg(all(test, garrick_loom))]
mod loom_tests;

use crate::prim::atomic::{AtomicU8, AtomicU64, Ordering};

/// The future is being polled.
const RUNNING: u8 = 1;
/// It was woken since its last poll began.
const WOKEN: u8 = 2;
/// A ring is on its way to it.
const RINGING: u8 = 4;

/// See the module.
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
    /// The three bits. Wakers on any thread and the actor write and read it.
    word: AtomicU8,
    /// Polls begun. The actor writes, anybody reads.
    polls: AtomicU64,
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether the caller has to send a ring.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use]
pub enum Call {
    /// Yes.
    Ring,
    /// The actor will look by itself.
    Quiet,
}

impl Bell {
    /// Of an actor that has not been polled, and whose start is on its way as a ring would be.
    pub fn new() -> Self {
        Self {
            word: AtomicU8::new(WOKEN | RINGING),
            polls: AtomicU64::new(0),
        }
    }

    fn change(&self, next: impl Fn(u8) -> u8) -> u8 {
        // Both: pairs with itself on other threads. What a waker did before it woke is seen by the poll that answers
        // it, and what the actor did before it rested by whoever wakes it next.
        let changed = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| Some(next(word)));
        changed.unwrap_or_else(|word| word)
    }

    /// Somebody wakes the actor.
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

    /// A ring has arrived; whether it is still worth a poll.
    pub fn arrived(&self) -> bool {
        self.change(|word| word & !RINGING) & WOKEN != 0
    }

    /// The poll begins, and answers every wake so far. What wakes from here on is seen when it ends. Only the actor calls this.
    pub fn begin(&self) {
        self.change(|word| word & RINGING | RUNNING);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// Does what [`Bell::begin`] does, without a read-modify-write. Only the actor calls this, while nobody on another thread can call
    /// anything.
    pub fn begin_alone(&self) {
        // Relaxed: nobody else writes.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word & RINGING | RUNNING, Ordering::Relaxed);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// The poll that has begun, and has looked at nothing yet, answers what has woken since as well. Only the actor calls this.
    pub fn answer(&self) {
        self.change(|word| word & !WOKEN);
    }

    /// Polls begun so far, as their only writer or something in there sees it.
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// The poll is over; `again` if there is a reason to poll once more.
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

    /// Does what [`Bell::end`] does, without a read-modify-write. Only the actor calls this, while nobody on another thread can call
    /// anything.
    pub fn end_alone(&self, again: bool) -> Call {
        // Relaxed: nobody else writes.
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

    /// Whether a ring is on its way.
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
