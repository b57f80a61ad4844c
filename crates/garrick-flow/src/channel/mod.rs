//! Channels: a ring, and a gate at each end that says how far the other is.
//!
//! ```text
//!   Sender   -- ring::Producer ==== slots ====> ring::Consumer --   Receiver
//!      |                                                               |
//!      +-- moves the gate `sent`  ------- watched by the receiver -----+
//!      +-- watches the gate `taken` ------- moved by the receiver -----+
//! ```
//!
//! The gates count what the rings publish, once a batch. They carry no type, so that a stage that rests can
//! look at any of its channels; they are the channel's counters as well. Whether a channel is closed is the
//! gates' word too: an end closes its gate after its last batch, so who sees the one sees the other.
//!
//! A stage that waits on another core is woken at once, and works beside the one that woke it. One that rested
//! on the same core would only push that one aside, after a batch, to be pushed aside in turn; with small
//! channels most of the time then goes into changing threads. So its wake-up is held back until the stage
//! that owes it rests or ends, by when the channel is full or empty, or has taken a few more steps
//! ([`Post::settle`]). Which core that is is a guess; a wrong one makes a wake-up late by these steps.

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
pub(crate) use line::{Line, Met, Side};
pub use map::{map_batch, map_batch_owned};
pub use receiver::Receiver;
pub(crate) use ringer::Ringer;
pub use sender::Sender;
pub use slots::Slots;

use link::Link;

/// A new channel.
pub(crate) struct Ends<T> {
    pub(crate) sender: Sender<T>,
    pub(crate) receiver: Receiver<T>,
    pub(crate) line: Arc<Line>,
}

/// Makes channel number `id` of a graph.
pub(crate) fn new<T>(id: u32, slots: Slots, post: &Arc<Post>) -> Result<Ends<T>, CapacityError> {
    let (producer, consumer) = ring::try_channel(slots.capacity)?;
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
