//! The journals that a log has begun to read, and their known state.

use std::collections::VecDeque;
use std::sync::Arc;

use garrick_journal::JournalId;
use hashbrown::HashMap;

use super::format::{Head, Mark};
use super::subject::tokens;

/// Maximum number of messages of a journal whose event numbers are kept in memory.
const MARKS_MAX: usize = 32;

/// The known journals. Their numbers are 1, 2, 3 and so on.
#[derive(Default)]
pub(super) struct Journals {
    names: HashMap<Arc<str>, u64>,
    all: HashMap<u64, Known>,
    /// Greatest number that a journal has got. The numbers of removed journals are not used again.
    last: u64,
}

/// State of a journal, as far as this log knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) name: Arc<str>,
    /// Last part of the journal's subjects on the server. It contains the name of the journal.
    pub(super) tokens: Arc<str>,
    /// Number of the newest event, or 0 if there is none.
    pub(super) newest: u64,
    /// Sequence number of the last message of the journal, or 0.
    pub(super) sequence: u64,
    /// Position of the newest whole event (an event that contains the whole state): its number, or
    /// 0, and the sequence number of a message. All messages up to this sequence number are older
    /// than the event.
    pub(super) whole: Mark,
    pub(super) saved: SavedStates,
    /// Positions of some of the latest messages, oldest first. Each position consists of the number
    /// of the last event in the message, and of the sequence number of the message.
    marks: VecDeque<Mark>,
    /// Number of messages that were appended since old messages were last marked for removal.
    pub(super) unpurged: u32,
    /// Number of the event to read next, and the sequence number at which the search for its
    /// message begins.
    pub(super) cursor: Mark,
}

/// The saved states of a journal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SavedStates {
    /// Positions of the newest saved state and of the state before it. Each position consists of
    /// the number of the last event in the state, and of a sequence number: messages up to this
    /// sequence number contain no later events.
    pub(super) marks: [Mark; 2],
    /// Sequence number of the last message with a saved state.
    pub(super) sequence: u64,
}

impl Journals {
    /// Returns the number of the journal with the given name. A journal that has no number gets the
    /// next number.
    pub(super) fn number(&mut self, name: &str) -> JournalId {
        if let Some(number) = self.names.get(name) {
            return JournalId::new(*number);
        }
        let name: Arc<str> = name.into();
        let known = Known {
            name: Arc::clone(&name),
            tokens: tokens(&name).into(),
            ..Known::default()
        };
        self.last += 1;
        self.all.insert(self.last, known);
        self.names.insert(name, self.last);
        JournalId::new(self.last)
    }

    pub(super) fn get(&self, journal: JournalId) -> Option<&Known> {
        self.all.get(&journal.get())
    }

    pub(super) fn get_mut(&mut self, journal: JournalId) -> Option<&mut Known> {
        self.all.get_mut(&journal.get())
    }

    /// Removes and returns the journal with the given name if it has no known event.
    pub(super) fn remove_unused(&mut self, name: &str) -> Option<Known> {
        let number = self.names.get(name).copied()?;
        let is_unused = |known: &Known| known.newest == 0;
        if !self.all.get(&number).is_none_or(is_unused) {
            return None;
        }
        self.names.remove(name);
        self.all.remove(&number)
    }
}

impl Known {
    /// Returns the number of the oldest event that can be read.
    pub(super) fn oldest(&self) -> u64 {
        let [_, before] = self.saved.marks;
        (before.number + 1).max(self.whole.number)
    }

    /// Records the head and the sequence number of the last message of the journal.
    pub(super) fn last(&mut self, head: &Head, sequence: u64) {
        (self.newest, self.sequence) = (head.newest, sequence);
        self.whole = Mark {
            number: head.whole,
            covers: head.whole_after,
        };
    }

    /// Updates the state of the journal after a message was appended.
    pub(super) fn appended(&mut self, head: &Head, sequence: u64) {
        self.last(head, sequence);
        self.unpurged = self.unpurged.saturating_add(1);
        if self.marks.len() == MARKS_MAX {
            // Every second one: what is left is right, and less exact.
            let mut count = 0_usize;
            self.marks.retain(|_| {
                count += 1;
                count.is_multiple_of(2)
            });
        }
        self.marks.push_back(Mark {
            number: head.newest,
            covers: sequence,
        });
    }

    /// Returns a sequence number. Messages up to this sequence number contain no events after the
    /// event `number`.
    pub(super) fn covers(&self, number: u64) -> u64 {
        if number == self.newest {
            return self.sequence;
        }
        let [saved, before] = self.saved.marks;
        let whole = Mark {
            // Messages up to this sequence are before the whole event.
            number: self.whole.number.saturating_sub(1),
            ..self.whole
        };
        let marks = self.marks.iter().copied().chain([saved, before, whole]);
        let known = marks.filter(|mark| mark.number <= number);
        known.map(|mark| mark.covers).max().unwrap_or(0)
    }

    /// Returns the sequence number at which the search for the message with the given event begins.
    pub(super) fn search(&self, number: u64) -> u64 {
        if self.cursor.number == number {
            return self.cursor.covers;
        }
        self.covers(number - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Journals, Known, MARKS_MAX};
    use crate::nats::log::format::{Head, MessageOf};

    #[test]
    fn journals_without_events_are_removed() {
        let mut journals = Journals::default();
        let kept = journals.number("kept");
        journals.get_mut(kept).unwrap().newest = 1;
        let names = || (0..100).map(|number| format!("probed/{number}"));
        names().for_each(|name| _ = journals.number(&name));
        assert_eq!((journals.names.len(), journals.all.len()), (101, 101));
        assert!(names().all(|name| journals.remove_unused(&name).is_some()));
        assert!(journals.remove_unused("kept").is_none());
        assert_eq!((journals.names.len(), journals.all.len()), (1, 1));
        assert_eq!(journals.number("kept"), kept);
        assert_eq!(journals.number("probed/0").get(), 102, "a new number");
    }

    #[test]
    fn what_a_sequence_covers_is_never_too_much() {
        let mut known = Known::default();
        for number in 1..=10 * MARKS_MAX as u64 {
            let head = Head {
                of: MessageOf {
                    writer: 1,
                    group: number,
                },
                after: known.sequence,
                newest: number * 2,
                whole: 0,
                whole_after: 0,
                count: 2,
            };
            // The message with the events up to `2 * number` has the sequence `3 * number`.
            known.appended(&head, 3 * number);
            for event in 1..=2 * number {
                assert!(known.covers(event) <= 3 * (event / 2), "event {event}");
                assert!(known.search(event) <= 3 * event.div_ceil(2));
            }
            assert_eq!(known.covers(2 * number), 3 * number);
            assert!(known.marks.len() <= MARKS_MAX);
        }
    }
}
