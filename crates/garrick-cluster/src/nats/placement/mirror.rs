//! A copy of the records, which a watch keeps up to date.
//!
//! The watch reports the latest change of each record, in the order of the changes. If a record
//! changes again before its first change was reported, the first change is left out. The copy is
//! *exact* if it equals the state of all records at one moment. An exact copy stays exact until a
//! change is left out, and becomes exact again when all changes were reported.

use std::sync::Arc;

use bytes::Bytes;
use garrick_actor::Address;
use hashbrown::HashMap;

use crate::placement::{News, Table};

/// Maximum number of requests for changes that wait for their answers. Further requests are not
/// answered.
const READS_MAX: usize = 1_024;

/// A change that a watch has reported.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) key: Arc<str>,
    pub(super) revision: u64,
    /// New content of the record. `None` if the record was deleted.
    pub(super) value: Option<Bytes>,
    /// True if no later change of any record existed when this change was reported.
    pub(super) is_last: bool,
}

/// Records by key, including the latest deleted records.
#[derive(Default)]
struct Picture {
    table: Table,
    /// Revision of the newest reported change.
    last: u64,
}

/// A copy of the records.
#[derive(Default)]
pub(super) struct Mirror {
    picture: Picture,
    /// The records that a new watch has reported so far. They replace the copy when they are exact:
    /// equal to the state of all records at one moment.
    next: Option<Picture>,
    /// Latest revision at which the copy was exact: equal to the state of all records at one
    /// moment. `None` if the copy was never exact.
    exact: Option<u64>,
    /// Changes by this node that the watch has not reported yet, by the keys of the records. For
    /// each change: its revision, and true if the record exists after the change.
    own: HashMap<Arc<str>, (u64, bool)>,
    /// Revision of the newest change by this node. Reads wait until the copy includes this change.
    /// So even if the watch stops working while changes by this node succeed, no read returns an
    /// outdated state.
    own_last: u64,
    /// Requests for changes that wait for their answers. Each request consists of three values: the
    /// revision after which changes are requested, the revision that the copy must reach before the
    /// answer, and the receiver of the answer.
    reads: Vec<(u64, u64, Address<News>)>,
    pub(super) watchers: Vec<Address<News>>,
}

/// Answers to requests for changes, each with its receiver.
pub(super) type Answers = Vec<(Address<News>, News)>;

/// State of a record, compared with the revision that a change expects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The record may still have the expected revision.
    Perhaps,
    /// The record no longer has the expected revision.
    Gone,
    /// The revision of the record is not known yet.
    Unknown,
}

impl Picture {
    fn apply(&mut self, told: Told) {
        self.last = self.last.max(told.revision);
        self.table.apply(told.key, told.revision, told.value);
    }
}

impl Mirror {
    /// Returns true if the watch has not reported all changes by this node yet. Also returns true
    /// if a new watch has reported nothing yet, because the server may have forgotten all records
    /// when the watch began.
    pub(super) fn is_late(&self) -> bool {
        let has_begun = self.next.as_ref().is_none_or(|next| next.last > 0);
        !has_begun || self.exact.unwrap_or(0) < self.own_last
    }

    /// Prepares for a new watch, which reports all records.
    pub(super) fn begin(&mut self) {
        self.next = Some(Picture::default());
    }

    /// Clears the copy, because the bucket contains no records. `revision` is the revision of the
    /// newest change in the bucket. Returns false, without clearing, if the copy contains a later
    /// change.
    pub(super) fn clear(&mut self, revision: u64) -> bool {
        if revision < self.exact.unwrap_or(0) {
            return false;
        }
        let empty = Picture {
            last: revision,
            ..Picture::default()
        };
        self.next = Some(empty);
        self.replace();
        true
    }

    /// Applies a reported change. Returns true if the change has made the copy exact: equal to the
    /// state of all records at one moment.
    pub(super) fn tell(&mut self, told: Told) -> bool {
        let (revision, is_last) = (told.revision, told.is_last);
        if let Some(next) = &mut self.next {
            next.apply(told);
            let is_newer = next.last >= self.exact.unwrap_or(0);
            let is_done = is_last && is_newer;
            if is_done {
                self.replace();
            }
            return is_done;
        }
        let Some(exact) = self.exact else {
            return false;
        };
        if revision <= exact {
            return false;
        }
        let follows = self.picture.last == exact && revision == exact + 1;
        self.picture.apply(told);
        let is_exact = follows || is_last;
        if is_exact {
            self.exact = Some(self.picture.last);
            self.forget_own();
        }
        is_exact
    }

    /// Replaces the copy with the records that the new watch has reported.
    fn replace(&mut self) {
        let Some(next) = self.next.take() else { return };
        self.picture.last = next.last;
        self.picture.table.replace(next.table, next.last);
        self.exact = Some(self.picture.last);
        self.forget_own();
    }

    /// Forgets those changes by this node that the watch has reported.
    fn forget_own(&mut self) {
        let exact = self.exact.unwrap_or(0);
        self.own.retain(|_, (revision, _)| *revision > exact);
    }

    /// Records a change that this node has made. Later requests for changes wait until the watch
    /// has reported this change.
    pub(super) fn changed(&mut self, key: &Arc<str>, revision: u64, is_there: bool) {
        self.own_last = self.own_last.max(revision);
        if revision <= self.exact.unwrap_or(0) {
            return;
        }
        let own = self.own.entry(Arc::clone(key)).or_default();
        if own.0 < revision {
            *own = (revision, is_there);
        }
    }

    /// Compares a record with the revision that a change expects.
    pub(super) fn expected(&self, key: &str, revision: u64) -> Expected {
        let own = self.own.get(key).filter(|(own, _)| *own == revision);
        let told = self.picture.table.get(key);
        let told = told.filter(|(told, _)| *told == revision);
        let is_there = match (own, told) {
            (Some((_, is_there)), _) => *is_there,
            (None, Some((_, value))) => value.is_some(),
            (None, None) if self.exact.is_some_and(|exact| exact >= revision) => false,
            (None, None) => return Expected::Unknown,
        };
        if is_there {
            Expected::Perhaps
        } else {
            Expected::Gone
        }
    }

    /// Returns the revision at which a record was deleted, or 0 if no deletion is known.
    pub(super) fn deletion(&self, key: &str) -> u64 {
        let told = self.picture.table.get(key);
        let told = told.map_or((0, true), |(revision, value)| (revision, value.is_some()));
        let own = self.own.get(key).copied().unwrap_or((0, true));
        let (revision, is_there) = if own.0 > told.0 { own } else { told };
        if is_there { 0 } else { revision }
    }

    /// Adds a request for all changes after the revision `since`, to be sent to `to`.
    /// [`Mirror::answers`] returns the answer when the copy is up to date. Does nothing if too many
    /// requests are waiting.
    pub(super) fn read(&mut self, since: u64, to: Address<News>) {
        if self.reads.len() < READS_MAX {
            self.reads.push((since, self.own_last, to));
        }
    }

    /// Removes and returns the answers to the requests for changes that can be answered now.
    pub(super) fn answers(&mut self) -> Answers {
        // Between two exact states, the copy is none.
        let Some(exact) = self.exact.filter(|exact| *exact == self.picture.last) else {
            return Vec::new();
        };
        let reads = std::mem::take(&mut self.reads);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(_, until, _)| *until <= exact);
        self.reads = waiting;
        let ready = ready.into_iter();
        ready
            .map(|(since, _, to)| (to, self.picture.table.read(since, exact)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use garrick_actor::{Address, System, behavior};

    use super::{Expected, Mirror, Told};
    use crate::placement::News;

    fn told(key: &str, revision: u64, is_last: bool) -> Told {
        Told {
            key: key.into(),
            revision,
            value: (key != "gone").then(|| Bytes::from_static(b"value")),
            is_last,
        }
    }

    /// Result of a request for changes: the keys and revisions of the changed records, the revision
    /// of the copy, and true if all records are included. `None` if there is no answer.
    type Read = Option<(Vec<(String, u64)>, u64, bool)>;

    fn read(mirror: &mut Mirror, since: u64, to: &Address<News>) -> Read {
        mirror.read(since, to.clone());
        let (_, news) = mirror.answers().pop()?;
        let News::Records {
            records,
            revision,
            is_whole,
        } = news
        else {
            panic!("{news:?}")
        };
        let records = records.iter();
        let records = records.map(|record| (record.key.to_string(), record.revision));
        Some((records.collect(), revision, is_whole))
    }

    fn keys(keys: &[(&str, u64)]) -> Vec<(String, u64)> {
        let keys = keys.iter();
        keys.map(|(key, revision)| ((*key).to_owned(), *revision))
            .collect()
    }

    #[test]
    fn only_states_that_were_there_are_read() {
        let system = System::new().unwrap();
        let to = &system.spawn(behavior(|_: News, _| ())).unwrap();
        let mut mirror = Mirror::default();
        assert_eq!(read(&mut mirror, 0, to), None);
        mirror.begin();
        assert!(!mirror.tell(told("a", 3, false)));
        assert_eq!(read(&mut mirror, 0, to), None);
        assert!(mirror.tell(told("b", 5, true)));
        let first = keys(&[("a", 3), ("b", 5)]);
        assert_eq!(read(&mut mirror, 0, to), Some((first, 5, true)));
        // The next one follows, although more is to come.
        assert!(mirror.tell(told("a", 6, false)));
        let second = Some((keys(&[("a", 6)]), 6, false));
        assert_eq!(read(&mut mirror, 5, to), second);
        // Another record was changed as 7, and again later.
        assert!(!mirror.tell(told("a", 8, false)));
        assert_eq!(read(&mut mirror, 5, to), None);
        assert!(!mirror.tell(told("b", 9, false)));
        assert!(mirror.tell(told("gone", 10, true)));
        let third = Some((keys(&[("a", 8), ("b", 9), ("gone", 10)]), 10, false));
        assert_eq!(read(&mut mirror, 5, to), third);
        let whole = Some((keys(&[("a", 8), ("b", 9)]), 10, true));
        assert_eq!(read(&mut mirror, 0, to), whole);
        assert_eq!(read(&mut mirror, u64::MAX, to), Some((vec![], 10, false)));
    }

    #[test]
    fn a_new_watch_replaces_all_records_when_it_is_not_older() {
        let system = System::new().unwrap();
        let to = &system.spawn(behavior(|_: News, _| ())).unwrap();
        let mut mirror = Mirror::default();
        mirror.begin();
        mirror.tell(told("a", 3, false));
        mirror.tell(told("b", 5, true));
        // A server that lags behind.
        mirror.begin();
        assert!(!mirror.tell(told("a", 3, true)));
        let before = Some((keys(&[("a", 3), ("b", 5)]), 5, true));
        assert_eq!(read(&mut mirror, 0, to), before);
        assert!(mirror.tell(told("c", 6, true)));
        let after = Some((keys(&[("a", 3), ("c", 6)]), 6, true));
        // The deletion of `b` is not known, so all records are told.
        assert_eq!(read(&mut mirror, 5, to), after);
        assert_eq!(read(&mut mirror, 6, to), Some((vec![], 6, false)));
        assert!(!mirror.clear(5));
        assert!(mirror.clear(9));
        assert_eq!(read(&mut mirror, 6, to), Some((vec![], 9, true)));
    }

    #[test]
    fn a_new_watch_that_has_reported_nothing_is_late() {
        let mut mirror = Mirror::default();
        assert!(!mirror.is_late());
        mirror.begin();
        assert!(mirror.is_late());
        mirror.tell(told("a", 3, false));
        assert!(!mirror.is_late());
        mirror.tell(told("b", 5, true));
        assert!(!mirror.is_late());
    }

    #[test]
    fn reads_have_own_changes() {
        let system = System::new().unwrap();
        let to = &system.spawn(behavior(|_: News, _| ())).unwrap();
        let mut mirror = Mirror::default();
        assert_eq!(mirror.expected("a", 1), Expected::Unknown);
        mirror.begin();
        mirror.tell(told("a", 1, true));
        assert_eq!(mirror.expected("a", 1), Expected::Perhaps);
        mirror.changed(&"a".into(), 2, true);
        mirror.changed(&"gone".into(), 3, false);
        assert!(mirror.is_late());
        assert_eq!(read(&mut mirror, 0, to), None);
        assert_eq!(mirror.expected("a", 2), Expected::Perhaps);
        assert_eq!(mirror.expected("gone", 3), Expected::Gone);
        assert_eq!((mirror.deletion("gone"), mirror.deletion("a")), (3, 0));
        mirror.tell(told("a", 2, false));
        mirror.tell(told("gone", 3, true));
        assert!(!mirror.is_late());
        // The read above waits, and is answered now.
        assert_eq!(mirror.answers().len(), 1);
        assert_eq!(mirror.expected("a", 1), Expected::Gone);
        assert_eq!(mirror.expected("gone", 3), Expected::Gone);
        assert_eq!(mirror.deletion("gone"), 3);
    }
}
