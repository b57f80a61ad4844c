//! Wakers that make a stage take a step, and the list of the futures that were woken.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::task::{Wake, Waker};

use super::line::{Line, Side};

/// A waker for the only future of a stage. The waker makes the stage take a step, by ringing the
/// bell (the wake-up flag) at an end of a channel.
pub(crate) struct Ringer {
    /// The channel whose bell (wake-up flag) the waker rings.
    line: Arc<Line>,
    /// The channel end that belongs to the stage.
    side: Side,
}

impl Ringer {
    /// Creates a waker that rings the bell (the wake-up flag) at the end of `line` on `side`.
    pub(crate) fn waker(line: &Arc<Line>, side: Side) -> Waker {
        Waker::from(Arc::new(Self {
            line: Arc::clone(line),
            side,
        }))
    }
}

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.line.ring(self.side);
    }
}

/// The list of the woken futures of a stage that has several futures, so that a step visits only
/// these.
///
/// Each future has a number, and a link that belongs to its number. The list is a stack of links:
///
/// ```text
///     head: 3 ---> link 3, next: 1 ---> link 1, next: 0 (the end)
/// ```
///
/// Any thread pushes a number, without a lock. A number is in the list at most once. The stage
/// takes the whole list at a time, so a number cannot leave the list and come back while another
/// thread compares the head.
pub(crate) struct Roused {
    ringer: Ringer,
    /// The number that was pushed last, or 0 if the list is empty. Written by the threads that wake
    /// futures, and by the stage, which empties the list.
    head: AtomicUsize,
    /// The links of the numbers 1, 2, 3 and so on.
    links: Box<[Link]>,
}

/// The link of a number in the list of woken futures.
#[derive(Default)]
struct Link {
    /// True if the number is in the list. Set by a thread that wakes the future, and reset by the
    /// stage, which takes the number out.
    is_listed: AtomicBool,
    /// The next number in the list, or 0 at the end. Written by the thread that pushes the number,
    /// and read by the stage.
    next: AtomicUsize,
}

/// A waker for one of several futures of a stage.
struct Call {
    roused: Arc<Roused>,
    /// Index of the future.
    index: usize,
}

impl Roused {
    /// Creates an empty list for `count` futures, whose wakers ring the bell (the wake-up flag) at
    /// the end of `line` on `side`.
    pub(crate) fn new(line: &Arc<Line>, side: Side, count: usize) -> Arc<Self> {
        let ringer = Ringer {
            line: Arc::clone(line),
            side,
        };
        Arc::new(Self {
            ringer,
            head: AtomicUsize::new(0),
            links: (0..count).map(|_| Link::default()).collect(),
        })
    }

    /// Creates the waker of the future with the given index.
    pub(crate) fn waker(self: &Arc<Self>, index: usize) -> Waker {
        let roused = Arc::clone(self);
        Waker::from(Arc::new(Call { roused, index }))
    }

    /// Empties the list, and appends the indices of the futures in it to `woken`, in the order in
    /// which the futures were woken. Called only by the stage.
    pub(crate) fn take_into(&self, woken: &mut Vec<usize>) {
        let from = woken.len();
        // Acquire: pairs with the Release in `push`; the links of the list are visible.
        let mut number = self.head.swap(0, Acquire);
        while number != 0 {
            let index = number - 1;
            let link = &self.links[index];
            // Relaxed: the Acquire above orders it.
            number = link.next.load(Relaxed);
            // AcqRel: pairs with the one in `push`; the future sees what it was woken for, and the
            // next push of this number comes after the load above.
            link.is_listed.swap(false, AcqRel);
            woken.push(index);
        }
        woken[from..].reverse();
    }

    /// Adds the future with the given index to the list, and makes the stage take a step. Does
    /// nothing if the future is in the list already: the thread that has added it rings the bell.
    fn push(&self, index: usize) {
        let link = &self.links[index];
        // AcqRel: pairs with the one in `take_into`.
        if link.is_listed.swap(true, AcqRel) {
            return;
        }
        // Relaxed: the exchange below decides.
        let mut head = self.head.load(Relaxed);
        loop {
            // Relaxed: the exchange below publishes it.
            link.next.store(head, Relaxed);
            // Release: pairs with the Acquire in `take_into`; publishes the link.
            match (self.head).compare_exchange_weak(head, index + 1, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // After the push, so that the stage that answers the bell finds the future.
        self.ringer.line.ring(self.ringer.side);
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.roused.push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::channel::{self, Slots};
    use crate::post::Post;

    fn roused(count: usize) -> Arc<Roused> {
        let ends = channel::new::<u8>(0, Slots::of(1), &Arc::new(Post::new())).unwrap();
        Roused::new(&ends.line, Side::Receiver, count)
    }

    fn taken(roused: &Roused) -> Vec<usize> {
        let mut woken = Vec::new();
        roused.take_into(&mut woken);
        woken
    }

    #[test]
    fn the_list_has_the_woken_ones_once_and_in_order() {
        let roused = roused(1_000);
        let wakers: Vec<Waker> = (0..1_000).map(|index| roused.waker(index)).collect();
        assert_eq!(taken(&roused), []);
        for index in [7, 999, 0, 7, 0] {
            wakers[index].wake_by_ref();
        }
        assert!(roused.ringer.line.is_rung(Side::Receiver));
        assert_eq!(taken(&roused), [7, 999, 0]);
        assert_eq!(taken(&roused), []);
        wakers[7].wake_by_ref();
        assert_eq!(taken(&roused), [7], "and again");
    }

    #[test]
    fn no_wake_up_is_lost_between_threads() {
        const ROUNDS: usize = 10_000;
        let roused = roused(8);
        let wakes = |first: usize| {
            let wakers: Vec<Waker> = (first..first + 4).map(|n| roused.waker(n)).collect();
            thread::spawn(move || {
                (0..ROUNDS).for_each(|round| wakers[round % 4].wake_by_ref());
            })
        };
        let threads = [wakes(0), wakes(2), wakes(4)];
        let mut seen = [0; 8];
        let mut count = |woken: Vec<usize>| woken.into_iter().for_each(|index| seen[index] += 1);
        while !threads.iter().all(thread::JoinHandle::is_finished) {
            count(taken(&roused));
        }
        count(taken(&roused));
        assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
        assert!(seen.iter().sum::<usize>() <= 3 * ROUNDS, "{seen:?}");
        assert_eq!(taken(&roused), []);
    }
}
