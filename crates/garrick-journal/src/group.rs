//! Groups: the events that are appended with one sync.

use std::ops::Range;

use crate::error::JournalError;
use crate::event::{Event, EventKind};

/// Maximum size of the payload of an event, in bytes.
pub(crate) const PAYLOAD_MAX: usize = 16 << 20;

/// Maximum size of a group, in bytes.
pub(crate) const GROUP_MAX: usize = 256 << 20;

/// Maximum size of a saved state, in bytes.
const STATE_MAX: usize = 256 << 20;

/// Checks the size of a state.
///
/// # Errors
/// Returns [`JournalError::TooLarge`] if the state has more than 256 MiB.
pub(crate) fn check_state(state: &[u8]) -> Result<(), JournalError> {
    if state.len() > STATE_MAX {
        return Err(JournalError::TooLarge {
            what: "a state",
            bytes: state.len(),
            limit: STATE_MAX,
        });
    }
    Ok(())
}

/// The number that identifies a journal in an open log. [`Log::start`](crate::Log::start) returns
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JournalId(pub(crate) u64);

impl JournalId {
    /// Creates a `JournalId` from a number. Used by implementations of [`Log`](crate::Log).
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number that identifies the journal in the open log.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Events that are appended together. After a crash, the log contains either all events of a
/// journal in the group, or none of them.
#[derive(Debug, Clone, Default)]
pub struct Group {
    entries: Vec<Entry>,
    payloads: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Entry {
    journal: JournalId,
    number: u64,
    kind: EventKind,
    is_whole: bool,
    /// Range of the payload in the bytes of the group.
    payload: Range<usize>,
}

impl Group {
    /// Creates a group without events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event. The number of the event must be the next number of the journal. This method
    /// does not check the number, but [`Log::append`](crate::Log::append) does.
    ///
    /// # Errors
    /// Returns [`JournalError::TooLarge`] if the payload has more than 16 MiB.
    pub fn add(&mut self, journal: JournalId, event: Event<'_>) -> Result<(), JournalError> {
        let bytes = event.payload.len();
        if bytes > PAYLOAD_MAX {
            return Err(JournalError::TooLarge {
                what: "an event",
                bytes,
                limit: PAYLOAD_MAX,
            });
        }
        let start = self.payloads.len();
        self.payloads.extend_from_slice(event.payload);
        self.entries.push(Entry {
            journal,
            number: event.number,
            kind: event.kind,
            is_whole: event.is_whole,
            payload: start..start + bytes,
        });
        Ok(())
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of bytes of all payloads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payloads.len()
    }

    /// Returns the number of bytes that the events need in memory, including their payloads.
    #[must_use]
    pub fn size(&self) -> usize {
        self.payloads.len() + self.entries.len() * size_of::<Entry>()
    }

    /// Checks the total size of all payloads. Used by implementations of [`Log`](crate::Log).
    ///
    /// # Errors
    /// Returns [`JournalError::TooLarge`] if the payloads have more than 256 MiB.
    pub fn check_size(&self) -> Result<(), JournalError> {
        let bytes = self.bytes();
        if bytes > GROUP_MAX {
            return Err(JournalError::TooLarge {
                what: "a group",
                bytes,
                limit: GROUP_MAX,
            });
        }
        Ok(())
    }

    /// Removes all events, but keeps the allocated memory for later events.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.payloads.clear();
    }

    /// Returns the events, each with its journal, oldest first.
    pub fn events(&self) -> impl Iterator<Item = (JournalId, Event<'_>)> {
        self.entries.iter().map(|entry| {
            let event = Event {
                number: entry.number,
                kind: entry.kind,
                is_whole: entry.is_whole,
                payload: &self.payloads[entry.payload.clone()],
            };
            (entry.journal, event)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Group, JournalId, PAYLOAD_MAX};

    #[test]
    fn a_group_returns_its_events_until_it_is_cleared() {
        let mut group = Group::new();
        let event = |number, payload| Event {
            number,
            payload,
            ..Event::default()
        };
        group.add(JournalId(1), event(1, b"one")).unwrap();
        group.add(JournalId(2), event(7, b"")).unwrap();
        let large = vec![0; PAYLOAD_MAX + 1];
        group.add(JournalId(2), event(8, &large)).unwrap_err();
        let events: Vec<_> = group.events().collect();
        let expected = [
            (JournalId(1), event(1, b"one")),
            (JournalId(2), event(7, b"")),
        ];
        assert_eq!(events, expected);
        assert_eq!((group.len(), group.bytes()), (2, 3));
        group.clear();
        assert!(group.is_empty());
    }
}
