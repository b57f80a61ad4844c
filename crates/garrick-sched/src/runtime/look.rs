//! Looks: requests by which other threads ask a worker for the state of one of its tasks.
//!
//! A request is sent in a note, which is an envelope without messages. The worker answers when it
//! takes the note out of the inbox of the task, between two activations. The answer does not wait
//! until earlier messages have been handled, and needs no turn. If the task has ended, the note is
//! dropped, and the asker notices the drop.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The state of a task, as its worker sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Number of messages that wait for the task. `None` if some of the messages wait outside of
    /// the mailbox, or while another worker runs the task.
    pub waiting: Option<u64>,
    /// State of the task.
    pub standing: Standing,
    /// [Label](crate::Task::label) of the task. `None` if the task has no label, or if one of its
    /// turns has begun and not ended.
    pub label: Option<String>,
}

/// The state of a task between two activations of its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The task has nothing to do.
    Idle,
    /// The task waits until its worker runs it.
    Ready,
    /// A turn of the task has left the worker. The turn blocks, waits for a thread on which it may
    /// block, or waits for the decision about its commit.
    Aside,
}

/// A request for the state of a task, as its worker sees it.
pub(crate) struct Looker(SyncSender<Seen>);

impl Looker {
    /// Creates a request, and the receiver of the answer. If the request is dropped without an
    /// answer, the receiver is disconnected.
    pub(crate) fn new() -> (Self, Receiver<Seen>) {
        let (answer, asked) = sync_channel(1);
        (Self(answer), asked)
    }

    /// Answers the request. Does nothing if nobody waits for the answer any more.
    pub(crate) fn answer(self, seen: Seen) {
        // There is room for the only answer, so this does not block.
        let _ = self.0.try_send(seen);
    }
}

/// A request for the state of a task, which the worker of the task has not yet answered.
#[derive(Debug)]
pub struct Asking {
    answer: Receiver<Seen>,
    /// True if all waiting messages of the task are in its mailbox.
    counts: bool,
}

impl Asking {
    pub(crate) fn new(answer: Receiver<Seen>) -> Self {
        Self {
            answer,
            counts: true,
        }
    }

    /// Waits for the answer, but for at most `time`. Returns [`Looking::Asked`] if there was no
    /// answer in time.
    #[must_use]
    pub fn wait(self, time: Duration) -> Looking {
        match self.answer.recv_timeout(time) {
            Ok(seen) if self.counts => Looking::Seen(seen),
            Ok(seen) => Looking::Seen(seen).uncounted(),
            Err(RecvTimeoutError::Timeout) => Looking::Asked(self),
            Err(RecvTimeoutError::Disconnected) => Looking::Ended,
        }
    }
}

impl Looking {
    fn uncounted(self) -> Self {
        match self {
            Self::Asked(asking) => Self::Asked(Asking {
                counts: false,
                ..asking
            }),
            Self::Seen(seen) => Self::Seen(Seen {
                waiting: None,
                ..seen
            }),
            Self::Ended | Self::Unknown => self,
        }
    }
}

/// The result of [`Address::look`](crate::Address::look): the name of a task's type, and the answer
/// of the task's worker.
#[derive(Debug)]
pub struct Look {
    /// Name of the task's type.
    pub name: &'static str,
    /// Answer of the worker, or the reason why there is no answer.
    pub looking: Looking,
}

impl Look {
    /// Returns the result without the number of waiting messages, for a task that keeps messages
    /// outside of its mailbox.
    #[must_use]
    pub fn uncounted(self) -> Self {
        Self {
            name: self.name,
            looking: self.looking.uncounted(),
        }
    }
}

/// The answer of a worker, or the reason why there is none.
#[derive(Debug)]
pub enum Looking {
    /// The worker will answer.
    Asked(Asking),
    /// The worker has answered.
    Seen(Seen),
    /// The task has ended.
    Ended,
    /// There is no task that could be asked, or the calling thread is in a turn. A turn must not
    /// wait for the answer.
    Unknown,
}
