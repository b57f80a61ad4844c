//! A stage without outputs that creates a future from each value, and runs the future.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::channel::{Ringer, Side};
use crate::{Cx, Receiver, Stage, Wait, Wiring};

/// A stage that creates a future from each value, and waits until the future is ready. Created by
/// [`for_each_async`].
pub struct ForEachAsync<T, F, Fut> {
    input: Receiver<T>,
    each: F,
    /// Slots for the pending futures.
    slots: Vec<Slot<Fut>>,
}

/// Slot for one pending future. The slot is allocated once and reused, so that no value needs an
/// allocation.
struct Slot<Fut> {
    /// The pending future, if there is one.
    future: Pin<Box<Option<Fut>>>,
    /// Flag that is set when the future is woken.
    ringer: Arc<Ringer>,
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
        input,
        each,
        slots: Vec::new(),
    };
    stage.at_once(1)
}

impl<T, F, Fut> ForEachAsync<T, F, Fut> {
    /// Sets the maximum number of futures that run at the same time. The default is 1. A `count` of
    /// 0 is treated as 1. The futures can finish in any order.
    #[must_use]
    pub fn at_once(mut self, count: usize) -> Self {
        let slot = |_| Slot::new(&self.input);
        self.slots = (0..count.max(1)).map(slot).collect();
        self
    }

    /// Starts as many futures as possible, and polls the futures that were woken. Takes at most one
    /// batch of values, and returns the number of values taken.
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
    /// Polls the future if it was woken. Returns true if a future is still pending.
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
        // Answer the bell first: a ring from now on causes another step.
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
