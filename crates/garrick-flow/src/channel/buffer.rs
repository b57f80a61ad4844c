//! Maps batches from one channel into the next through a buffer.

use std::fmt;

use garrick_core::copy;

use super::{Receiver, Sender};

/// A buffer for [`map_batch`](Self::map_batch), owned by one stage.
///
/// The function [`map_batch`](crate::map_batch) works in place, so a batch occupies its slots in
/// both channels until the whole batch is mapped. A `Buffer` takes the batch out of its channel
/// first, so that the sender can refill these slots during the work. Use a buffer if it takes a
/// long time to map a batch. Each value is copied once, into the buffer. Results are written
/// directly into the output channel.
///
/// # Examples
///
/// ```
/// let mut graph = garrick_flow::Graph::new();
/// let (mut numbers, mut numbers_in) = graph.channel::<u32>(4)?;
/// let (mut halves, mut halves_in) = graph.channel::<f32>(4)?;
/// numbers.push_slice(&[1, 2, 3]);
///
/// let mut buffer = garrick_flow::Buffer::new();
/// let count = buffer.map_batch(&mut numbers_in, &mut halves, 64, |n| *n as f32 / 2.0);
/// assert_eq!(count, 3);
/// assert_eq!(halves_in.peek().as_slices().0, [0.5, 1.0, 1.5]);
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
pub struct Buffer<T> {
    /// The batch that was taken last.
    taken: Vec<T>,
    /// Number of values of the batch that were mapped and sent.
    done: usize,
}

impl<T: Copy> Buffer<T> {
    /// Creates an empty buffer. It grows to the size of the batches.
    pub fn new() -> Self {
        Self {
            taken: Vec::new(),
            done: 0,
        }
    }

    /// Takes up to `max` values from `receiver`, maps them, and sends the results through `sender`.
    /// Returns the number of results sent.
    ///
    /// The number of values is also limited by the number of available values and the number of
    /// free slots. Values [left](Self::left) from an earlier batch are mapped first. New values are
    /// taken only after the results of all these values have been sent.
    ///
    /// # Panics
    ///
    /// Panics if `map` panics. The results from before the panic are sent. The value for which
    /// `map` panicked and the values after it stay in the buffer.
    #[inline]
    pub fn map_batch<Out>(
        &mut self,
        receiver: &mut Receiver<T>,
        sender: &mut Sender<Out>,
        max: usize,
        map: impl FnMut(&T) -> Out,
    ) -> usize {
        if self.left() == 0 {
            // Every value that is taken must find room for its result, so the room is checked
            // first.
            let room = max.min(sender.free());
            self.taken.clear();
            self.done = 0;
            receiver.consume_batch(room, |values| copy::append(&mut self.taken, values));
        }
        let end = self.taken.len().min(self.done.saturating_add(max));
        let values = &self.taken[self.done..end];
        let sending = Sending {
            before: sender.sent(),
            done: &mut self.done,
            sender,
        };
        sending.sender.moving().push_mapped(values, map)
    }

    /// Returns the number of values that were taken, but whose results have not been sent yet.
    ///
    /// The number is above 0 only after `map` has panicked. A [`restarting`](crate::restarting)
    /// stage must have its buffer in its kept part, and must not return
    /// [`Wait::done`](crate::Wait::done) while the number is above 0.
    #[inline]
    pub fn left(&self) -> usize {
        self.taken.len() - self.done
    }
}

impl<T: Copy> Default for Buffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("capacity", &self.taken.capacity())
            .field("left", &(self.taken.len() - self.done))
            .finish_non_exhaustive()
    }
}

/// A batch that is being sent. Its `Drop` counts the values that were sent as done, even during a
/// panic.
struct Sending<'a, Out> {
    sender: &'a mut Sender<Out>,
    /// Number of values that the sender had sent before this batch.
    before: u64,
    /// Number of values of the batch that were sent.
    done: &'a mut usize,
}

impl<Out> Drop for Sending<'_, Out> {
    #[inline]
    fn drop(&mut self) {
        // At most the size of the batch, which is a `usize`.
        *self.done += (self.sender.sent() - self.before) as usize;
    }
}
