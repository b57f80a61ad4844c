//! A sink of futures.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::channel::{Ringer, Side};
use crate::{Cx, Receiver, Stage, Wait, Wiring};

/// A stage that makes a future of each value, and waits for it; from [`for_each_async`].
pub struct ForEachAsync<T, F, Fut> {
    input: Receiver<T>,
    each: F,
    /// Room for the futures under way.
    slots: Vec<Slot<Fut>>,
}

/// Room for a future. It is made once, so that a value needs no memory of its own.
struct Slot<Fut> {
    /// The future under way, if there is one.
    future: Pin<Box<Option<Fut>>>,
    /// Knows whether it was woken.
    ringer: Arc<Ringer>,
    /// Wakes it.
    waker: Waker,
}

/// Makes a stage that calls `each` with every value, and waits for the future that it returns before it takes
/// the next value; or up to `n` at once, by [`at_once`](ForEachAsync::at_once).
///
/// The futures are begun in the order of the values. What they wait for holds up the channel, and so the graph:
/// this is how a sink that is slow, or an actor whose mailbox is full, slows its sources down. A stage whose
/// futures wait rests. The values of the futures under way have been taken; a stage that fails loses these.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// /// It could wait for whatever there is to wait for.
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
        input,
        each,
        slots: Vec::new(),
    };
    stage.at_once(1)
}

impl<T, F, Fut> ForEachAsync<T, F, Fut> {
    /// Has up to `count` futures, and at least one, under way at a time. They end in any order.
    #[must_use]
    pub fn at_once(mut self, count: usize) -> Self {
        let slot = |_| Slot::new(&self.input);
        self.slots = (0..count.max(1)).map(slot).collect();
        self
    }

    /// Fills the slots and polls what can go on, a batch of values at most, and says how many it took.
    fn work(&mut self) -> usize
    where
        F: FnMut(T) -> Fut,
        Fut: Future<Output = ()>,
    {
        let mut count = 0;
        for slot in &mut self.slots {
            while !slot.is_busy() && count < self.input.batch() {
                let Some(value) = self.input.try_pop() else {
                    break;
                };
                count += 1;
                slot.begin((self.each)(value));
            }
        }
        count
    }
}

impl<Fut> Slot<Fut> {
    fn new<T>(input: &Receiver<T>) -> Self {
        let (ringer, waker) = Ringer::new(input.shared_line(), Side::Receiver);
        Self {
            future: Box::pin(None),
            ringer,
            waker,
        }
    }

    fn begin(&mut self, future: Fut) {
        self.future.set(Some(future));
        self.ringer.rouse();
    }
}

impl<Fut: Future<Output = ()>> Slot<Fut> {
    /// Whether there is a future that is still under way, once it has done what it can.
    fn is_busy(&mut self) -> bool {
        let Some(future) = self.future.as_mut().as_pin_mut() else {
            return false;
        };
        if !self.ringer.take() {
            return true;
        }
        let mut cx = Context::from_waker(&self.waker);
        let busy = future.poll(&mut cx).is_pending();
        if !busy {
            self.future.set(None);
        }
        busy
    }
}

impl<T, F, Fut> Stage for ForEachAsync<T, F, Fut>
where
    T: Send + 'static,
    F: FnMut(T) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        // First: a ring from now on is for the next step.
        self.input.line().answer(Side::Receiver);
        if self.work() > 0 {
            return Wait::again();
        }
        let busy = self.slots.iter().filter(|slot| slot.future.is_some());
        let busy = busy.count();
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
