//! The turns that wait for their group.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garrick_actor::Pending;

use crate::error::JournalError;
use crate::frame::EventKind;
use crate::group::{Event, Group, JournalId, PAYLOAD_MAX};

/// Maximum number of turns in a group.
const TURNS_MAX: usize = 4_096;

/// Number of bytes of events from which on a group gets no more turns.
const BYTES_MAX: usize = 4 << 20;

/// Encoded values.
#[derive(Default)]
pub(super) struct Encoded {
    /// Kind and end of each value.
    values: Vec<(EventKind, usize)>,
    bytes: Vec<u8>,
}

impl Encoded {
    /// Appends a value, which `encode` encodes.
    ///
    /// # Errors
    /// Returns [`JournalError::TooLarge`] if the encoding has more than 16 MiB.
    pub(super) fn add(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> EventKind,
    ) -> Result<(), JournalError> {
        let start = self.bytes.len();
        let kind = encode(&mut self.bytes);
        let bytes = self.bytes.len().saturating_sub(start);
        if bytes > PAYLOAD_MAX {
            return Err(JournalError::TooLarge {
                what: "an event",
                bytes,
                limit: PAYLOAD_MAX,
            });
        }
        self.values.push((kind, self.bytes.len()));
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the values, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (EventKind, &[u8])> {
        let mut start = 0;
        self.values.iter().map(move |&(kind, end)| {
            let from = mem::replace(&mut start, end);
            (kind, &self.bytes[from..end])
        })
    }
}

/// The state of a journal after a turn, to be saved when the turn is durable.
pub(super) struct State {
    pub(super) kind: EventKind,
    pub(super) bytes: Vec<u8>,
}

/// A turn that has ended and waits until its events are durable.
pub(super) struct Waiting {
    pub(super) journal: JournalId,
    /// Number of the first event.
    pub(super) first: u64,
    pub(super) events: Encoded,
    pub(super) state: Option<State>,
    /// Set to the number of the last event once that event is durable.
    pub(super) durable: Arc<AtomicU64>,
    pub(super) pending: Pending,
}

impl Waiting {
    /// Returns the number of the last event.
    pub(super) fn last(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }

    fn add_to(&self, group: &mut Group) -> Result<(), JournalError> {
        for (number, (kind, payload)) in (self.first..).zip(self.events.iter()) {
            let event = Event {
                number,
                kind,
                payload,
            };
            group.add(self.journal, event)?;
        }
        Ok(())
    }
}

/// Turns in the order in which they have ended.
#[derive(Default)]
pub(super) struct Queue {
    turns: VecDeque<Waiting>,
    /// True from the request to write the turns until there are no more turns.
    is_requested: bool,
}

impl Queue {
    /// Appends a turn. Returns true if the caller must request that the turns be written.
    #[must_use]
    pub(super) fn push(&mut self, turn: Waiting) -> bool {
        self.turns.push_back(turn);
        !mem::replace(&mut self.is_requested, true)
    }

    /// Moves the oldest turns to `taken`, which is empty, and their events to `group`. If there are
    /// no turns, ends the request and returns false.
    pub(super) fn take(&mut self, taken: &mut Vec<Waiting>, group: &mut Group) -> bool {
        while let Some(turn) = self.turns.front()
            && taken.len() < TURNS_MAX
            && group.bytes() < BYTES_MAX
            && turn.add_to(group).is_ok()
        {
            taken.extend(self.turns.pop_front());
        }
        self.is_requested = !taken.is_empty();
        self.is_requested
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    /// Takes all turns, and ends the request.
    pub(super) fn take_all(&mut self) -> VecDeque<Waiting> {
        self.is_requested = false;
        mem::take(&mut self.turns)
    }
}
