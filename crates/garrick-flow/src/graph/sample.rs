//! State and counters of a graph at one moment.

/// The state of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageState {
    /// The stage is at work, or rests.
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
    /// Number of steps that the stage took.
    pub steps: u64,
    /// Number of times the stage went to rest, to be woken later.
    pub rests: u64,
    /// Number of messages that the stage took, over all channels.
    pub messages_in: u64,
    /// Number of messages that the stage sent, over all channels.
    pub messages_out: u64,
    /// Time that the stage was busy, in nanoseconds.
    ///
    /// A stage with its own thread is busy from being woken until it rests. A stage of a team is
    /// busy from the end of the previous step on its thread, of any stage, to the end of its own
    /// step. This is wall-clock time: it includes time in which the system ran other threads on the
    /// core. The value lags by about a millisecond, or by the step under way if that is longer.
    pub busy_nanos: u64,
    /// Number of slow steps, if they are counted; see
    /// [`Graph::count_slow_steps`](crate::Graph::count_slow_steps).
    pub slow_steps: u64,
    /// Number of times the stage was restarted after a failure.
    pub restarts: u64,
    /// Message of the last panic after which the stage was restarted; see
    /// [`restarting`](crate::restarting).
    pub last_panic: Option<String>,
}

/// State and counters of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSample {
    /// Name of the channel, if it was set by [`Slots::named`](crate::Slots::named).
    pub name: Option<String>,
    /// Type of the channel's messages, in the form of [`std::any::type_name`].
    pub message: &'static str,
    /// Number of the channel's slots.
    pub capacity: u64,
    /// Number of messages sent.
    pub sent: u64,
    /// Number of messages taken; never more than `sent`.
    pub taken: u64,
    /// The stage that sends, as an index into [`Sample::stages`].
    ///
    /// Known from the start if the stage has [declared](crate::Stage::wiring) the end, else once it
    /// has sent. `None` if the messages are sent from outside the graph.
    pub from: Option<usize>,
    /// The stage that takes, as an index into [`Sample::stages`]. Known from the start if the stage
    /// has [declared](crate::Stage::wiring) the end, else once it has taken. `None` if the messages
    /// are taken outside the graph.
    pub to: Option<usize>,
    /// Counts of sent batches by size: entry `k` counts those of `2^k` to `2^(k+1) - 1` messages.
    /// Zeros at the end are left out.
    pub batches: Vec<u64>,
    /// Number of times the sending stage went to rest because there was too little room.
    pub sender_stalls: u64,
    /// Number of times the receiving stage went to rest because there were too few messages.
    pub receiver_stalls: u64,
    /// True if the channel is marked by [`Graph::feedback`](crate::Graph::feedback).
    pub feedback: bool,
    /// True if one of the channel's ends is gone, or the graph has closed the channel.
    pub closed: bool,
}

impl ChannelSample {
    /// Returns the number of messages sent and not taken.
    pub fn left(&self) -> u64 {
        self.sent - self.taken
    }
}

/// State and counters of a graph; from [`Monitor::sample`](crate::Monitor::sample).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The stages in the order in which they were added.
    pub stages: Vec<StageSample>,
    /// The channels in the order in which they were made.
    pub channels: Vec<ChannelSample>,
}
