//! Departures: the times at which messages are sent, to measure how long messages wait.
//!
//! A departure travels like a [`Trail`] (a trace context): in a note, which is a special envelope
//! in front of its message. A measured turn has a departure instead of a trail, and its commit sets
//! the time of the departure. The worker that takes the message from the mailbox computes how long
//! the message has waited. Unlike a trail, a departure does not pass to the turn that handles the
//! message.
//!
//! The threads that watch workers for telemetry (lookouts) increment a count, the [`tick`], while
//! they run. A thread or worker measures again only after the tick has changed. So measuring costs
//! little, even if many messages are sent. Without lookouts, nothing is measured.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Instant;

use crossbeam_utils::CachePadded;
use garrick_core::prim::unmodelled::{AtomicU64, Relaxed};

use crate::runtime::trail::Trail;
use crate::world::Nanos;

/// Number of messages that delay the next measurement by one tick. After a turn whose messages were
/// measured, the worker waits one more tick for each `PER_TICK` messages that the turn has sent. A
/// measured message takes about 0.1 us longer than others, and a tick is 1 ms or longer. So
/// measuring takes at most 0.5 % of the time.
const PER_TICK: u64 = 50;

/// The tick: a count that lookouts (threads that watch workers) increment. The tick is alone in its
/// cache line, because each message that is sent outside of turns reads it.
static TICK: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));

thread_local! {
    /// Value of the tick (a count that lookout threads increment) when this thread last sent a
    /// measured message outside of turns.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// Increments the tick. Called by lookouts, the threads that watch workers for telemetry.
pub(crate) fn tick() {
    // Relaxed: the count is independent.
    TICK.fetch_add(1, Relaxed);
}

/// Returns the tick: a count that lookouts (threads that watch workers) increment. The tick is 0
/// until a lookout runs for the first time.
#[inline]
pub(crate) fn now() -> u64 {
    TICK.load(Relaxed)
}

/// The time at which a message was sent. Not set before the turn of the sender is committed.
#[derive(Default)]
struct Departure(OnceLock<Instant>);

impl Trail {
    /// Creates a departure (the record of a sending time) without a time, for a turn that has not
    /// been committed yet.
    fn departing() -> Self {
        Self::new(Departure::default())
    }

    /// Returns true if this trail is a departure: the record of a sending time, from which the
    /// waiting time of a message is measured.
    pub(crate) fn is_departure(&self) -> bool {
        self.value::<Departure>().is_some()
    }

    /// Sets the time of this trail to now, and returns the number of messages that carry this
    /// trail. Does nothing and returns `None` if the trail is not a departure (the record of a
    /// sending time).
    pub(crate) fn depart(&self) -> Option<u64> {
        let Departure(time) = self.value()?;
        let _ = time.set(Instant::now());
        Some(self.copies() as u64)
    }

    /// Returns the time that has passed since the departure, in nanoseconds, if this trail is a
    /// departure (the record of a sending time). Otherwise returns `None`.
    pub(crate) fn waited(&self) -> Option<Nanos> {
        let Departure(time) = self.value()?;
        let waited = time.get()?.elapsed().as_nanos();
        Some(Nanos::try_from(waited).unwrap_or(Nanos::MAX))
    }
}

/// Decides in which turns of a worker the waiting time of messages is measured.
#[derive(Default)]
pub(crate) struct Departures {
    /// Value of the tick (a count that lookout threads increment) after which another turn is
    /// measured.
    next: Cell<u64>,
}

impl Departures {
    /// Returns a departure (the record of a sending time) if the waiting times of the next turn's
    /// messages must be measured.
    pub(crate) fn next(&self) -> Option<Trail> {
        let tick = now();
        (tick > self.next.get()).then(|| {
            self.next.set(tick);
            Trail::departing()
        })
    }

    /// Records that a measured turn has sent `messages` messages, which delays the next
    /// measurement.
    pub(crate) fn sent(&self, messages: u64) {
        self.next.set(self.next.get() + messages / PER_TICK);
    }
}

/// Returns a departure (the record of a sending time) if the waiting time of the next message that
/// this thread sends outside of turns must be measured.
pub(crate) fn outside() -> Option<Trail> {
    is_due().then(|| {
        LAST.set(now());
        let trail = Trail::departing();
        trail.depart();
        trail
    })
}

/// Returns true if the waiting time of the next message that this thread sends outside of turns
/// must be measured.
#[inline]
pub(crate) fn is_due() -> bool {
    // The value needs no destructor, so it is there until the thread has ended.
    LAST.get() != now()
}
