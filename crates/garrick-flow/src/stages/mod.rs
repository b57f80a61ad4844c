//! Ready-made stages for the usual cases.
//!
//! | one to one | one to many | many to one |
//! | --- | --- | --- |
//! | [`produce`], [`map`], [`consume`] | [`partition`] by key, [`distribute`] round-robin, [`broadcast`] to all | [`merge`] |
//!
//! [`from_stream`] and [`from_async`] are sources that wait for futures. [`for_each_async`] is a
//! sink that waits for futures.
//!
//! Each stage works in batches. A batch has at most the size that [`batch`](crate::Sender::batch)
//! returns for the stage's channel. By default, a resting stage is woken by the first value or free
//! slot, so that no value is delayed. `wait_for` and `half_full` reduce the number of wake-ups.
//! `restarting` makes a stage restart after a panic. [`map`] works in place, in the slots of its
//! channels, unless it is [`buffered`](Map::buffered).

mod key;

mod broadcast;
mod buffered;
mod consume;
mod distribute;
mod for_each;
mod map;
mod merge;
mod partition;
mod produce;
mod stream;

pub use broadcast::{Broadcast, broadcast};
pub use buffered::Buffered;
pub use consume::{Consume, consume};
pub use distribute::{Distribute, distribute};
pub use for_each::{ForEachAsync, for_each_async};
pub use map::{Map, map};
pub use merge::{Merge, merge};
pub use partition::{Partition, partition};
pub use produce::{Produce, produce, produce_from};
pub use stream::{FromAsync, FromStream, from_async, from_stream};

use crate::{Sender, Senders, Wait};

/// Returns the condition for the next step after a step that moved `count` values. If the step
/// moved any values, another batch may be ready, so the stage checks again before it sleeps.
fn next(count: usize, rest: Wait) -> Wait {
    if count > 0 { Wait::again() } else { rest }
}

/// Waits until `wanted` slots of a full channel are free. If the channel is not full, waits only
/// for the end of the channel.
///
/// A stage must not wait for more free slots of a channel that is not full. The receiver may wait
/// for more values than the channel contains, so that no slot becomes free.
fn room<T>(output: &mut Sender<T>, wanted: usize) -> Wait {
    let is_full = output.free() == 0;
    Wait::free(output, if is_full { wanted } else { 1 })
}

/// Waits until each output has a free slot. If an output is full, waits until the first full output
/// has `wanted` free slots. [`room`] explains why the others need not have so many.
fn room_in_all<T>(outputs: &mut Senders<T>, wanted: usize) -> Wait {
    let one_in_each = Wait::all_free(outputs, 1);
    let mut open = outputs.iter_mut().filter(|output| !output.is_closed());
    match open.find_map(|output| (output.free() == 0).then_some(&*output)) {
        Some(full) => one_in_each.and(Wait::free(full, wanted)),
        None => one_in_each,
    }
}

/// Waits until an output has a free slot. If all outputs are full, waits for `wanted` free slots of
/// one of them, for the reason that [`room`] explains.
fn room_in_any<T>(outputs: &mut Senders<T>, wanted: usize) -> Wait {
    let mut open = outputs.iter_mut().filter(|output| !output.is_closed());
    let are_full = open.all(|output| output.free() == 0);
    Wait::any_free(outputs, if are_full { wanted } else { 1 })
}
