//! Batches from one channel into the next by way of two buffers.

use std::fmt;

use super::{Receiver, Sender};

/// Two buffers of a stage's own, for [`map_batch`](Self::map_batch).
///
/// [`map_batch`](crate::map_batch) works in place, and keeps a batch's slots at both ends until the batch is
/// done. This takes the batch out first, so its slots are free while it is worked on: for work that takes long,
/// and for closures that need the batch in one piece with nothing open. It costs two copies. What is in the buffers
/// when a closure panics is lost.
///
/// # Examples
///
/// ```
/// let mut graph = garrick_flow::Graph::new();
/// let (mut numbers, mut numbers_in) = graph.channel::<u32>(4)?;
/// let (mut halves, mut halves_in) = graph.channel::<f32>(4)?;
/// numbers.push_slice(&[1, 2, 3]);
///
/// let mut buffers = garrick_flow::Buffers::new();
/// let count = buffers.map_batch(&mut numbers_in, &mut halves, 64, |n| *n as f32 / 2.0);
/// assert_eq!(count, 3);
/// assert_eq!(halves_in.peek().as_slices().0, [0.5, 1.0, 1.5]);
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
pub struct Buffers<In, Out> {
    /// What was taken.
    taken: Vec<In>,
    /// What is to be sent.
    made: Vec<Out>,
}

impl<In: Copy, Out: Copy> Buffers<In, Out> {
    /// Empty buffers. They grow to the size of the batches.
    pub fn new() -> Self {
        Self {
            taken: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Takes up to `max` values out of `receiver`, maps them, and sends the results by `sender`; says how many.
    ///
    /// It takes as many as are there and have room.
    #[inline]
    pub fn map_batch(
        &mut self,
        receiver: &mut Receiver<In>,
        sender: &mut Sender<Out>,
        max: usize,
        map: impl FnMut(&In) -> Out,
    ) -> usize {
        // What is taken must find room, so the room comes first.
        let room = max.min(sender.free());
        self.taken.clear();
        receiver.consume_batch(room, |values| self.taken.extend_from_slice(values));
        self.made.clear();
        self.made.extend(self.taken.iter().map(map));
        sender.push_slice(&self.made)
    }
}

impl<In: Copy, Out: Copy> Default for Buffers<In, Out> {
    fn default() -> Self {
        Self::new()
    }
}

impl<In, Out> fmt::Debug for Buffers<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("capacity", &self.taken.capacity())
            .finish_non_exhaustive()
    }
}
