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

use crate::Wait;

/// Returns the condition for the next step after a step that moved `count` values. If the step
/// moved any values, another batch may be ready, so the stage checks again before it sleeps.
fn next(count: usize, rest: Wait) -> Wait {
    if count > 0 { Wait::again() } else { rest }
}
