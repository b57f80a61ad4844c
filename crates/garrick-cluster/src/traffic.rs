//! Counters of a link, and samples of them.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_sched::Nanos;

use crate::name::NodeName;

/// State of a link to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LinkState {
    /// The other node has not answered yet.
    #[default]
    Connecting,
    /// The nodes are connected.
    Up,
    /// The nodes are connected, but some frames were lost. The nodes have not yet agreed which
    /// frames were lost.
    Gap,
    /// The other node was silent for too long, and nothing has arrived from it since.
    Down,
    /// The other node has left.
    Left,
}

/// State and counters of the link to another node. [`Node::links`](crate::Node::links) returns
/// them. In these counters, answers and refusals of questions count as messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkSample {
    /// Name of the other node.
    pub peer: NodeName,
    /// State of the link.
    pub state: LinkState,
    /// Time since the last change of the link's state. Zero if the state has never changed.
    pub state_for: Duration,
    /// Number of the other node's incarnation, which grows each time that node starts. 0 if the
    /// nodes have never been connected.
    pub life: u64,
    /// Time since the last frame from the other node arrived. `None` if no frame has arrived.
    pub silent_for: Option<Duration>,
    /// Number of times that the nodes were connected, including the first time.
    pub connects: u64,
    /// Number of frames that were passed to the transport.
    pub frames_sent: u64,
    /// Number of bytes in the frames that were passed to the transport.
    pub bytes_sent: u64,
    /// Number of messages in the frames that were passed to the transport.
    pub messages_sent: u64,
    /// Number of handled frames from the other node.
    pub frames_taken: u64,
    /// Number of bytes in handled frames from the other node.
    pub bytes_taken: u64,
    /// Number of messages in handled frames from the other node.
    pub messages_taken: u64,
    /// Number of frames that the other node has reported as lost.
    pub frames_lost: u64,
    /// Number of lost messages: they were in frames that the other node has reported as lost, or
    /// still waited on this node when the other node was lost.
    pub messages_lost: u64,
    /// Number of messages that may be lost: the other node was lost before it had confirmed their
    /// frames.
    pub messages_unconfirmed: u64,
    /// Number of frames that the other node has sent, but that have not arrived.
    pub frames_missing: u64,
    /// Number of times that the transport has refused a frame. The link sends the frame later.
    pub frames_refused: u64,
    /// Number of messages to or from the other node that could not be encoded, decoded or
    /// delivered.
    pub messages_refused: u64,
    /// Number of frames that wait on this node, because too many sent bytes are not confirmed yet,
    /// or because the transport refuses frames.
    pub frames_waiting: u64,
    /// Number of bytes that wait on this node to be sent to the other node.
    pub bytes_waiting: u64,
    /// Number of bytes in frames that the other node has not confirmed.
    pub bytes_unconfirmed: u64,
    /// Number of bytes that may still be sent before the other node confirms a frame: the credit of
    /// the link.
    pub window_left: u64,
    /// Number of unanswered questions to the other node.
    pub questions: u64,
}

/// Counters and state of a link. The actor of the link writes all of them except
/// `messages_refused`, which any sending thread may write. Functions that return samples read them.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    state: AtomicU8,
    /// Time of the last change of the state. 0 if the state has never changed.
    since: AtomicU64,
    life: AtomicU64,
    connects: AtomicU64,
    frames_sent: AtomicU64,
    bytes_sent: AtomicU64,
    messages_sent: AtomicU64,
    frames_taken: AtomicU64,
    bytes_taken: AtomicU64,
    messages_taken: AtomicU64,
    frames_lost: AtomicU64,
    messages_lost: AtomicU64,
    messages_unconfirmed: AtomicU64,
    frames_missing: AtomicU64,
    frames_refused: AtomicU64,
    /// Number of messages to the other node that were refused. All threads that send to that node
    /// increment it.
    messages_refused: AtomicU64,
    frames_waiting: AtomicU64,
    bytes_unconfirmed: AtomicU64,
    questions: AtomicU64,
}

/// Values of a link that can decrease, unlike counters.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    pub(crate) state: LinkState,
    pub(crate) life: u64,
    pub(crate) frames_waiting: usize,
    pub(crate) bytes_unconfirmed: usize,
    pub(crate) questions: usize,
}

/// Increments a counter that only the actor of the link writes.
fn add(count: &AtomicU64, more: u64) {
    // Relaxed everywhere in this file: the numbers order nothing.
    count.store(count.load(Relaxed) + more, Relaxed);
}

impl Traffic {
    pub(crate) fn connected(&self) {
        add(&self.connects, 1);
    }

    /// Counts a frame that was passed to the transport.
    pub(crate) fn sent(&self, bytes: usize) {
        add(&self.frames_sent, 1);
        add(&self.bytes_sent, bytes as u64);
    }

    pub(crate) fn sent_messages(&self, messages: u32) {
        add(&self.messages_sent, messages.into());
    }

    /// Counts a handled frame from the other node.
    pub(crate) fn taken(&self, bytes: usize) {
        add(&self.frames_taken, 1);
        add(&self.bytes_taken, bytes as u64);
    }

    pub(crate) fn taken_messages(&self, messages: u32) {
        add(&self.messages_taken, messages.into());
    }

    /// Counts frames that the other node has reported as lost, and the messages in these frames.
    pub(crate) fn lost(&self, frames: u64, messages: u64) {
        add(&self.frames_lost, frames);
        add(&self.messages_lost, messages);
    }

    /// Counts messages that were sent but not confirmed when the session ended. It is unknown if
    /// the other node has received them.
    pub(crate) fn unconfirmed(&self, messages: u64) {
        add(&self.messages_unconfirmed, messages);
    }

    /// Counts frames from the other node that have not arrived.
    pub(crate) fn missed(&self, frames: u64) {
        add(&self.frames_missing, frames);
    }

    pub(crate) fn refused_frame(&self) {
        add(&self.frames_refused, 1);
    }

    /// Counts a message that was refused. Any thread may call this method.
    pub(crate) fn refused_message(&self) {
        self.messages_refused.fetch_add(1, Relaxed);
    }

    /// Records the values of the link that can decrease. If the state of the link has changed,
    /// records `now` as the time of the change.
    pub(crate) fn set(&self, level: Level, now: Nanos) {
        let state = level.state as u8;
        if self.state.load(Relaxed) != state {
            self.state.store(state, Relaxed);
            self.since.store(now.max(1), Relaxed);
        }
        self.life.store(level.life, Relaxed);
        (self.frames_waiting).store(level.frames_waiting as u64, Relaxed);
        (self.bytes_unconfirmed).store(level.bytes_unconfirmed as u64, Relaxed);
        self.questions.store(level.questions as u64, Relaxed);
    }

    fn state(&self) -> LinkState {
        const UP: u8 = LinkState::Up as u8;
        const GAP: u8 = LinkState::Gap as u8;
        const DOWN: u8 = LinkState::Down as u8;
        const LEFT: u8 = LinkState::Left as u8;
        match self.state.load(Relaxed) {
            UP => LinkState::Up,
            GAP => LinkState::Gap,
            DOWN => LinkState::Down,
            LEFT => LinkState::Left,
            _ => LinkState::Connecting,
        }
    }

    /// Returns the counters. `heard` is the time of the last frame from the other node. `waiting`
    /// is the number of bytes that wait on this node. `window` is the maximum number of bytes under
    /// way.
    pub(crate) fn sample(
        &self,
        peer: NodeName,
        heard: Option<Nanos>,
        (waiting, window): (usize, usize),
        now: Nanos,
    ) -> LinkSample {
        let get = |count: &AtomicU64| count.load(Relaxed);
        let ago = |at: Nanos| Duration::from_nanos(now.saturating_sub(at));
        let since = Some(get(&self.since)).filter(|since| *since > 0);
        let bytes_unconfirmed = get(&self.bytes_unconfirmed);
        LinkSample {
            peer,
            state: self.state(),
            state_for: since.map(ago).unwrap_or_default(),
            life: get(&self.life),
            silent_for: heard.map(ago),
            connects: get(&self.connects),
            frames_sent: get(&self.frames_sent),
            bytes_sent: get(&self.bytes_sent),
            messages_sent: get(&self.messages_sent),
            frames_taken: get(&self.frames_taken),
            bytes_taken: get(&self.bytes_taken),
            messages_taken: get(&self.messages_taken),
            frames_lost: get(&self.frames_lost),
            messages_lost: get(&self.messages_lost),
            messages_unconfirmed: get(&self.messages_unconfirmed),
            frames_missing: get(&self.frames_missing),
            frames_refused: get(&self.frames_refused),
            messages_refused: get(&self.messages_refused),
            frames_waiting: get(&self.frames_waiting),
            bytes_waiting: waiting as u64,
            bytes_unconfirmed,
            window_left: (window as u64).saturating_sub(bytes_unconfirmed),
            questions: get(&self.questions),
        }
    }
}
