//! Mapping of batches from one ring directly into another ring.
use std::mem::MaybeUninit;

use super::{
    Consumer, Producer,
    consumer::Taken,
    producer::{Made, Tally},
};

/// Calls `map` for each of the oldest values of `consumer`, at most `max` of them, and appends the
/// results to `producer`. Reads the values and writes the results in place, in the slots of the two
/// rings. Returns the number of values mapped.
///
/// Maps fewer values if `consumer` has fewer values or `producer` has fewer free slots. The inner
/// loop runs over plain slices, so the compiler can optimize it like a loop over two `Vec`s. Each
/// ring is updated once, after the last value.
///
/// If `map` panics, the earlier results are published, and their inputs are dropped. The input on
/// which `map` panicked stays in `consumer` as the oldest value. So each value either was mapped
/// once or is still in `consumer`.
///
/// # Examples
///
/// ```
/// use garrick_core::ring;
///
/// let (mut numbers_in, mut numbers) = ring::channel::<u32>(4);
/// let (mut texts, mut texts_out) = ring::channel::<String>(4);
/// numbers_in.push_slice(&[1, 2, 3]);
///
/// assert_eq!(ring::map_batch(&mut numbers, &mut texts, 64, |n| n.to_string()), 3);
/// assert_eq!(texts_out.peek().as_slices().0, ["1", "2", "3"]);
/// ```
#[inline]
pub fn map_batch<In, Out>(
    consumer: &mut Consumer<In>,
    producer: &mut Producer<Out>,
    max: usize,
    mut map: impl FnMut(&In) -> Out,
) -> usize {
    let count = batch_len(consumer, producer, max);
    let mut mapped = Mapped::new(consumer, producer);
    while mapped.done < count {
        let input = mapped.consumer.run(mapped.done, count);
        // SAFETY:
        // - free: `done < count <= free_seen`, by `batch_len`.
        // - nobody else: `mapped` holds the producer by `&mut`, and lends `output` to this loop
        //   alone.
        let output = unsafe { mapped.producer.free_run(mapped.done, count) };
        map_run(input, output, &mut mapped.done, &mut map);
    }
    count
}

/// Writes the result of `map` for each value of `input` into `output`, up to the shorter length.
/// Adds the number of results to `done`, even if `map` panics.
///
/// This function is not inlined, so that the variables of the loop stay in registers. Otherwise the
/// surrounding code would need these registers.
#[inline(never)]
pub(super) fn map_run<In, Out>(
    input: &[In],
    output: &mut [MaybeUninit<Out>],
    done: &mut usize,
    map: &mut impl FnMut(&In) -> Out,
) {
    let mut tally = Tally::new(done);
    for (value, slot) in input.iter().zip(output) {
        slot.write(map(value));
        tally.count += 1;
    }
}

/// Takes up to `max` values from `consumer`, passes each of them to `map` by value, and appends the
/// results to `producer`. Returns the number of values mapped.
///
/// Use this function if `map` moves its input into the result. Otherwise use [`map_batch`].
///
/// If `map` panics, the earlier results are published. The input on which `map` panicked is lost,
/// and the later inputs stay in `consumer`.
///
/// # Examples
///
/// ```
/// use garrick_core::ring;
///
/// let (mut words_in, mut words) = ring::channel::<String>(4);
/// let (mut out, mut loud) = ring::channel::<String>(4);
/// words_in.push_iter(["tea".to_string()]);
///
/// ring::map_batch_owned(&mut words, &mut out, 64, |word| word + "!");
/// assert_eq!(loud.try_pop().unwrap(), "tea!");
/// ```
#[inline]
pub fn map_batch_owned<In, Out>(
    consumer: &mut Consumer<In>,
    producer: &mut Producer<Out>,
    max: usize,
    mut map: impl FnMut(In) -> Out,
) -> usize {
    let count = batch_len(consumer, producer, max);
    let mut taken = Taken::new(consumer);
    let mut made = Made::new(producer);
    while made.count < count {
        let input = taken.run(count);
        // SAFETY:
        // - free: `made.count < count <= free_seen`, by `batch_len`.
        // - nobody else: `made` holds the producer by `&mut`, and lends `output` to this loop
        //   alone.
        let output = unsafe { made.producer.free_run(made.count, count) };
        let mut taken_tally = Tally::new(&mut taken.count);
        let mut made_tally = Tally::new(&mut made.count);
        for (index, slot) in output.iter_mut().take(input.len()).enumerate() {
            taken_tally.count += 1;
            // SAFETY:
            // - valid, full and ours: `Taken::run` says so for all of `input`, and `index` is below
            //   its length.
            // - read once: the count of taken values has passed the slot, so it will be released.
            let value = unsafe { input.cast::<In>().add(index).read() };
            slot.write(map(value));
            made_tally.count += 1;
        }
    }
    count
}

/// Returns the number of values that a batch can map now.
#[inline]
fn batch_len<In, Out>(
    consumer: &mut Consumer<In>,
    producer: &mut Producer<Out>,
    max: usize,
) -> usize {
    let readable = consumer.readable_up_to(max);
    producer.free_up_to(readable)
}

/// Guard of a batch in progress. Dropping the guard publishes the outputs and drops their inputs,
/// even after a panic.
struct Mapped<'a, In, Out> {
    consumer: &'a mut Consumer<In>,
    producer: &'a mut Producer<Out>,
    /// Number of values mapped. At most `Consumer::readable_seen` and `Producer::free_seen`.
    done: usize,
}

impl<'a, In, Out> Mapped<'a, In, Out> {
    #[inline]
    fn new(consumer: &'a mut Consumer<In>, producer: &'a mut Producer<Out>) -> Self {
        Self {
            consumer,
            producer,
            done: 0,
        }
    }
}

impl<In, Out> Drop for Mapped<'_, In, Out> {
    #[inline]
    fn drop(&mut self) {
        if self.done > 0 {
            // In this order: the `Drop` of an input may panic, the publishing may not.
            self.producer.publish(self.done);
            self.consumer.skip(self.done);
        }
    }
}
