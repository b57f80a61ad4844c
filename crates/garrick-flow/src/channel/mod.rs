//! Channels. Each channel consists of a ring and two gates. A gate counts the values that one end
//! has sent or taken, and the other end watches this gate.
//!
//! ```text
//!   Sender   -- ring::Producer ==== slots ====> ring::Consumer --   Receiver
//!      |                                                               |
//!      +-- moves the gate `sent`  ------- watched by the receiver -----+
//!      +-- watches the gate `taken` ------- moved by the receiver -----+
//! ```
//!
//! The gates count the values that the rings publish, once per batch. A gate does not depend on the
//! type of the values, so a stage that rests can check any of its channels. The gates also serve as
//! the channel's counters, and record that the channel is closed. An end closes its gate after its
//! last batch, so the other end sees this batch before it sees that the channel is closed.
//!
//! If the ends of a channel are used on different threads, the channel's values cycle through more
//! memory than they need (`area.rs`).
//!
//! A waiting stage on another core is woken immediately, and runs in parallel with the stage that
//! woke it. A waiting stage on the same core could run only in place of the stage that woke it. If
//! the waiting stage were woken immediately, the two stages would displace each other after each
//! batch. With small channels, the thread switches would take most of the time. So a wake-up on the
//! same core is delayed until the stage that sends the wake-up rests or ends. When this stage
//! rests, the channel is full or empty. If this stage neither rests nor ends soon, the wake-up is
//! sent after a few more of its steps ([`Post::settle`]). The core on which a stage rests is only a
//! guess, because the system can move threads. A wrong guess delays a wake-up by a few steps.

mod area;
mod batch;
mod slots;

mod line;

mod link;
mod ringer;

mod guard;
mod moving;

mod receiver;
mod sender;

mod async_ends;
mod buffer;
mod bundle;
mod map;

use std::sync::Arc;

use garrick_core::count::Tally;
use garrick_core::gate;
use garrick_core::ring::{self, CapacityError};

use crate::post::Post;

pub use async_ends::{AsyncReceiver, AsyncSender, SendError};
pub use buffer::Buffer;
pub use bundle::{Receivers, Senders};
pub use guard::{Peek, Poke};
pub(crate) use line::{Line, Met, Side, short_of};
pub use map::{map_batch, map_batch_owned};
pub use receiver::Receiver;
pub(crate) use ringer::{Ringer, Roused};
pub use sender::Sender;
pub use slots::Slots;

use link::Link;

/// The two ends of a new channel, and the part that does not depend on the type of its values.
pub(crate) struct Ends<T> {
    pub(crate) sender: Sender<T>,
    pub(crate) receiver: Receiver<T>,
    pub(crate) line: Arc<Line>,
}

/// Creates the two halves of a ring with the properties in `slots`. If there is not enough memory
/// for a larger area, uses only as much memory as the values need.
fn halves<T>(slots: &Slots) -> Result<(ring::Producer<T>, ring::Consumer<T>), CapacityError> {
    let plain = || ring::try_channel(slots.capacity);
    if slots.compact {
        return plain();
    }
    let area = area::slots_for::<T>(slots.capacity);
    ring::try_roomy_channel(slots.capacity, area).or_else(|_| plain())
}

/// Creates the channel with the index `id` in a graph.
pub(crate) fn new<T>(id: u32, slots: Slots, post: &Arc<Post>) -> Result<Ends<T>, CapacityError> {
    let (producer, consumer) = halves(&slots)?;
    let capacity = producer.capacity();
    let ((sent_mover, sent), (taken_mover, taken)) = (gate::new(), gate::new());
    let batches = Tally::new();
    let line = Line::new::<T>(
        id,
        slots,
        capacity,
        [sent, taken],
        batches.reader(),
        Arc::clone(post),
    );
    let line = Arc::new(line);
    let sender = Sender::new(
        producer,
        Link::new(&line, Side::Sender, sent_mover, Some(batches)),
    );
    let receiver = Receiver::new(
        consumer,
        Link::new(&line, Side::Receiver, taken_mover, None),
    );
    Ok(Ends {
        sender,
        receiver,
        line,
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::cache;

    /// Creates the ends of a channel that fills a quarter of the second-level cache.
    fn ends(change: impl Fn(Slots) -> Slots) -> (Sender<u64>, Receiver<u64>) {
        let capacity = cache::second_level_bytes() / 4 / size_of::<u64>();
        let ends = new(0, change(Slots::of(capacity)), &Arc::new(Post::new()));
        let ends = ends.unwrap();
        (ends.sender, ends.receiver)
    }

    /// Sends and takes values. Takes them on another thread if `apart` is true. Returns true if the
    /// ring uses all its slots afterwards.
    fn spreads((mut sender, mut receiver): (Sender<u64>, Receiver<u64>), apart: bool) -> bool {
        let take = move || {
            assert_eq!(receiver.pop_each(2, |_| ()), 1);
            receiver
        };
        sender.try_push(1).unwrap();
        assert!(!sender.is_spread(), "nobody knows who reads");
        let mut receiver = match apart {
            true => thread::spawn(take).join().unwrap(),
            false => take(),
        };
        for number in 2..5 {
            sender.try_push(number).unwrap();
            assert_eq!(receiver.try_pop(), Some(number));
        }
        sender.is_spread()
    }

    #[test]
    fn a_channel_between_threads_goes_round_in_a_larger_area() {
        assert!(spreads(ends(|slots| slots), true));
    }

    #[test]
    fn a_channel_on_one_thread_and_a_compact_one_keep_to_their_capacity() {
        assert!(!spreads(ends(|slots| slots), false));
        assert!(!spreads(ends(Slots::compact), true));
    }
}
