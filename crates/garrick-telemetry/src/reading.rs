//! Raw counts that a source reads.
//!
//! A [`Source`] fills a [`Reading`] on request, about ten times per second. All counts are totals
//! since the start. The [`Sampler`](crate::Sampler) derives rates and windows from successive
//! readings. So a source only loads counters, and the watched code only increments them.

use crate::snapshot::State;

/// A source of readings.
///
/// Any `FnMut(&mut Reading) + Send` is a source.
///
/// # Examples
///
/// ```
/// use garrick_telemetry::{Reading, Source, StageReading};
///
/// let mut source = |reading: &mut Reading| {
///     reading.stages.push(StageReading {
///         id: "import".to_owned(),
///         name: "import".to_owned(),
///         messages: 17,
///         ..StageReading::default()
///     });
/// };
/// let mut reading = Reading::default();
/// Source::read(&mut source, &mut reading);
/// assert_eq!(reading.stages[0].messages, 17);
/// ```
pub trait Source: Send {
    /// Adds the current counts to `reading`, which is empty.
    ///
    /// The sampler's thread calls this method. A call should take only microseconds. If a source
    /// panics, it is never read again.
    fn read(&mut self, reading: &mut Reading);
}

impl<F: FnMut(&mut Reading) + Send> Source for F {
    fn read(&mut self, reading: &mut Reading) {
        self(reading);
    }
}

/// The counts of one source at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Stages of pipelines.
    pub stages: Vec<StageReading>,
    /// Channels between the stages.
    pub channels: Vec<ChannelReading>,
    /// Groups of actors.
    pub actors: Vec<ActorsReading>,
    /// Sponsors.
    pub sponsors: Vec<SponsorReading>,
}

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageReading {
    /// Identifier of the stage, constant for the lifetime of the source. No other stage, channel,
    /// group or sponsor of the source has the same identifier.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Name of the stage's team or thread.
    pub place: String,
    /// State of the stage.
    pub state: State,
    /// Number of messages taken. For a stage without an input, the number of messages sent.
    pub messages: u64,
    /// Number of steps.
    pub turns: u64,
    /// Nanoseconds spent in steps, if known.
    pub busy_nanos: Option<u64>,
    /// Number of restarts.
    pub restarts: u64,
    /// Number of slow steps.
    pub slow: u64,
    /// Note about the stage, for example the reason for its failure.
    pub note: Option<String>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelReading {
    /// Identifier, unique within the source like [`StageReading::id`].
    pub id: String,
    /// Identifier of the sending stage or group.
    pub from: Option<String>,
    /// Identifier of the receiving stage or group.
    pub to: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// Short name of the message type.
    pub message: String,
    /// Capacity in messages.
    pub capacity: u64,
    /// Number of messages in the channel.
    pub fill: u64,
    /// Number of messages taken.
    pub taken: u64,
    /// Numbers of sent batches by size. Entry `k` counts the batches of `2^k` to `2^(k+1) - 1`
    /// messages.
    pub batches: Vec<u64>,
    /// Number of times that the sender had to wait for room.
    pub sender_stalls: u64,
    /// Number of times that the receiver had to wait for messages.
    pub receiver_stalls: u64,
    /// True if the channel leads back to a stage that its messages have already passed.
    pub feedback: bool,
    /// True once the channel is closed.
    pub closed: bool,
}

/// The actors of one type on one sponsor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActorsReading {
    /// Identifier, unique within the source like [`StageReading::id`].
    pub id: String,
    /// Short name of the actors' type.
    pub name: String,
    /// Name of the actors' sponsor.
    pub place: String,
    /// Number of living actors.
    pub alive: Option<u64>,
    /// Number of messages taken.
    pub messages: u64,
    /// Number of turns.
    pub turns: u64,
    /// Nanoseconds spent in turns, if known.
    pub busy_nanos: Option<u64>,
    /// Average number of messages in the mailbox of an actor when its turn begins.
    pub depth: Option<u64>,
    /// Number of restarts.
    pub restarts: u64,
    /// Number of slow turns.
    pub slow: u64,
    /// Nanoseconds that the longest running turn has held its worker. 0 if no turn is running.
    pub held_nanos: Option<u64>,
    /// Number of turns that block in `cx.blocking`, while their workers run other actors.
    pub away: Option<u64>,
    /// Nanoseconds that the longest of these turns has blocked. 0 if there are none.
    pub away_nanos: Option<u64>,
}

/// A worker of a sponsor that is running a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeldReading {
    /// Index among the workers of the sponsor, from 0.
    pub worker: u64,
    /// Identifier of the group of actors that the turn belongs to.
    pub actors: String,
    /// Short name of the actors' type.
    pub name: String,
    /// Minimum number of nanoseconds that the turn has taken so far.
    pub nanos: u64,
}

/// A sponsor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SponsorReading {
    /// Identifier, unique within the source like [`StageReading::id`].
    pub id: String,
    /// Name of the sponsor.
    pub name: String,
    /// Number of worker threads.
    pub workers: u64,
    /// Nanoseconds for which the threads were parked, summed over all threads, if known.
    pub idle_nanos: Option<u64>,
    /// Number of turns.
    pub turns: u64,
    /// Number of cells that a thread has offered to other threads.
    pub published: u64,
    /// Number of offered cells that another thread has taken.
    pub claimed: u64,
    /// Number of times that a thread parked.
    pub parks: u64,
    /// Workers that are running a turn now, as far as known.
    pub held: Vec<HeldReading>,
}

impl Reading {
    /// Clears the reading, but keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.stages.clear();
        self.channels.clear();
        self.actors.clear();
        self.sponsors.clear();
    }
}
