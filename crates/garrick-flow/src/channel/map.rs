//! Batches from one channel right into the next.

use garrick_core::ring;

use super::{Receiver, Sender};

/// Maps up to `max` values from `receiver` into `sender`, in place on both sides, and says how many.
///
/// It takes as many as are there and have room.
///
/// # Panics
///
/// If `map` does. What it made before is sent then, and what that was made from is dropped; the value that it
/// panicked on stays, as the oldest. So each value was mapped and sent once, or is still there
/// ([`ring::map_batch`]): a stage that is started again ([`restarting`](crate::restarting)) goes on with it.
///
/// # Examples
///
/// ```
/// let mut graph = garrick_flow::Graph::new();
/// let (mut numbers, mut numbers_in) = graph.channel::<u32>(4)?;
/// let (mut texts, mut texts_in) = graph.channel::<String>(4)?;
/// numbers.push_slice(&[1, 2, 3]);
///
/// let count = garrick_flow::map_batch(&mut numbers_in, &mut texts, 64, |n| n.to_string());
/// assert_eq!(count, 3);
/// assert_eq!(texts_in.peek().as_slices().0, ["1", "2", "3"]);
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
#[inline]
pub fn map_batch<In, Out>(
    receiver: &mut Receiver<In>,
    sender: &mut Sender<Out>,
    max: usize,
    map: impl FnMut(&In) -> Out,
) -> usize {
    // Dropped in the order of need, also after a panic: the sender's gate moves first.
    let (mut input, mut output) = (receiver.moving(), sender.moving());
    ring::map_batch(&mut input, &mut output, max, map)
}

/// As [`map_batch`], but hands each value to `map` by value: for what is moved on, not read.
///
/// # Panics
///
/// If `map` does. The value that it panicked on is gone then, since it was handed over.
///
/// # Examples
///
/// ```
/// let mut graph = garrick_flow::Graph::new();
/// let (mut words, mut words_in) = graph.channel::<String>(4)?;
/// let (mut loud, mut loud_in) = graph.channel::<String>(4)?;
/// words.push_iter(["tea".to_string()]);
///
/// garrick_flow::map_batch_owned(&mut words_in, &mut loud, 64, |word| word + "!");
/// assert_eq!(loud_in.try_pop().unwrap(), "tea!");
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
#[inline]
pub fn map_batch_owned<In, Out>(
    receiver: &mut Receiver<In>,
    sender: &mut Sender<Out>,
    max: usize,
    map: impl FnMut(In) -> Out,
) -> usize {
    // Dropped in the order of need, also after a panic: the sender's gate moves first.
    let (mut input, mut output) = (receiver.moving(), sender.moving());
    ring::map_batch_owned(&mut input, &mut output, max, map)
}
