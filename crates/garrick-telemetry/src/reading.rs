//! What a source reads off what it watches: raw counts, all since the start.
//!
//! A [`Source`] fills a [`Reading`] when asked, some ten times a second. It knows nothing of rates and windows:
//! the [`Sampler`](crate::Sampler) makes those of two readings. So a source only loads counters, and what is
//! watched only bumps them.

use crate::snapshot::State;

/// Something that can be watched.
///
/// Any `FnMut(&mut Reading)` is one.
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
    /// Adds what there is to see now to `reading`, which is empty.
    ///
    /// It is called by the sampler's thread, and should take microseconds. A source that panics is not asked
    /// again.
    fn read(&mut self, reading: &mut Reading);
}

impl<F: FnMut(&mut Reading) + Send> Source for F {
    fn read(&mut self, reading: &mut Reading) {
        self(reading);
    }
}

/// What one source saw at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Stages of pipelines.
    pub stages: Vec<StageReading>,
    /// Channels between them.
    pub channels: Vec<ChannelReading>,
    /// Groups of actors.
    pub actors: Vec<ActorsReading>,
    /// Sponsors.
    pub sponsors: Vec<SponsorReading>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageReading {
    /// Names it within its source, for as long as that lives; no other stage, channel, group or sponsor of that
    /// source has the same.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The name of its team or thread.
    pub place: String,
    /// How it is.
    pub state: State,
    /// Messages taken, or sent by a source.
    pub messages: u64,
    /// Steps.
    pub turns: u64,
    /// Nanoseconds spent in steps, where that is known.
    pub busy_nanos: Option<u64>,
    /// How often it was started again.
    pub restarts: u64,
    /// Steps that took long.
    pub slow: u64,
    /// What it says about itself.
    pub note: Option<String>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelReading {
    /// See [`StageReading::id`].
    pub id: String,
    /// The id of the stage or group that sends.
    pub from: Option<String>,
    /// The id of the stage or group that takes.
    pub to: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// The short name of the type of its messages.
    pub message: String,
    /// How many messages it holds at most.
    pub capacity: u64,
    /// How many it holds.
    pub fill: u64,
    /// Messages taken.
    pub taken: u64,
    /// Entry `k` counts the batches sent of `2^k` to `2^(k+1) - 1` messages.
    pub batches: Vec<u64>,
    /// How often the sender had to wait for room.
    pub sender_stalls: u64,
    /// How often the receiver had to wait for messages.
    pub receiver_stalls: u64,
    /// Whether it is meant to lead back, to a stage that its messages have passed.
    pub feedback: bool,
    /// Whether it has been closed.
    pub closed: bool,
}

/// The actors of one type on one sponsor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActorsReading {
    /// See [`StageReading::id`].
    pub id: String,
    /// The short name of their type.
    pub name: String,
    /// The name of their sponsor.
    pub place: String,
    /// How many there are.
    pub alive: Option<u64>,
    /// Messages taken.
    pub messages: u64,
    /// Turns.
    pub turns: u64,
    /// Nanoseconds spent in turns, where that is known.
    pub busy_nanos: Option<u64>,
    /// Messages that wait in the mailbox of one of them when it is its turn, on the average.
    pub depth: Option<u64>,
    /// Restarts.
    pub restarts: u64,
    /// Turns that took long.
    pub slow: u64,
    /// Nanoseconds that a turn of theirs which is under way has held its worker, the most; 0 if none does.
    pub held_nanos: Option<u64>,
    /// Turns of theirs that block away from their worker.
    pub away: Option<u64>,
    /// Nanoseconds that one of these is away for already, the most; 0 if there is none.
    pub away_nanos: Option<u64>,
}

/// A worker of a sponsor that is in a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeldReading {
    /// Its number among the workers of its sponsor, from 0.
    pub worker: u64,
    /// The id of the group of actors that the turn is of.
    pub actors: String,
    /// The short name of their type.
    pub name: String,
    /// Nanoseconds that the turn has taken at least.
    pub nanos: u64,
}

/// A sponsor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SponsorReading {
    /// See [`StageReading::id`].
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its threads.
    pub workers: u64,
    /// Nanoseconds that its threads rested, summed over them, where that is known.
    pub idle_nanos: Option<u64>,
    /// Turns.
    pub turns: u64,
    /// Cells offered by one of its threads to the others.
    pub published: u64,
    /// Cells taken over.
    pub claimed: u64,
    /// How often a thread went to rest.
    pub parks: u64,
    /// Its workers that are in a turn now, as far as that is known.
    pub held: Vec<HeldReading>,
}

impl Reading {
    /// Empties it, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.stages.clear();
        self.channels.clear();
        self.actors.clear();
        self.sponsors.clear();
    }
}
