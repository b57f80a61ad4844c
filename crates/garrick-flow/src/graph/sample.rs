//! State and counters of a graph at one moment.

/// The state of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageState {
    /// The stage has not ended. It is working or waiting.
    Running,
    /// The stage has ended normally, or was dropped with its graph.
    Ended,
    /// The stage has failed: it panicked, or the graph ended it because of an error. The text is
    /// the panic message or the error message.
    Failed(String),
}

/// State and counters of a stage at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSample {
    /// Name of the stage.
    pub name: String,
    /// Name of the stage's team, or of the stage itself if it has its own thread.
    pub team: String,
    /// Index of the core that the stage's thread is pinned to, or `None` if the thread is not
    /// pinned.
    pub core: Option<usize>,
    /// State of the stage.
    pub state: StageState,
    /// Number of steps that the stage has taken.
    pub steps: u64,
    /// Number of times that the stage has gone to rest. A resting stage sleeps until it is woken.
    pub rests: u64,
    /// Total number of messages that the stage has taken from its channels.
    pub messages_in: u64,
    /// Total number of messages that the stage has sent to its channels.
    pub messages_out: u64,
    /// Time that the stage was busy, in nanoseconds.
    ///
    /// A stage with its own thread is busy from the time it is woken until it rests. On the thread
    /// of a team, the time between the ends of two consecutive steps counts as busy time of the
    /// stage that took the second step. Busy time is wall-clock time, so it includes time in which
    /// the system ran other threads on the core. A busy period that has not ended counts up to the
    /// moment of the sample.
    pub busy_nanos: u64,
    /// Time that the stage has rested because a channel had too few messages, in nanoseconds. A
    /// rest that has not ended counts up to the moment of the sample.
    pub starved_nanos: u64,
    /// Time that the stage has rested because a channel had too few free slots, in nanoseconds. A
    /// rest that has not ended counts up to the moment of the sample. If the stage lacks both
    /// messages and free slots, the rest counts as back-pressured, not as starved.
    ///
    /// In all remaining time, which is neither busy nor starved nor back-pressured, the stage
    /// waited for a timer, for a future, or for the other stages of its team.
    pub back_pressured_nanos: u64,
    /// Number of steps that took at least the time set by
    /// [`Graph::count_slow_steps`](crate::Graph::count_slow_steps). The number is 0 if no time was
    /// set.
    pub slow_steps: u64,
    /// Number of times that the stage was restarted after a panic.
    pub restarts: u64,
    /// Message of the panic that caused the last restart of a [`restarting`](crate::restarting)
    /// stage. `None` if the stage was never restarted.
    pub last_panic: Option<String>,
}

/// State and counters of a channel at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSample {
    /// Name of the channel, if it was set by [`Slots::named`](crate::Slots::named).
    pub name: Option<String>,
    /// Type of the channel's messages, as returned by [`std::any::type_name`].
    pub message: &'static str,
    /// Number of slots in the channel.
    pub capacity: u64,
    /// Number of messages sent since the channel was created.
    pub sent: u64,
    /// Number of messages taken since the channel was created. Never more than `sent`.
    pub taken: u64,
    /// The sending stage, as an index into [`Sample::stages`].
    ///
    /// If the stage has [declared](crate::Stage::wiring) its end of the channel, the index is known
    /// from the start. Otherwise the field is `None` until the stage has sent a message. If all
    /// messages are sent from outside the graph, the field is always `None`.
    pub from: Option<usize>,
    /// The receiving stage, as an index into [`Sample::stages`].
    ///
    /// If the stage has [declared](crate::Stage::wiring) its end of the channel, the index is known
    /// from the start. Otherwise the field is `None` until the stage has taken a message. If all
    /// messages are taken outside the graph, the field is always `None`.
    pub to: Option<usize>,
    /// Numbers of sent batches, by size. The entry with index `k` is the number of batches that had
    /// `2^k` to `2^(k+1) - 1` messages. Trailing zeros are omitted.
    pub batches: Vec<u64>,
    /// Number of times that the sending stage has gone to rest because the channel had too few free
    /// slots.
    pub sender_stalls: u64,
    /// Number of times that the receiving stage has gone to rest because the channel had too few
    /// messages.
    pub receiver_stalls: u64,
    /// True if the channel is marked by [`Graph::feedback`](crate::Graph::feedback).
    pub feedback: bool,
    /// True if one of the channel's ends is gone, or the graph has closed the channel.
    pub closed: bool,
}

impl ChannelSample {
    /// Returns the number of messages that were sent, but have not been taken.
    pub fn left(&self) -> u64 {
        self.sent - self.taken
    }
}

/// State and counters of a graph at one moment. Returned by
/// [`Monitor::sample`](crate::Monitor::sample).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The stages in the order in which they were added.
    pub stages: Vec<StageSample>,
    /// The channels in the order in which they were created.
    pub channels: Vec<ChannelSample>,
}
