//! State and counters of a graph at one moment.

/// The state of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageState {
    /// The stage works or rests.
    Running,
    /// The stage has ended normally, or was dropped with its graph.
    Ended,
    /// The stage has panicked, with this message.
    Failed(String),
}

/// State and counters of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSample {
    /// Name of the stage.
    pub name: String,
    /// Name of the stage's team, or of the stage itself if it has its own thread.
    pub team: String,
    /// Core that the stage's thread is pinned to, if any.
    pub core: Option<usize>,
    /// State of the stage.
    pub state: StageState,
    /// Number of steps that the stage has taken.
    pub steps: u64,
    /// Number of times that the stage has gone to rest, to be woken later.
    pub rests: u64,
    /// Number of messages that the stage has taken, over all channels.
    pub messages_in: u64,
    /// Number of messages that the stage has sent, over all channels.
    pub messages_out: u64,
    /// Time that the stage was busy, in nanoseconds.
    ///
    /// A stage with its own thread is busy from the time it is woken until it rests. A stage of a
    /// team is busy from the previous step on its thread, of any stage, until it has returned from
    /// its own step. This is wall-clock time, so it includes time in which the system ran other
    /// threads on the core. The value lags by about a millisecond, or by the current step if that
    /// takes longer.
    pub busy_nanos: u64,
    /// Number of slow steps, if they are counted by
    /// [`Graph::count_slow_steps`](crate::Graph::count_slow_steps).
    pub slow_steps: u64,
    /// Number of times that the stage was restarted after a panic.
    pub restarts: u64,
    /// Message of the last panic after which the [`restarting`](crate::restarting) stage was
    /// restarted.
    pub last_panic: Option<String>,
}

/// State and counters of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSample {
    /// Name of the channel, if it was set by [`Slots::named`](crate::Slots::named).
    pub name: Option<String>,
    /// Type of the channel's messages, as returned by [`std::any::type_name`].
    pub message: &'static str,
    /// Number of the channel's slots.
    pub capacity: u64,
    /// Number of messages sent.
    pub sent: u64,
    /// Number of messages taken. Never more than `sent`.
    pub taken: u64,
    /// Stage that sends, as an index into [`Sample::stages`].
    ///
    /// If the stage has [declared](crate::Stage::wiring) the end, the index is known from the
    /// start. Otherwise it is known once the stage has sent a message. `None` if the messages are
    /// sent from outside the graph.
    pub from: Option<usize>,
    /// Stage that receives, as an index into [`Sample::stages`].
    ///
    /// If the stage has [declared](crate::Stage::wiring) the end, the index is known from the
    /// start. Otherwise it is known once the stage has taken a message. `None` if the messages are
    /// taken outside the graph.
    pub to: Option<usize>,
    /// Numbers of sent batches by size. Entry `k` counts the batches of `2^k` to `2^(k+1) - 1`
    /// messages. Trailing zeros are omitted.
    pub batches: Vec<u64>,
    /// Number of times that the sending stage has gone to rest because there was too little room.
    pub sender_stalls: u64,
    /// Number of times that the receiving stage has gone to rest because there were too few
    /// messages.
    pub receiver_stalls: u64,
    /// True if the channel is marked by [`Graph::feedback`](crate::Graph::feedback).
    pub feedback: bool,
    /// True if one of the channel's ends is gone, or the graph has closed the channel.
    pub closed: bool,
}

impl ChannelSample {
    /// Returns the number of messages that were sent and not taken.
    pub fn left(&self) -> u64 {
        self.sent - self.taken
    }
}

/// State and counters of a graph. Returned by [`Monitor::sample`](crate::Monitor::sample).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The stages in the order in which they were added.
    pub stages: Vec<StageSample>,
    /// The channels in the order in which they were created.
    pub channels: Vec<ChannelSample>,
}
