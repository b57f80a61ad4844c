//! What there is to see of a graph at one moment.

/// How a stage is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageState {
    /// It is at work, or rests.
    Running,
    /// It has ended as it should, or was dropped with its graph.
    Ended,
    /// It has panicked, and this is what it said.
    Failed(String),
}

/// A stage, and what it has done so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSample {
    /// Its name.
    pub name: String,
    /// The name of its team; its own name if it has a thread of its own.
    pub team: String,
    /// The core that its thread is pinned to, if it is.
    pub core: Option<usize>,
    /// How it is.
    pub state: StageState,
    /// Steps that it took.
    pub steps: u64,
    /// How often it went to rest, to be woken.
    pub rests: u64,
    /// Messages that it took, over all channels.
    pub messages_in: u64,
    /// Messages that it sent, over all channels.
    pub messages_out: u64,
    /// How long it was busy, in nanoseconds.
    ///
    /// A stage with a thread of its own is busy from being woken until it rests; one of a team from the end
    /// of the step before, of whichever stage, to the end of its own. That is time by the clock on the wall: what
    /// the system took of it for others is in it. It lags by about a millisecond, or by the step under way if
    /// that is longer.
    pub busy_nanos: u64,
    /// Steps that took long, if they are counted: see
    /// [`Graph::count_slow_steps`](crate::Graph::count_slow_steps).
    pub slow_steps: u64,
    /// How often it was started again after a failure.
    pub restarts: u64,
    /// What the last panic said that it was started again after; see [`restarting`](crate::restarting).
    pub last_panic: Option<String>,
}

/// A channel, and what has gone through it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSample {
    /// Its name, if it was given one by [`Slots::named`](crate::Slots::named).
    pub name: Option<String>,
    /// The type of its messages, as [`std::any::type_name`] has it.
    pub message: &'static str,
    /// The number of its slots.
    pub capacity: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages taken; never more than `sent`.
    pub taken: u64,
    /// The stage that sends, as an index into [`Sample::stages`]: from the start if it has
    /// [told](crate::Stage::wiring), else once it has sent; none if that is done from outside of the graph.
    pub from: Option<usize>,
    /// The stage that takes, likewise.
    pub to: Option<usize>,
    /// How large the batches were that were sent: entry `k` counts those of `2^k` to `2^(k+1) - 1` messages.
    /// Zeros at the end are left out.
    pub batches: Vec<u64>,
    /// How often the sending stage went to rest because there was too little room.
    pub sender_stalls: u64,
    /// How often the receiving stage went to rest because there were too few messages.
    pub receiver_stalls: u64,
    /// Whether it is meant to lead back, by [`Graph::feedback`](crate::Graph::feedback).
    pub feedback: bool,
    /// Whether one of its ends is gone, or the graph has closed it.
    pub closed: bool,
}

impl ChannelSample {
    /// Messages sent and not taken.
    pub fn left(&self) -> u64 {
        self.sent - self.taken
    }
}

/// A graph, and what it has done so far; from [`Monitor::sample`](crate::Monitor::sample).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The stages in the order in which they were added.
    pub stages: Vec<StageSample>,
    /// The channels in the order in which they were made.
    pub channels: Vec<ChannelSample>,
}
