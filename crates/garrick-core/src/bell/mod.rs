//! A bell: wakes a future that an actor runs, and decides whether the waker must send the actor a
//! message.
//!
//! A bell is three bits in one word. A waker of an idle actor sends the actor a message, the ring.
//! Every other wake sets a bit, which the actor finds when its poll ends or when the ring arrives.
//! So at most one ring is on its way, regardless of the number of wakers and their threads.
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
//! Methods marked "Only the actor calls this" are restricted to keep the number of rings right. A
//! call from elsewhere may lose a wake or send a redundant ring, and can do no other harm.
//!
//! Every operation is lock-free: one read-modify-write, repeated only when another thread has
//! changed the word.

#[cfg(all(test, garrick_loom))]
mod loom_tests;

use crate::prim::atomic::{AtomicU8, AtomicU64, Ordering};

/// Set while the future is being polled.
const RUNNING: u8 = 1;
/// Set if the future was woken since its last poll began.
const WOKEN: u8 = 2;
/// Set while a ring is on its way to the actor.
const RINGING: u8 = 4;

/// Wake state of a future that an actor runs; see the [module](self).
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
    /// The three bits. Wakers on any thread and the actor write and read the word.
    word: AtomicU8,
    /// Number of polls begun. The actor writes it, any thread reads it.
    polls: AtomicU64,
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}

/// Outcome of a wake or of a poll: whether the caller must send a ring.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use]
pub enum Call {
    /// The caller must send a ring.
    Ring,
    /// No ring is needed: the actor will find the wake by itself.
    Quiet,
}

impl Bell {
    /// Creates the bell of an actor that has not been polled yet. The actor's start counts as a
    /// ring on its way.
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

    /// Wakes the actor.
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

    /// Records that a ring has arrived. Returns true if the ring is still worth a poll.
    pub fn arrived(&self) -> bool {
        self.change(|word| word & !RINGING) & WOKEN != 0
    }

    /// Begins a poll, which answers every wake so far. A later wake is seen when the poll ends.
    /// Only the actor calls this.
    pub fn begin(&self) {
        self.change(|word| word & RINGING | RUNNING);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// Does what [`Bell::begin`] does, without a read-modify-write. Only the actor calls this,
    /// while no other thread can call any method.
    pub fn begin_alone(&self) {
        // Relaxed: no other thread writes.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store(word & RINGING | RUNNING, Ordering::Relaxed);
        self.polls.store(self.polls() + 1, Ordering::Relaxed);
    }

    /// Answers the wakes since the poll began as well. Only the actor calls this, in a poll that
    /// has not read anything yet.
    pub fn answer(&self) {
        self.change(|word| word & !WOKEN);
    }

    /// Returns the number of polls begun so far. The value is exact for the actor and for code in
    /// its future.
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Ends the poll. `again` is true if there is a reason to poll once more.
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

    /// Does what [`Bell::end`] does, without a read-modify-write. Only the actor calls this, while
    /// no other thread can call any method.
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

    /// Returns true if a ring is on its way.
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
