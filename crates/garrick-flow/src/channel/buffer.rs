//! Batches from one channel into the next by way of a buffer.

use std::fmt;

use garrick_core::copy;

use super::{Receiver, Sender};

/// A buffer of a stage's own, for [`map_batch`](Self::map_batch).
///
/// [`map_batch`](crate::map_batch) works in place, and keeps a batch's slots at both ends until the batch is
/// done. This takes the batch out first, so that its slots are filled again while it is worked on: for work that takes
/// long. It costs a copy of what is taken; what is made is written where it is to lie.
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
    /// The last batch that was taken.
    taken: Vec<T>,
    /// How much of it was mapped and sent.
    done: usize,
}

impl<T: Copy> Buffer<T> {
    /// An empty buffer. It grows to the size of the batches.
    pub fn new() -> Self {
        Self {
            taken: Vec::new(),
            done: 0,
        }
    }

    /// Takes up to `max` values out of `receiver`, maps them, and sends the results by `sender`; says how many.
    ///
    /// It takes as many as are there and have room. What is [left](Self::left) of an earlier batch comes first, and
    /// nothing is taken as long as there is anything left.
    ///
    /// # Panics
    ///
    /// If `map` does. What it made before is sent then; the value that it panicked on and those behind it are left.
    #[inline]
    pub fn map_batch<Out>(
        &mut self,
        receiver: &mut Receiver<T>,
        sender: &mut Sender<Out>,
        max: usize,
        map: impl FnMut(&T) -> Out,
    ) -> usize {
        if self.left() == 0 {
            // What is taken must find room, so the room comes first.
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

    /// How many values were taken and not sent. There are some only after `map` has panicked, or if others send by the same
    /// sender: a stage that begins anew keeps its buffer, and has not ended before this is 0.
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

/// A batch that is being sent. At the end of the scope, also when that ends by a panic, what was sent counts as done.
struct Sending<'a, Out> {
    sender: &'a mut Sender<Out>,
    /// How many values the sender had sent before.
    before: u64,
    /// How much of the batch was sent.
    done: &'a mut usize,
}

impl<Out> Drop for Sending<'_, Out> {
    #[inline]
    fn drop(&mut self) {
        // No more than the batch has, which is a `usize`.
        *self.done += (self.sender.sent() - self.before) as usize;
    }
}
