//! A table of the records of a placement, with the latest deletions.
//!
//! A deleted record leaves a trace, so that a reader that asks for all later changes learns of the
//! deletion. Nothing else needs the trace. Revisions are never used again, because they count the
//! changes of all records. So a change that expects an earlier revision of a record is refused even
//! if the record was deleted, forgotten and created again.
//!
//! The table keeps the latest [`DELETED_MAX`] deletions. A reader that has missed earlier deletions
//! gets all records instead of the changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;

use super::{News, Record};

/// Maximum number of deleted records that are remembered. If there are more, the record that was
/// deleted first is forgotten.
pub(crate) const DELETED_MAX: usize = 1_024;

/// Records by key, including the latest deleted records.
#[derive(Default)]
pub(crate) struct Table {
    records: HashMap<Arc<str>, (u64, Option<Bytes>)>,
    /// Keys of the records, by the latest revision of each record.
    changes: BTreeMap<u64, Arc<str>>,
    /// Revisions of the deletions in `changes`.
    deletions: BTreeSet<u64>,
    /// Revision up to which deletions can be missing in the table. All later deletions are in the
    /// table.
    forgotten: u64,
}

impl Table {
    /// Returns the latest revision of a record and its content, if the table contains the record.
    /// The content is `None` if the record was deleted.
    pub(crate) fn get(&self, key: &str) -> Option<(u64, Option<&Bytes>)> {
        let (revision, value) = self.records.get(key)?;
        Some((*revision, value.as_ref()))
    }

    /// Sets the content of a record, unless the table contains a later state of the record. `None`
    /// deletes the record.
    pub(crate) fn apply(&mut self, key: Arc<str>, revision: u64, value: Option<Bytes>) {
        let before = self.records.get(&key).map(|(revision, _)| *revision);
        if before.is_some_and(|before| before >= revision) {
            return;
        }
        if let Some(before) = before {
            self.changes.remove(&before);
            self.deletions.remove(&before);
        }
        if value.is_none() {
            self.deletions.insert(revision);
        }
        self.changes.insert(revision, Arc::clone(&key));
        self.records.insert(key, (revision, value));
        while self.deletions.len() > DELETED_MAX {
            self.forget_first();
        }
    }

    /// Removes the earliest deletion from the table.
    fn forget_first(&mut self) {
        let Some(revision) = self.deletions.pop_first() else {
            return;
        };
        if let Some(key) = self.changes.remove(&revision) {
            self.records.remove(&key);
        }
        self.forgotten = self.forgotten.max(revision);
    }

    /// Replaces all records with those in `next`, a table that was read anew, up to the revision
    /// `revision`. Records that `next` does not contain were deleted at an unknown revision.
    #[cfg(any(test, feature = "nats"))]
    pub(crate) fn replace(&mut self, next: Self, revision: u64) {
        let before = std::mem::replace(self, next);
        let missing = before.records.iter().filter_map(|(key, (last, value))| {
            let is_missing = !self.records.contains_key(key);
            is_missing.then_some(if value.is_some() { revision } else { *last })
        });
        let forgotten = missing.max().unwrap_or(0).max(before.forgotten);
        self.forgotten = self.forgotten.max(forgotten);
    }

    /// Returns the changes after the revision `since`. Returns all records if `since` is 0, or if
    /// later deletions were forgotten. `revision` is the current revision of the table.
    pub(crate) fn read(&self, since: u64, revision: u64) -> News {
        let is_whole = since == 0 || since < self.forgotten;
        let since = if is_whole { 0 } else { since };
        let record = |(last, key): (&u64, &Arc<str>)| {
            let (_, value) = self.records.get(key)?;
            (!is_whole || value.is_some()).then(|| Record {
                key: Arc::clone(key),
                revision: *last,
                value: value.clone(),
            })
        };
        let changes = self.changes.range(since.saturating_add(1)..);
        News::Records {
            records: changes.filter_map(record).collect(),
            revision,
            is_whole,
        }
    }

    /// Returns the number of records, including the deleted ones.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        assert_eq!(self.records.len(), self.changes.len());
        self.records.len()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{DELETED_MAX, Table};
    use crate::placement::News;

    /// Returns the number of records that a read returns, and true if it returns all records.
    fn read(table: &Table, since: u64) -> (usize, bool) {
        match table.read(since, u64::MAX) {
            News::Records {
                records, is_whole, ..
            } => (records.len(), is_whole),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn deletions_are_forgotten_and_readers_that_have_missed_them_read_all_records() {
        let value = || Some(Bytes::from_static(b"value"));
        let mut table = Table::default();
        table.apply("stays".into(), 1, value());
        let (mut revision, names) = (1, 10_000);
        for number in 0..names {
            for value in [value(), None] {
                revision += 1;
                table.apply(format!("name.{number}").into(), revision, value);
            }
        }
        assert_eq!(table.len(), DELETED_MAX + 1);
        // The last deletion that was forgotten.
        let forgotten = revision - 2 * DELETED_MAX as u64;
        assert_eq!(read(&table, forgotten - 1), (1, true));
        assert_eq!(read(&table, forgotten), (DELETED_MAX, false));
        assert_eq!(read(&table, revision), (0, false));
        assert_eq!(read(&table, u64::MAX), (0, false));
        // A name that was forgotten, and one that was not, are used again.
        for name in ["name.0", "name.9999"] {
            revision += 1;
            table.apply(name.into(), revision, value());
        }
        assert_eq!((table.len(), read(&table, 0)), (DELETED_MAX + 2, (3, true)));
        assert_eq!(read(&table, revision - 2), (2, false));
    }

    #[test]
    fn what_is_missing_in_a_new_table_was_deleted() {
        let value = || Some(Bytes::from_static(b"value"));
        let mut table = Table::default();
        table.apply("one".into(), 1, value());
        table.apply("gone".into(), 2, None);
        table.apply("other".into(), 3, value());
        let next = |table: &mut Table, keys: &[(&str, u64)], revision| {
            let mut next = Table::default();
            for (key, last) in keys {
                next.apply((*key).into(), *last, value());
            }
            table.replace(next, revision);
        };
        // The deletion has a known revision.
        next(&mut table, &[("one", 1), ("other", 3)], 5);
        assert_eq!((read(&table, 1), read(&table, 2)), ((2, true), (1, false)));
        next(&mut table, &[("other", 3)], 7);
        assert_eq!((read(&table, 6), read(&table, 7)), ((1, true), (0, false)));
        // What was forgotten once stays so.
        next(&mut table, &[("other", 3)], 9);
        assert_eq!((read(&table, 6), read(&table, 7)), ((1, true), (0, false)));
    }
}
