//! Maps batches from one channel into the next through a buffer.

use std::fmt;

use garrick_core::copy;

use super::{Receiver, Sender};

/// A buffer that one stage owns and uses to map batches with [`map_batch`](Self::map_batch).
///
/// The free function [`map_batch`](crate::map_batch) works in place: a batch occupies its slots in
/// both channels until the whole batch is mapped. The method of the same name first copies the
/// batch from the input channel into the buffer. So the sender can refill the slots while the batch
/// is being mapped. Use a buffer if it takes a long time to map a batch. Each value is copied once,
/// into the buffer. Results are written directly into the output channel.
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
    /// The batch that was taken most recently.
    taken: Vec<T>,
    /// Number of values of the batch that were mapped and sent.
    done: usize,
}

impl<T: Copy> Buffer<T> {
    /// Creates an empty buffer. The buffer grows to the size of the largest batch.
    pub fn new() -> Self {
        Self {
            taken: Vec::new(),
            done: 0,
        }
    }

    /// Takes up to `max` values from `receiver`, maps them, and sends the results through `sender`.
    /// Returns the number of results sent.
    ///
    /// Fewer values are taken if fewer values are available, or if fewer slots of the output
    /// channel are free. If the buffer contains values that are [left](Self::left) from an earlier
    /// batch, the call maps only these, and takes no new values.
    ///
    /// # Panics
    ///
    /// Panics if `map` panics. The results that `map` returned before the panic are sent. The value
    /// for which `map` panicked and the values after it stay in the buffer.
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

    /// Returns the number of values in the buffer whose results have not been sent yet.
    ///
    /// The number is above 0 only after `map` has panicked. In a [`restarting`](crate::restarting)
    /// stage, the buffer must belong to `kept`, the part that outlives a panic, and the stage must
    /// not return [`Wait::done`](crate::Wait::done) while the number is above 0.
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

/// A batch of results that is being sent. Even during a panic, `Drop` records how many values of
/// the batch have been sent.
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
