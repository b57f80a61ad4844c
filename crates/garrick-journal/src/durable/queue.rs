//! The turns that wait until their events are written as part of a group.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garrick_actor::Pending;
use hashbrown::HashMap;

use super::listing::Addition;
use super::waits::{Nanos, Waits};
use crate::error::JournalError;
use crate::event::{Event, EventKind};
use crate::group::{Group, JournalId, PAYLOAD_MAX};

/// Maximum number of turns in a group.
const TURNS_MAX: usize = 4_096;

/// Total size of the events in bytes at which a group is full. No more turns are added to a full
/// group.
const BYTES_MAX: usize = 4 << 20;

/// Maximum size of the events of one turn in bytes. Prevents groups from becoming too large.
const TURN_BYTES_MAX: usize = 64 << 20;

/// Maximum number of bytes of the states that wait until they are saved.
const UNSAVED_BYTES_MAX: usize = 4 << 20;

/// Maximum number of bytes that the log adds to an event.
const EVENT_BYTES: usize = 32;

/// An encoded event in a list of events.
#[derive(Clone, Copy)]
struct Value {
    kind: EventKind,
    is_whole: bool,
    /// Position after the last byte of the event, in the bytes of the list.
    end: usize,
}

/// A list of encoded events.
#[derive(Default)]
pub(super) struct Encoded {
    /// The first event. Most turns have only one event, and then need no list.
    first: Option<Value>,
    others: Vec<Value>,
    bytes: Vec<u8>,
}

impl Encoded {
    /// Creates an empty list, with memory for `bytes` bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// Adds an event. `encode` writes the content of the event into an empty buffer, and returns
    /// the kind of the event.
    ///
    /// # Errors
    /// Returns [`JournalError::TooLarge`] if the event has more than 16 MiB, or all events together
    /// have more than 64 MiB.
    pub(super) fn add(
        &mut self,
        is_whole: bool,
        encode: impl FnOnce(&mut Vec<u8>) -> EventKind,
    ) -> Result<(), JournalError> {
        let too_large = |what, bytes, limit| JournalError::TooLarge { what, bytes, limit };
        // Each event is encoded alone, so that it cannot change the events before it.
        let mut value = match self.first {
            None => mem::take(&mut self.bytes),
            Some(_) => Vec::new(),
        };
        let kind = encode(&mut value);
        if value.len() > PAYLOAD_MAX {
            return Err(too_large("an event", value.len(), PAYLOAD_MAX));
        }
        let end = self.bytes.len() + value.len();
        let entry = Value {
            kind,
            is_whole,
            end,
        };
        if self.first.is_none() {
            (self.first, self.bytes) = (Some(entry), value);
        } else {
            self.others.push(entry);
            self.bytes.append(&mut value);
        }
        let size = self.size();
        if size > TURN_BYTES_MAX {
            return Err(too_large("the events of a turn", size, TURN_BYTES_MAX));
        }
        Ok(())
    }

    /// Appends the events of the list `later` to this list.
    pub(super) fn append(&mut self, later: Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&later.bytes);
        for mut value in later.first.into_iter().chain(later.others) {
            value.end += start;
            if self.first.is_none() {
                self.first = Some(value);
            } else {
                self.others.push(value);
            }
        }
    }

    /// Returns an upper bound for the number of bytes that the events need in the log.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + EVENT_BYTES * self.len()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// Returns the number of bytes of all events.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the events, oldest first. The first event gets the number `number`, and the next
    /// events get the following numbers.
    fn events(&self, number: u64) -> impl Iterator<Item = Event<'_>> {
        let mut start = 0;
        let values = self.first.iter().chain(&self.others);
        (number..).zip(values).map(move |(number, value)| {
            let from = mem::replace(&mut start, value.end);
            Event {
                number,
                kind: value.kind,
                is_whole: value.is_whole,
                payload: &self.bytes[from..value.end],
            }
        })
    }
}

/// The state of a journal after an event, to be saved when the event is durable.
pub(super) struct State {
    /// Sequence number of the event.
    pub(super) number: u64,
    pub(super) kind: EventKind,
    pub(super) bytes: Vec<u8>,
}

/// A state to be saved, or the reason why the state could not be encoded.
pub(super) type Saved = Result<Box<State>, Box<JournalError>>;

/// States that are not saved yet: at most one of each journal, in the order in which the journals
/// have got a state.
#[derive(Default)]
pub(super) struct Unsaved {
    order: VecDeque<JournalId>,
    states: HashMap<JournalId, Box<State>>,
    /// Number of bytes of all states.
    bytes: usize,
}

impl Unsaved {
    /// Adds a state of a journal, which replaces an older state of the same journal.
    pub(super) fn add(&mut self, journal: JournalId, state: Box<State>) {
        self.bytes += state.bytes.len();
        match self.states.insert(journal, state) {
            Some(older) => self.bytes -= older.bytes.len(),
            None => self.order.push_back(journal),
        }
    }

    /// Removes and returns the state that has waited longest, with its journal.
    pub(super) fn pop(&mut self) -> Option<(JournalId, Box<State>)> {
        let journal = self.order.pop_front()?;
        let state = self.states.remove(&journal)?;
        self.bytes -= state.bytes.len();
        Some((journal, state))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns true if the states need so much memory that they must be saved now.
    pub(super) fn is_large(&self) -> bool {
        self.bytes > UNSAVED_BYTES_MAX
    }
}

/// The events of a turn.
pub(super) struct Batch {
    /// Sequence number of the turn's first event.
    pub(super) first: u64,
    pub(super) events: Encoded,
    pub(super) state: Option<Saved>,
    /// The entry that must be in the list of the entity before the events are written. `None` if no
    /// entry is needed, or if the entity knows that it is there.
    pub(super) adds: Option<Addition>,
}

impl Batch {
    /// Appends the events that a later message of the same turn has recorded.
    pub(super) fn append(&mut self, later: Self) {
        debug_assert_eq!(self.last() + 1, later.first, "events have no holes");
        self.events.append(later.events);
        self.state = later.state.or(self.state.take());
        self.adds = self.adds.take().or(later.adds);
    }

    /// Returns an upper bound for the number of bytes that the events and the state need in the
    /// log.
    fn size(&self) -> usize {
        let state = self.state.as_ref().and_then(|saved| saved.as_ref().ok());
        self.events.size() + state.map_or(0, |state| state.bytes.len())
    }

    /// Returns the sequence number of the turn's last event.
    fn last(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }
}

/// A turn that has ended and waits until its events are durable.
pub(super) struct Waiting {
    pub(super) journal: JournalId,
    pub(super) batch: Batch,
    /// Sequence number of the entity's newest durable event. Set to the number of this turn's last
    /// event when that event is durable.
    pub(super) durable: Arc<AtomicU64>,
    pub(super) pending: Pending,
}

impl Waiting {
    /// Returns the sequence number of the turn's last event.
    pub(super) fn last(&self) -> u64 {
        self.batch.last()
    }

    fn add_to(&self, group: &mut Group) {
        for event in self.batch.events.events(self.batch.first) {
            let added = group.add(self.journal, event);
            added.expect("the size was checked when it was encoded");
        }
    }
}

/// Turns in the order in which they have ended.
#[derive(Default)]
pub(super) struct Queue {
    turns: VecDeque<Waiting>,
    /// True while a request to write the turns is pending. A request is pending until there are no
    /// more turns, and no more states to save.
    is_requested: bool,
    /// True if turns are no longer written.
    is_closed: bool,
    pub(super) waits: Waits,
}

impl Queue {
    /// Moves a turn out of `turn` and appends it. Returns true if the caller must request that the
    /// turns be written. If turns are no longer written, leaves the turn in `turn`.
    #[must_use]
    pub(super) fn push(&mut self, turn: &mut Option<Waiting>, now: impl FnOnce() -> Nanos) -> bool {
        if self.is_closed {
            return false;
        }
        self.turns.extend(turn.take());
        self.waits.append(now);
        !mem::replace(&mut self.is_requested, true)
    }

    /// Moves the oldest turns to `taken`, which is empty, and their events to `group`.
    pub(super) fn take(&mut self, taken: &mut Vec<Waiting>, group: &mut Group) {
        let mut size = 0;
        while taken.len() < TURNS_MAX
            && size < BYTES_MAX
            && let Some(turn) = self.turns.pop_front()
        {
            size += turn.batch.size();
            turn.add_to(group);
            taken.push(turn);
        }
        self.waits.take(taken.len());
    }

    /// Returns true if turns are waiting, or if `has_more` is true. Otherwise, records that the
    /// request to write turns has ended.
    pub(super) fn goes_on(&mut self, has_more: bool) -> bool {
        self.is_requested = has_more || !self.turns.is_empty();
        self.is_requested
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Removes and returns all turns. Later turns are not accepted.
    pub(super) fn close(&mut self) -> VecDeque<Waiting> {
        self.is_closed = true;
        self.waits = Waits::default();
        mem::take(&mut self.turns)
    }
}

#[cfg(test)]
mod tests {
    use super::{JournalId, State, UNSAVED_BYTES_MAX, Unsaved};
    use crate::event::EventKind;

    #[test]
    fn a_newer_state_replaces_an_older_one_at_its_place() {
        let mut unsaved = Unsaved::default();
        let mut add = |journal, number, bytes| {
            let state = State {
                number,
                kind: EventKind::default(),
                bytes: vec![0; bytes],
            };
            unsaved.add(JournalId(journal), Box::new(state));
            unsaved.is_large()
        };
        assert!(!add(1, 10, UNSAVED_BYTES_MAX - 2));
        assert!(!add(2, 10, 1) && !add(3, 10, 1));
        assert!(add(4, 10, 1));
        assert!(!add(1, 20, 1), "the large one was replaced");
        let mut popped = Vec::new();
        while let Some((journal, state)) = unsaved.pop() {
            popped.push((journal.0, state.number));
        }
        assert_eq!(popped, [(1, 20), (2, 10), (3, 10), (4, 10)]);
        assert!(unsaved.is_empty() && unsaved.bytes == 0);
    }
}
