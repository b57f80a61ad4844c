//! Maps batches directly from one channel into the next.

use garrick_core::ring;

use super::{Receiver, Sender};

/// Maps up to `max` values from `receiver`, and sends the results through `sender`. Reads and
/// writes the values in place, in the slots of both channels. Returns the number of values mapped.
///
/// Fewer values are mapped if fewer values are available, or if fewer slots of the output channel
/// are free.
///
/// # Panics
///
/// Panics if `map` panics. The results that `map` returned before the panic are sent, and the
/// values that they were computed from are dropped. If the `Drop` of one of these values panics,
/// too, the process aborts, as it does for a [`Vec`]. The value for which `map` panicked stays in
/// the channel as the oldest value. So each value either was mapped and sent once, or is still in
/// the channel. A [`restarting`](crate::restarting) stage continues with the value for which `map`
/// panicked.
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
    // Variables are dropped in reverse order, even if a panic unwinds: the sender's gate moves
    // first.
    let (mut input, mut output) = (receiver.moving(), sender.moving());
    ring::map_batch(&mut input, &mut output, max, map)
}

/// Maps up to `max` values from `receiver`, and sends the results through `sender`. Passes each
/// value to `map` by value. Returns the number of values mapped.
///
/// In all other respects, this function works like [`map_batch`].
///
/// # Panics
///
/// Panics if `map` panics. The value for which `map` panicked is lost, because `map` owned it. The
/// results that `map` returned before the panic are sent.
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
    // Variables are dropped in reverse order, even if a panic unwinds: the sender's gate moves
    // first.
    let (mut input, mut output) = (receiver.moving(), sender.moving());
    ring::map_batch_owned(&mut input, &mut output, max, map)
}
