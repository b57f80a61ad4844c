//! A stage without outputs that creates a future from each value, and runs the future.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use garrick_core::quiet::Contained;

use crate::channel::{Roused, Side};
use crate::{Cx, Receiver, Stage, Wait, Wiring};

/// A stage that creates a future from each value, and waits until the future is ready. Created by
/// [`for_each_async`].
pub struct ForEachAsync<T, F, Fut> {
    input: Receiver<T>,
    each: F,
    /// Slots for the pending futures.
    slots: Vec<Slot<Fut>>,
    /// Indices of the slots without a future.
    free: Vec<usize>,
    /// The futures that were woken, by the indices of their slots. A step visits only the slots of
    /// these futures, and the slots that it fills.
    roused: Arc<Roused>,
    /// Buffer for the indices that were taken from `roused`. Empty between two steps.
    woken: Vec<usize>,
}

/// Slot for one pending future. The slot is allocated once and reused, so that no value needs an
/// allocation.
struct Slot<Fut> {
    /// The pending future, if there is one. Contained, because the destructors of several futures
    /// may panic when the stage is dropped.
    future: Pin<Box<Option<Contained<Fut>>>>,
    /// Waker of the future.
    waker: Waker,
}

/// Creates a stage that calls `each` with every value, and waits for the returned future before it
/// takes the next value. With [`at_once`](ForEachAsync::at_once), several futures run at the same
/// time.
///
/// The futures are started in the order of the values. If the futures are slow, for example because
/// an actor's mailbox is full, values stay in the channel, and the sources slow down. While no
/// future can continue, the stage sleeps. A value that was passed to a pending future has left the
/// channel, and is lost if the stage fails.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// /// The function could await anything here.
/// async fn store(number: u32) {
///     assert!(number < 1000);
/// }
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// graph.source("numbers", stages::produce(numbers, 0..1000));
/// graph.stage("store", stages::for_each_async(numbers_in, store).at_once(8));
/// let report = graph.start()?.join();
/// assert!(report.failures().is_empty());
/// assert_eq!(report.channels()[0].taken, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn for_each_async<T, F, Fut>(input: Receiver<T>, each: F) -> ForEachAsync<T, F, Fut>
where
    F: FnMut(T) -> Fut,
    Fut: Future<Output = ()>,
{
    let stage = ForEachAsync {
        roused: Roused::new(input.shared_line(), Side::Receiver, 0),
        input,
        each,
        slots: Vec::new(),
        free: Vec::new(),
        woken: Vec::new(),
    };
    stage.at_once(1)
}

impl<T, F, Fut> ForEachAsync<T, F, Fut> {
    /// Sets the maximum number of futures that run at the same time. The default is 1. A `count` of
    /// 0 is treated as 1. The futures can finish in any order. The memory for `count` futures is
    /// allocated at once. The time that a finished future takes does not depend on `count`.
    #[must_use]
    pub fn at_once(mut self, count: usize) -> Self {
        let count = count.max(1);
        self.roused = Roused::new(self.input.shared_line(), Side::Receiver, count);
        let slot = |index| Slot {
            future: Box::pin(None),
            waker: self.roused.waker(index),
        };
        self.slots = (0..count).map(slot).collect();
        self.free = (0..count).rev().collect();
        self
    }

    /// Polls the futures that were woken, and starts as many futures as possible. Takes at most one
    /// batch of values, and returns the number of values taken.
    fn work(&mut self) -> usize
    where
        F: FnMut(T) -> Fut,
        Fut: Future<Output = ()>,
    {
        self.poll_woken();
        let mut count = 0;
        while count < self.input.batch()
            && let Some(&index) = self.free.last()
            && let Some(value) = self.input.try_pop()
        {
            count += 1;
            let future = (self.each)(value);
            let slot = &mut self.slots[index];
            slot.future.set(Some(Contained::new(future)));
            if slot.poll() {
                self.free.pop();
            }
        }
        count
    }

    /// Polls the futures that were woken. Returns the number of slots that it has visited.
    fn poll_woken(&mut self) -> usize
    where
        Fut: Future<Output = ()>,
    {
        self.roused.take_into(&mut self.woken);
        let visited = self.woken.len();
        for index in self.woken.drain(..) {
            let slot = &mut self.slots[index];
            // A waker may outlive its future.
            if slot.future.is_some() && !slot.poll() {
                self.free.push(index);
            }
        }
        visited
    }
}

impl<Fut: Future<Output = ()>> Slot<Fut> {
    /// Polls the future, and drops it if it is ready. Returns true if there is still a future.
    fn poll(&mut self) -> bool {
        let mut cx = Context::from_waker(&self.waker);
        let future = self.future.as_mut().as_pin_mut();
        let is_pending = future.is_some_and(|future| future.poll(&mut cx).is_pending());
        if !is_pending {
            self.future.set(None);
        }
        is_pending
    }
}

impl<T, F, Fut> Stage for ForEachAsync<T, F, Fut>
where
    T: Send + 'static,
    F: FnMut(T) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        // Answer the bell first: a ring from now on causes another step.
        self.input.line().answer(Side::Receiver);
        if self.work() > 0 {
            return Wait::again();
        }
        let busy = self.slots.len() - self.free.len();
        let rung = Wait::rung(self.input.line(), Side::Receiver);
        match (busy, self.input.is_finished()) {
            (0, true) => Wait::done(),
            (0, false) => Wait::readable(&self.input, 1),
            (_, false) if busy < self.slots.len() => rung.or(Wait::readable(&self.input, 1)),
            _ => rung,
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input);
    }
}

impl<T, F, Fut> fmt::Debug for ForEachAsync<T, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForEachAsync")
            .field("input", &self.input)
            .field("at_once", &self.slots.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Mutex;
    use std::task::Poll;

    use super::*;
    use crate::{Graph, Sender};

    const COUNT: usize = 1_000;

    /// A future of the test: the number of its polls, its waker, and true if it may finish.
    #[derive(Default)]
    struct Probe {
        polls: usize,
        waker: Option<Waker>,
        is_over: bool,
    }

    type Probes = Arc<Mutex<Vec<Probe>>>;

    type Boxed = Pin<Box<dyn Future<Output = ()>>>;

    type Busy<F> = (Sender<usize>, ForEachAsync<usize, F, Boxed>, Probes);

    /// Returns a stage with 1,000 pending futures, the sender of its channel, and the states of the
    /// futures.
    fn busy() -> Busy<impl FnMut(usize) -> Boxed> {
        let (mut numbers, input) = Graph::new().channel::<usize>(2 * COUNT).unwrap();
        let probes = Probes::default();
        let ours = probes.clone();
        let each = move |number: usize| {
            let probes = ours.clone();
            probes.lock().unwrap().push(Probe::default());
            Box::pin(poll_fn(move |cx| {
                let probe = &mut probes.lock().unwrap()[number];
                probe.polls += 1;
                probe.waker = Some(cx.waker().clone());
                if probe.is_over {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })) as Boxed
        };
        let mut stage = for_each_async(input, each).at_once(COUNT);
        numbers.push_iter(0..COUNT);
        while stage.work() > 0 {}
        assert!(stage.free.is_empty());
        (numbers, stage, probes)
    }

    fn finish(probes: &Probes, number: usize) {
        let probe = &mut probes.lock().unwrap()[number];
        probe.is_over = true;
        probe.waker.as_ref().unwrap().wake_by_ref();
    }

    #[test]
    fn a_finished_future_costs_one_visit_whatever_the_limit() {
        let (_numbers, mut stage, probes) = busy();
        assert_eq!(stage.poll_woken(), 0, "nobody was woken");
        for number in (0..COUNT).rev() {
            finish(&probes, number);
            assert_eq!(stage.poll_woken(), 1);
            assert_eq!(stage.free.len(), COUNT - number);
        }
        assert!(probes.lock().unwrap().iter().all(|probe| probe.polls == 2));
    }

    #[test]
    fn a_free_slot_takes_the_next_value_and_old_wakers_do_no_harm() {
        let (mut numbers, mut stage, probes) = busy();
        finish(&probes, 5);
        finish(&probes, 5);
        assert_eq!((stage.work(), stage.free.as_slice()), (0, [5].as_slice()));
        let old = probes.lock().unwrap()[5].waker.take().unwrap();
        old.wake_by_ref();
        assert_eq!(
            (stage.poll_woken(), stage.free.len()),
            (1, 1),
            "its future is gone"
        );
        numbers.push_iter([COUNT]);
        assert_eq!((stage.work(), stage.free.len()), (1, 0));
        old.wake();
        assert_eq!((stage.poll_woken(), stage.free.len()), (1, 0));
        let probes = probes.lock().unwrap();
        assert_eq!((probes[5].polls, probes[COUNT].polls), (2, 2));
    }
}
