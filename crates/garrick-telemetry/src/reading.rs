//! The counts that sources provide.
//!
//! A [`Source`] fills a [`Reading`] on request, about ten times per second. All counts are totals
//! since the start. The [`Sampler`](crate::Sampler) derives rates and windows from successive
//! readings. So a source only reads counters, and the watched code only increments them.

mod cluster;

use crate::snapshot::{Histogram, JournalPhase, State};
use crate::trouble::{FailureReading, LetterReading, TreeReading};
pub use cluster::{KindReading, LinkReading, MemberReading, OwnMemberReading};

/// A provider of counts, for example the counts of a pipeline. Telemetry reads the counts once per
/// sampling interval, by default ten times per second.
///
/// Every closure of the type `FnMut(&mut Reading) + Send` is a source.
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
    /// Writes the current counts into `reading`, which is empty before the call.
    ///
    /// [`Telemetry`](crate::Telemetry) calls this method on its sampling thread. A call should take
    /// only microseconds. If a call panics, the source is never read again.
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
    /// Values of the pipeline stages.
    pub stages: Vec<StageReading>,
    /// Values of the channels between the stages.
    pub channels: Vec<ChannelReading>,
    /// Values of the actors, one entry for each group. A group contains all actors of one type that
    /// run on one sponsor (thread pool or thread).
    pub actors: Vec<ActorsReading>,
    /// Values of single actors that stand out: they are busy, have long mailboxes, or have messages
    /// that have waited for a long time.
    pub outstanding: Vec<ActorReading>,
    /// Values of the sponsors. A sponsor is the thread pool of a [`System`](garrick_actor::System),
    /// or the thread of a [`Local`](garrick_actor::Local).
    pub sponsors: Vec<SponsorReading>,
    /// Values of the journals of durable actors.
    pub journals: Vec<JournalReading>,
    /// Values of the members of clusters.
    pub members: Vec<MemberReading>,
    /// Values of the links to other cluster nodes.
    pub links: Vec<LinkReading>,
    /// Values of the kinds of cluster entities.
    pub kinds: Vec<KindReading>,
    /// Failures of actors since the previous reading of the source, the newest last.
    pub failures: Vec<FailureReading>,
    /// Total numbers of dead letters, by type and reason.
    pub letters: Vec<LetterReading>,
    /// Supervision trees. `None` if they have not changed since the previous reading of the source.
    pub trees: Option<Vec<TreeReading>>,
}

/// The values of a pipeline stage in a [`Reading`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageReading {
    /// Identifier of the stage. The identifier must be the same in every reading of the source. It
    /// must differ from the identifiers of all other stages, channels, groups of actors and
    /// sponsors of the source.
    pub id: String,
    /// Display name of the stage.
    pub name: String,
    /// Name of the [team](garrick_flow::Team) or thread that runs the stage.
    pub place: String,
    /// State of the stage.
    pub state: State,
    /// Total number of messages that the stage has taken from its channels. For a stage without
    /// input channels, the number of messages that it has sent.
    pub messages: u64,
    /// Total number of steps that the stage has run.
    pub turns: u64,
    /// Total time that the stage was busy, in nanoseconds. `None` if it is unknown.
    pub busy_nanos: Option<u64>,
    /// Total time that the stage waited for messages, in nanoseconds. `None` if it is unknown.
    pub starved_nanos: Option<u64>,
    /// Total time that the stage waited for room in a channel, in nanoseconds. `None` if it is
    /// unknown.
    pub back_pressured_nanos: Option<u64>,
    /// Total number of times that the stage was restarted.
    pub restarts: u64,
    /// Total number of slow steps. The source decides which steps are slow.
    pub slow: u64,
    /// Note about the stage, for example the reason for its failure. `None` if there is no note.
    pub note: Option<String>,
}

/// The values of a channel in a [`Reading`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelReading {
    /// Identifier of the channel. The same rules apply as for [`StageReading::id`].
    pub id: String,
    /// Identifier of the stage or group of actors that sends to the channel. `None` if the sender
    /// is unknown.
    pub from: Option<String>,
    /// Identifier of the stage or group of actors that receives from the channel. `None` if the
    /// receiver is unknown.
    pub to: Option<String>,
    /// Display name of the channel. `None` if the channel has no name.
    pub name: Option<String>,
    /// Short name of the type of the channel's messages.
    pub message: String,
    /// Capacity of the channel in messages.
    pub capacity: u64,
    /// Number of messages in the channel now.
    pub fill: u64,
    /// Total number of messages that the receiver has taken.
    pub taken: u64,
    /// Total number of sent batches, grouped by size. Entry `k` counts the batches of `2^k` to
    /// `2^(k+1) - 1` messages. The last entry also counts all larger batches.
    pub batches: Vec<u64>,
    /// Total number of times that the sender waited because the channel had too little free space.
    pub sender_stalls: u64,
    /// Total number of times that the receiver waited because the channel had too few messages.
    pub receiver_stalls: u64,
    /// True if the channel is a feedback channel: it leads back to an earlier stage, so that the
    /// stages form a loop.
    pub feedback: bool,
    /// True once the channel is closed.
    pub closed: bool,
}

/// The values of a group of actors in a [`Reading`]. A group contains all actors of one type that
/// run on one sponsor (the thread pool of a [`System`](garrick_actor::System), or the thread of a
/// [`Local`](garrick_actor::Local)).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActorsReading {
    /// Identifier of the group. The same rules apply as for [`StageReading::id`].
    pub id: String,
    /// Short name of the actors' type.
    pub name: String,
    /// Name of the sponsor (thread pool or thread) of the actors.
    pub place: String,
    /// Number of actors that are alive now. `None` if it is unknown.
    pub alive: Option<u64>,
    /// Total number of messages that the actors have handled.
    pub messages: u64,
    /// Total number of turns that the actors have run. A turn is the handling of one message, or
    /// the start of an actor.
    pub turns: u64,
    /// Total duration of all turns of the actors, in nanoseconds. `None` if it is unknown.
    pub busy_nanos: Option<u64>,
    /// Number of messages in all mailboxes of the group. `None` if it is unknown.
    pub waiting: Option<u64>,
    /// Number of messages in the longest mailbox of the group. `None` if it is unknown.
    pub longest: Option<u64>,
    /// Durations of the actors' turns, in seconds. `None` if the durations are unknown.
    pub turn_seconds: Option<Histogram>,
    /// Waiting times of measured messages, in seconds: from the sending of a message to its
    /// handling by an actor. `None` if the times are unknown.
    pub wait_seconds: Option<Histogram>,
    /// Totals for each kind of message. If a kind is missing in a reading, its history is
    /// forgotten.
    pub messages_by_kind: Vec<MessageReading>,
    /// Total number of turns that failed, by a panic or by an error.
    pub failures: u64,
    /// Total number of times that supervisors have restarted actors of the group.
    pub restarts: u64,
    /// Total number of slow turns. The source decides which turns are slow.
    pub slow: u64,
    /// Time in nanoseconds that the running turn has occupied its worker so far. If several turns
    /// of the group are running, the value is the longest of their times. 0 if no turn is running.
    /// `None` if the time is unknown.
    pub held_nanos: Option<u64>,
    /// Number of turns that are now blocked in [`cx.blocking`](garrick_actor::Context::blocking),
    /// while their workers run other actors. `None` if the number is unknown.
    pub away: Option<u64>,
    /// Time in nanoseconds that a turn has been blocked in
    /// [`cx.blocking`](garrick_actor::Context::blocking) so far. If several turns of the group are
    /// blocked, the value is the longest of their times. 0 if no turn is blocked. `None` if the
    /// time is unknown.
    pub away_nanos: Option<u64>,
}

/// The values of one kind of message, such as a variant of an enum, in an [`ActorsReading`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageReading {
    /// Name of the kind of message.
    pub name: String,
    /// Total number of turns that have handled messages of this kind.
    pub turns: u64,
    /// Total duration of the turns that have handled messages of this kind, in nanoseconds.
    pub busy_nanos: u64,
    /// Duration of the longest turn that has handled a message of this kind, in nanoseconds.
    pub longest_nanos: u64,
}

/// The values in a [`Reading`] for an actor that stands out: it is busy, has a long mailbox, or has
/// a message that has waited for a long time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActorReading {
    /// Identifier of the actor. The same rules apply as for [`StageReading::id`].
    pub id: String,
    /// The [`ActorsReading::id`] of the group that the actor belongs to.
    pub actors: String,
    /// Display name of the actor, for example its path.
    pub name: String,
    /// Number of messages in the mailbox of the actor.
    pub waiting: u64,
    /// Lower limit for the time that the oldest message in the mailbox has waited, in nanoseconds.
    /// 0 if the time is unknown.
    pub oldest_nanos: u64,
    /// Estimated total duration of all turns of the actor, in nanoseconds, since the actor was
    /// first listed in [`Reading::outstanding`].
    pub busy_nanos: u64,
}

/// A worker of a sponsor (thread pool or thread), and the turn that the worker is running.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeldReading {
    /// Index of the worker among all workers of its sponsor (thread pool or thread). The first
    /// index is 0.
    pub worker: u64,
    /// The [`ActorsReading::id`] of the group that the running actor belongs to.
    pub actors: String,
    /// Short name of the actor's type.
    pub name: String,
    /// Time that the turn has been running so far, in nanoseconds. The true time may be longer.
    pub nanos: u64,
}

/// The values of a sponsor in a [`Reading`]. A sponsor is the thread pool of a
/// [`System`](garrick_actor::System), or the thread of a [`Local`](garrick_actor::Local).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SponsorReading {
    /// Identifier of the sponsor (thread pool or thread). The same rules apply as for
    /// [`StageReading::id`].
    pub id: String,
    /// Name of the sponsor (thread pool or thread).
    pub name: String,
    /// Number of worker threads of the sponsor (thread pool or thread).
    pub workers: u64,
    /// Total time that the worker threads slept, in nanoseconds, summed over all threads. `None` if
    /// it is unknown.
    pub idle_nanos: Option<u64>,
    /// Total number of turns that the workers have run.
    pub turns: u64,
    /// Total number of times that a worker gave an actor with waiting messages to another worker,
    /// or to the queue that all workers share.
    pub published: u64,
    /// Total number of times that a worker got an actor with waiting messages from another worker,
    /// or from the queue that all workers share.
    pub claimed: u64,
    /// Total number of times that a worker thread went to sleep.
    pub parks: u64,
    /// Total number of turns that a worker ran in place of another worker, because the other worker
    /// was in a long turn.
    pub rescues: u64,
    /// Number of actors that are ready to run now. `None` if it is unknown.
    pub ready: Option<u64>,
    /// Waiting times of measured messages, in seconds: from the sending of a message to its
    /// handling by a worker. `None` if the times are unknown.
    pub wait_seconds: Option<Histogram>,
    /// Total number of dead letters: accepted messages that were not handled.
    pub dead_letters: u64,
    /// The workers that are known to be running a turn now.
    pub held: Vec<HeldReading>,
}

/// The values of a journal of durable actors in a [`Reading`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalReading {
    /// Identifier of the journal. The same rules apply as for [`StageReading::id`].
    pub id: String,
    /// Display name of the journal.
    pub name: String,
    /// Number of times that the journal was opened. When this number changes, all other counts have
    /// begun again at zero.
    pub openings: u64,
    /// Phase of the journal.
    pub phase: JournalPhase,
    /// Number of bytes of the log that have been read so far, while the log is being opened.
    pub opening_read_bytes: u64,
    /// Size of the log in bytes, while the log is being opened.
    pub opening_bytes: u64,
    /// Reason why the journal could not be opened, or why the latest group of turns could not be
    /// written. `None` if there is no such error.
    pub failure: Option<String>,
    /// Newest notice: an error without loss of data. `None` if there was none.
    pub notice: Option<String>,
    /// Total number of groups of turns that were written.
    pub groups: u64,
    /// Total number of turns in the groups that were written. A group consists of turns whose
    /// events are written together.
    pub turns: u64,
    /// Total number of events in the groups of turns that were written.
    pub events: u64,
    /// Total size of all written events, in bytes.
    pub event_bytes: u64,
    /// Total number of groups of turns that could not be written.
    pub failed_groups: u64,
    /// Number of groups of turns that could not be written since the last successful write.
    pub failing_groups: u64,
    /// Number of turns that wait until their events are durable.
    pub waiting_turns: u64,
    /// Upper limit for the time that the oldest waiting turn has waited, in nanoseconds. 0 if no
    /// turn waits.
    pub oldest_wait_nanos: u64,
    /// Total number of times that a file of the journal, or the folder of its files, was synced to
    /// the disk.
    pub syncs: u64,
    /// Total number of bytes that were written to the disk.
    pub written_bytes: u64,
    /// Total time in which groups of turns were written and synced, in nanoseconds.
    pub writing_nanos: u64,
    /// Duration of the slowest write of a group of turns, in nanoseconds.
    pub longest_group_nanos: u64,
    /// Number of entities that exist.
    pub entities: u64,
    /// Number of files with events.
    pub segments: u64,
    /// Size of the files with events, in bytes.
    pub size_bytes: u64,
    /// Total number of compactions that have removed files.
    pub compactions: u64,
    /// Total number of bytes that compactions have copied.
    pub copied_bytes: u64,
    /// Total number of times that the state of an entity was saved.
    pub saved_states: u64,
    /// Total number of notices: errors without loss of data.
    pub notices: u64,
    /// Total number of times that an entity has read its state.
    pub recoveries: u64,
    /// Total number of events that entities have read to compute their states.
    pub recovered_events: u64,
    /// Total time in which entities have read their states, in nanoseconds, summed over all
    /// entities.
    pub recovery_nanos: u64,
}

impl Reading {
    /// Removes all values from this reading, but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.stages.clear();
        self.channels.clear();
        self.actors.clear();
        self.outstanding.clear();
        self.sponsors.clear();
        self.journals.clear();
        self.members.clear();
        self.links.clear();
        self.kinds.clear();
        self.failures.clear();
        self.letters.clear();
        self.trees = None;
    }
}
