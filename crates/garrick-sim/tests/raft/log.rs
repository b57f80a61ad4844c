//! The log of a server. Indices of entries begin at 1, as in the paper.

use std::fmt;

/// A command of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    /// Number of the client.
    pub(crate) client: usize,
    /// Number of the command among those of the client.
    pub(crate) number: u32,
}

/// An entry of a log. A leader begins its term with an entry without a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Term in which a leader has created the entry.
    pub(crate) term: u64,
    pub(crate) command: Option<Command>,
}

/// Entries in the order in which they take effect.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Log(Vec<Entry>);

impl Log {
    /// Returns the index of the last entry, or 0 if the log is empty.
    pub(crate) fn last_index(&self) -> usize {
        self.0.len()
    }

    /// Returns the term of the last entry, or 0 if the log is empty.
    pub(crate) fn last_term(&self) -> u64 {
        self.0.last().map_or(0, |entry| entry.term)
    }

    pub(crate) fn get(&self, index: usize) -> Option<Entry> {
        self.0.get(index.checked_sub(1)?).copied()
    }

    /// Returns the term of an entry. The place before the first entry has the term 0.
    pub(crate) fn term_at(&self, index: usize) -> Option<u64> {
        if index == 0 {
            return Some(0);
        }
        self.get(index).map(|entry| entry.term)
    }

    /// Returns up to `count_max` entries, beginning with the entry at `index`.
    pub(crate) fn from(&self, index: usize, count_max: usize) -> Vec<Entry> {
        let entries = self.0.iter().skip(index - 1);
        entries.take(count_max).copied().collect()
    }

    pub(crate) fn contains(&self, command: Command) -> bool {
        self.0.iter().any(|entry| entry.command == Some(command))
    }

    /// Returns true if the log begins with all entries of another log.
    pub(crate) fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns true if another log, whose last entry has this term and index, is at least as
    /// up-to-date as this one (section 5.4.1).
    pub(crate) fn is_behind_or_equal(&self, last_term: u64, last_index: usize) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Removes the entries after an index.
    pub(crate) fn truncate(&mut self, index: usize) {
        self.0.truncate(index);
    }

    /// Adds the entries that follow the index `previous`. Removes entries only if they conflict
    /// with new ones (section 5.3).
    pub(crate) fn merge(&mut self, previous: usize, entries: &[Entry]) {
        for (index, entry) in (previous + 1..).zip(entries) {
            match self.term_at(index) {
                Some(term) if term == entry.term => {}
                _ => {
                    self.truncate(index - 1);
                    self.push(*entry);
                }
            }
        }
    }

    /// Returns true if both logs are the same up to the last index at which both have an entry of
    /// the same term.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        let both = self.0.iter().zip(&other.0);
        let is_same_term = |(one, other): (&Entry, &Entry)| one.term == other.term;
        let last = both.rev().position(is_same_term);
        let length = self.last_index().min(other.last_index());
        last.is_none_or(|behind| {
            let count = length - behind;
            self.0[..count] == other.0[..count]
        })
    }
}

/// Formats a command as a letter for its client and its number: `a1`.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = char::from(b'a' + self.client as u8);
        write!(f, "{client}{}", self.number)
    }
}

/// Formats an entry as its term and its command: `2:a1`.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.command {
            Some(command) => write!(f, "{}:{command:?}", self.term),
            None => write!(f, "{}:-", self.term),
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a log with entries of these terms, whose commands have the number `number`.
    fn log(terms: &[u64], number: u32) -> Log {
        let command = Some(Command { client: 0, number });
        let entries = terms.iter().map(|&term| Entry { term, command });
        Log(entries.collect())
    }

    #[test]
    fn entries_are_removed_only_if_they_conflict() {
        let mut merged = log(&[1, 1, 2], 1);
        merged.merge(0, &log(&[1, 1], 1).0);
        assert_eq!(merged, log(&[1, 1, 2], 1));
        merged.merge(1, &log(&[3], 1).0);
        assert_eq!(merged, log(&[1, 3], 1));
    }

    #[test]
    fn logs_match_if_they_are_the_same_up_to_a_common_term() {
        assert!(log(&[1, 2], 1).matches(&log(&[1, 3, 3], 1)));
        assert!(log(&[1], 1).matches(&log(&[2], 1)));
        assert!(!log(&[1, 2], 1).matches(&log(&[1, 2], 2)));
        assert!(!log(&[1, 3], 1).matches(&log(&[2, 3, 4], 1)));
    }

    #[test]
    fn a_log_with_a_later_term_is_more_up_to_date_than_a_longer_one() {
        assert!(log(&[1, 1, 1], 1).is_behind_or_equal(2, 1));
        assert!(!log(&[2], 1).is_behind_or_equal(1, 3));
        assert!(log(&[2], 1).is_behind_or_equal(2, 1));
    }
}
