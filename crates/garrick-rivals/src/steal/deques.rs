//! The contenders that are deques. A thread cannot wait for a value in a deque. If the deque is
//! empty, the thread tries again, and soon yields its core.

use std::hint;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};
use std::thread;

use super::channels::LOCAL_CAPACITY;
use super::team::Team;

/// Number of spins after which the thread yields its core before each further attempt.
const SPINS_MAX: u32 = 64;

/// Calls `look` until it returns a value. Gives up when no thread is sending any more, and one
/// further call of `look` finds no value.
fn wait(senders: &AtomicU64, mut look: impl FnMut() -> Option<u64>) -> Option<u64> {
    let mut spins = 0;
    loop {
        // Acquire: pairs with the AcqRel in `retire`. The load comes before the look, which then
        // sees all values that were sent.
        let is_over = senders.load(Acquire) == 0;
        let value = look();
        if value.is_some() || is_over {
            return value;
        }
        spins += 1;
        if spins < SPINS_MAX {
            hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

/// Crossbeam's deques, which grow when they are full. The threads also search an injector, a queue
/// that all of them share, but the injector never contains a value.
#[derive(Debug)]
pub(super) struct CrossbeamDeque;

/// The handle of one thread.
pub(super) struct CrossbeamHand {
    own: crossbeam_deque::Worker<u64>,
    number: usize,
    shared: Arc<CrossbeamShared>,
}

struct CrossbeamShared {
    injector: crossbeam_deque::Injector<u64>,
    stealers: Vec<crossbeam_deque::Stealer<u64>>,
    /// Number of threads that are still sending.
    senders: AtomicU64,
}

impl CrossbeamHand {
    /// Searches for a value in the order that the crate's documentation recommends: first in the
    /// injector, and then in the deques of the other threads. Repeats the search if one of these
    /// queues was busy.
    fn look(&self) -> Option<u64> {
        let others = || self.shared.stealers.iter().enumerate();
        iter::repeat_with(|| {
            self.shared
                .injector
                .steal_batch_and_pop(&self.own)
                .or_else(|| {
                    others()
                        .filter(|(number, _)| *number != self.number)
                        .map(|(_, stealer)| stealer.steal_batch_and_pop(&self.own))
                        .collect()
                })
        })
        .find(|steal| !steal.is_retry())
        .and_then(crossbeam_deque::Steal::success)
    }
}

impl Team for CrossbeamDeque {
    type Hand = CrossbeamHand;

    fn open(members: u64, senders: u64) -> Vec<CrossbeamHand> {
        let workers: Vec<_> = (0..members)
            .map(|_| crossbeam_deque::Worker::new_lifo())
            .collect();
        let shared = Arc::new(CrossbeamShared {
            injector: crossbeam_deque::Injector::new(),
            stealers: workers
                .iter()
                .map(crossbeam_deque::Worker::stealer)
                .collect(),
            senders: AtomicU64::new(senders),
        });
        let hand = |(number, own)| CrossbeamHand {
            own,
            number,
            shared: shared.clone(),
        };
        workers.into_iter().enumerate().map(hand).collect()
    }

    #[inline]
    fn send(hand: &mut CrossbeamHand, value: u64) {
        // The deque grows by itself, so all values of this thread go there.
        hand.own.push(value);
    }

    #[inline]
    fn try_recv(hand: &mut CrossbeamHand) -> Option<u64> {
        hand.own.pop().or_else(|| hand.look())
    }

    fn retire(hand: &mut CrossbeamHand) {
        // AcqRel: pairs with the Acquire in `wait`.
        hand.shared.senders.fetch_sub(1, AcqRel);
    }

    #[inline]
    fn recv(hand: &mut CrossbeamHand) -> Option<u64> {
        let hand = &*hand;
        hand.own
            .pop()
            .or_else(|| wait(&hand.shared.senders, || hand.look()))
    }
}

/// The deques of the crate `st3`, which are bounded. If a deque is full, half of its values move to
/// an injector of crossbeam, a queue that all threads share.
#[derive(Debug)]
pub(super) struct St3;

/// The handle of one thread.
pub(super) struct St3Hand {
    own: st3::lifo::Worker<u64>,
    number: usize,
    shared: Arc<St3Shared>,
}

struct St3Shared {
    injector: crossbeam_deque::Injector<u64>,
    stealers: Vec<st3::lifo::Stealer<u64>>,
    /// Number of threads that are still sending.
    senders: AtomicU64,
}

impl St3Hand {
    fn look(&self) -> Option<u64> {
        self.injected().or_else(|| self.stolen())
    }

    fn injected(&self) -> Option<u64> {
        let first = iter::repeat_with(|| self.shared.injector.steal())
            .find(|steal| !steal.is_retry())?
            .success()?;
        for _ in 1..LOCAL_CAPACITY / 2 {
            let crossbeam_deque::Steal::Success(value) = self.shared.injector.steal() else {
                break;
            };
            // No other thread pushes to this deque, and it was empty.
            self.own
                .push(value)
                .expect("half a deque fits into an empty one");
        }
        Some(first)
    }

    fn stolen(&self) -> Option<u64> {
        let stealers = self.shared.stealers.iter().enumerate();
        stealers
            .filter(|(number, _)| *number != self.number)
            .find_map(|(_, stealer)| {
                let half = |count: usize| count.div_ceil(2);
                stealer.steal_and_pop(&self.own, half).ok()
            })
            .map(|(value, _)| value)
    }

    #[cold]
    fn overflow(&self, value: u64) {
        for _ in 0..LOCAL_CAPACITY / 2 {
            self.own
                .pop()
                .into_iter()
                .for_each(|value| self.shared.injector.push(value));
        }
        self.shared.injector.push(value);
    }
}

impl Team for St3 {
    type Hand = St3Hand;

    fn open(members: u64, senders: u64) -> Vec<St3Hand> {
        let workers: Vec<_> = (0..members)
            .map(|_| st3::lifo::Worker::new(LOCAL_CAPACITY))
            .collect();
        let shared = Arc::new(St3Shared {
            injector: crossbeam_deque::Injector::new(),
            stealers: workers.iter().map(st3::lifo::Worker::stealer).collect(),
            senders: AtomicU64::new(senders),
        });
        let hand = |(number, own)| St3Hand {
            own,
            number,
            shared: shared.clone(),
        };
        workers.into_iter().enumerate().map(hand).collect()
    }

    #[inline]
    fn send(hand: &mut St3Hand, value: u64) {
        if let Err(value) = hand.own.push(value) {
            hand.overflow(value);
        }
    }

    #[inline]
    fn try_recv(hand: &mut St3Hand) -> Option<u64> {
        hand.own.pop().or_else(|| hand.look())
    }

    fn retire(hand: &mut St3Hand) {
        // AcqRel: pairs with the Acquire in `wait`.
        hand.shared.senders.fetch_sub(1, AcqRel);
    }

    #[inline]
    fn recv(hand: &mut St3Hand) -> Option<u64> {
        let hand = &*hand;
        hand.own
            .pop()
            .or_else(|| wait(&hand.shared.senders, || hand.look()))
    }
}
