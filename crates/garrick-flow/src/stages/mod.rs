//! Stages for the usual cases: produce, map, consume.
//!
//! Each works in batches of its channel's [`batch`](crate::Sender::batch) and is woken by the first value or slot, so
//! that nothing is held up; `wait_for` asks for fewer wake-ups, and `restarting` for a new start after a panic.

mod consume;
mod map;
mod produce;

pub use consume::{Consume, consume};
pub use map::{Map, map};
pub use produce::{Produce, produce, produce_from};

use crate::Wait;

/// After a step that moved `count` values: where one batch was ready another may be, so it looks again
/// before it asks for more than a batch.
fn next(count: usize, rest: Wait) -> Wait {
    if count > 0 { Wait::again() } else { rest }
}
