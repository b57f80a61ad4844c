//! The thieves' side of the deque. A thief claims values, passes a fence, gives up the values that
//! the owner has popped, and copies the rest.
use std::fmt;

use garrick_core::prim::{
    Arc,
    atomic::Ordering::{Acquire, Relaxed},
};

use super::{
    Steal, Worker,
    shared::{Buffer, Guard, Shared, distance},
};

/// Maximum number of values that one theft takes. Copying so many values takes about as long as the
/// memory barrier before the copy. The barrier and the copy happen under the lock, for which the
/// owner may have to wait.
const THEFT_MAX: usize = 1024;

/// A handle that takes the oldest values of a deque. The threads that use such handles are called
/// *thieves*, in contrast to the owner of the [`Worker`]. Each thief has its own clone.
///
/// Each theft costs a fence, or a `membarrier(2)`, which also interrupts the owner. This cost is
/// wasted if the owner pops the last value during the theft. So a thief should take many values in
/// one theft, and should not steal from an owner that has only a few values.
///
/// A thief that finds no value should back off, and then park. A check for values is cheap for the
/// thief, but moves a cache line away from the owner's core. The check contains no fence, so it
/// might miss a value that the owner has just pushed. A thief that parks must synchronize with the
/// owner in another way, so that the owner wakes it.
pub struct Stealer<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Stealer<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Steals the oldest value.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::deque::{self, Steal};
    ///
    /// let mut worker = deque::bounded(8);
    /// worker.push('a').unwrap();
    /// assert_eq!(worker.stealer().steal(), Steal::Success('a'));
    /// assert_eq!(worker.stealer().steal(), Steal::Empty);
    /// ```
    pub fn steal(&self) -> Steal<T> {
        self.claim(1).and_then(Claim::first)
    }

    /// Steals half of the values, rounded up. Returns the oldest value and pushes the others to
    /// `into`, oldest first.
    ///
    /// At most 1024 values are stolen. If `into` is bounded, the number of pushed values is at most
    /// the room in `into`. If `into` is the worker of the same deque, only the oldest value is
    /// taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::deque::{self, Steal};
    ///
    /// let mut victim = deque::bounded(8);
    /// (0..6).for_each(|value| victim.push(value).unwrap());
    /// let mut thief = deque::bounded(8);
    /// assert_eq!(victim.stealer().steal_half(&mut thief), Steal::Success(0));
    /// assert_eq!(thief.pop(), Some(2));
    /// assert_eq!(thief.len(), 1);
    /// assert_eq!(victim.len(), 3);
    /// ```
    pub fn steal_half(&self, into: &mut Worker<T>) -> Steal<T> {
        if into.owns(&self.shared) {
            return into.pop_oldest().map_or(Steal::Empty, Steal::Success);
        }
        // Room is made before the victim is locked: growing takes the lock of `into`, and two
        // workers that each held the other's lock would deadlock.
        let count = half(self.shared.len());
        let room = into.make_room_for(count.saturating_sub(1));
        self.claim(room.saturating_add(1)).and_then(|mut claim| {
            let oldest = claim.next();
            claim.for_each(|value| into.push_into_room(value));
            oldest.map_or(Steal::Empty, Steal::Success)
        })
    }

    /// Steals half of the values, rounded up, but at most `count_max` and at most 1024. Appends the
    /// stolen values to `into`, oldest first, and returns their number.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_steal::deque::{self, Steal};
    ///
    /// let mut worker = deque::bounded(8);
    /// (0..6).for_each(|value| worker.push(value).unwrap());
    /// let mut loot = Vec::new();
    /// assert_eq!(worker.stealer().steal_half_into(&mut loot, 16), Steal::Success(3));
    /// assert_eq!(loot, [0, 1, 2]);
    /// ```
    pub fn steal_half_into(&self, into: &mut Vec<T>, count_max: usize) -> Steal<usize> {
        // Room is made first, so that nothing is allocated under the lock.
        let count = half(self.shared.len()).min(count_max);
        into.reserve(count);
        self.claim(count).and_then(|claim| {
            let before = into.len();
            claim.for_each(|value| into.push(value));
            match into.len() - before {
                0 => Steal::Empty,
                count => Steal::Success(count),
            }
        })
    }

    /// Returns the number of values in the deque. The number may be outdated. Values that a thief
    /// has already claimed are not counted.
    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Returns true if the deque is empty. The result may be outdated. Values that a thief has
    /// already claimed are not counted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if all values have been taken, and no thief is still copying values, except for
    /// a last value that the owner tries to pop, too.
    ///
    /// A value that the owner or a thief is about to return counts as taken. So does a last value
    /// for which they compete. If the method returns true and the caller then passes a light fence,
    /// it sees all writes that were made before the last value was taken.
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.shared.is_drained()
    }

    /// Claims up to half of the values, but at most `count_max`. Returns the values that the thief
    /// keeps. If the owner has popped all claimed values in the meantime, the thief keeps none.
    fn claim(&self, count_max: usize) -> Steal<Claim<'_, T>> {
        let shared = &*self.shared;
        // No lock and no barrier for a deque that looks empty.
        if half(shared.len()).min(count_max) == 0 {
            return Steal::Empty;
        }
        let Some(guard) = shared.try_lock() else {
            return Steal::Busy;
        };
        let head = guard.head();
        // Relaxed: this value only determines the size of the claim; the load below decides.
        let tail = shared.tail.load(Relaxed);
        let count = half(distance(head, tail)).min(count_max);
        let mut claim = Claim::new(guard, head);
        if count > 0 {
            claim.open(count);
            shared.fence().heavy();
            // Acquire: pairs with the Release in `Worker::publish_tail`; every slot below is
            // written.
            claim.settle(count, shared.tail.load(Acquire));
        }
        Steal::Success(claim)
    }
}

/// Returns the number of values that one theft takes from `len` values.
#[inline]
fn half(len: usize) -> usize {
    len.div_ceil(2).min(THEFT_MAX)
}

/// Values that a thief has claimed, oldest first. When the claim is dropped, the values that the
/// thief has not taken go back to the deque, even if the thief panics between two steps.
struct Claim<'a, T> {
    /// Guard of the steal lock. The lock is released last, after `Claim::drop` has run.
    guard: Guard<'a, T>,
    /// Copy of the pointer to the buffer. Valid while this thief holds the lock.
    buffer: Buffer<T>,
    /// Position of the first value of the claim that the thief has not taken yet.
    next: usize,
    /// Position after the last value of the claim that belongs to this thief.
    end: usize,
}

impl<'a, T> Claim<'a, T> {
    /// Creates a claim that begins at the position `head` and contains no values yet.
    fn new(guard: Guard<'a, T>, head: usize) -> Self {
        Self {
            buffer: guard.buffer(),
            guard,
            next: head,
            end: head,
        }
    }

    /// Moves `head` past the next `count` values, which do not belong to the thief yet.
    fn open(&mut self, count: usize) {
        self.guard.set_head(self.next.wrapping_add(count));
    }

    /// Settles a claim of `count` values. The thief keeps the values below `tail`, which was read
    /// after the fence. The other values go back to the deque.
    fn settle(&mut self, count: usize, tail: usize) {
        let left = distance(self.next, tail).min(count);
        self.end = self.next.wrapping_add(left);
        if left < count {
            // Not left to `drop`: the owner need not wait for our copying if it wants one of these
            // values.
            self.guard.set_head(self.end);
        }
    }

    /// Takes the oldest value of the claim, and gives the other values back to the deque.
    fn first(mut self) -> Steal<T> {
        self.next().map_or(Steal::Empty, Steal::Success)
    }
}

impl<T> Iterator for Claim<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.next == self.end {
            return None;
        }
        // SAFETY:
        // - alive: the owner replaces the buffer only under the lock, which we hold.
        // - initialized: it is below the tail that `settle` was given, read with Acquire.
        // - read once: `head` is past it, so that the owner's pop fails (README, "The race"), and
        //   `next` moves on below.
        let value = unsafe { self.buffer.read(self.next) };
        self.next = self.next.wrapping_add(1);
        Some(value)
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        self.guard.set_head(self.next);
        self.guard.set_done(self.next);
    }
}

impl<T> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone())
    }
}

impl<T> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;
    use crate::deque::{Full, bounded};

    /// Creates a worker with four values. Returns the worker, and the state that it shares with
    /// thieves.
    fn four() -> (Worker<u32>, Arc<Shared<u32>>) {
        let mut worker = bounded(4);
        (0..4).for_each(|value| worker.push(value).unwrap());
        let shared = worker.stealer().shared;
        (worker, shared)
    }

    fn open(shared: &Shared<u32>, count: usize) -> Claim<'_, u32> {
        let guard = shared.try_lock().expect("nobody else is here");
        let head = guard.head();
        let mut claim = Claim::new(guard, head);
        claim.open(count);
        claim
    }

    /// Tests that the owner can pop a value that a thief has given up, even while the thief still
    /// holds the lock and copies the other values.
    #[test]
    fn a_claim_is_shrunk_before_its_values_are_copied() {
        let (mut worker, shared) = four();
        let mut claim = open(&shared, 3);
        // As if the owner had popped two values before the thief looked.
        claim.settle(3, 2);
        assert_eq!(worker.len(), 2, "or the owner would wait for the lock");
        assert_eq!(worker.pop(), Some(3));
        assert_eq!(worker.pop(), Some(2));
        assert_eq!(
            [claim.next(), claim.next(), claim.next()],
            [Some(0), Some(1), None]
        );
        drop(claim);
        assert_eq!(worker.pop(), None);
    }

    /// Tests a claim that is dropped early, for example because the thief panics. The values that
    /// the thief has not taken go back to the deque.
    #[test]
    fn a_claim_that_ends_early_gives_back() {
        for taken in 0..=2 {
            let (mut worker, shared) = four();
            let mut claim = open(&shared, 2);
            if taken > 0 {
                claim.settle(2, 4);
                assert!(claim.by_ref().take(taken).eq(0..taken as u32));
            }
            drop(claim);
            // There is room for as many as were taken: `done` is with `head`.
            for value in 0..taken as u32 {
                assert_eq!(worker.push(10 + value), Ok(()));
            }
            assert_eq!(worker.push(99), Err(Full(99)));
            let left: Vec<u32> = std::iter::from_fn(|| worker.pop_oldest()).collect();
            let expected = (taken as u32..4).chain(10..10 + taken as u32);
            assert_eq!(left, Vec::from_iter(expected));
        }
    }
}
