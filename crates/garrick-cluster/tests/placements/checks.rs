//! Checks that an implementation of a placement follows the rules. All implementations must pass
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use garrick_actor::{Address, Handle, behavior};
use garrick_cluster::placement::{
    Change, KEY_BYTES_MAX, News, Outcome, Placement, Record, RecordError, VALUE_BYTES_MAX,
};
use garrick_testkit::HANGS_AFTER;

/// A user of a placement.
pub(crate) struct User<'a> {
    placement: &'a dyn Placement,
    address: Address<News>,
    news: Receiver<News>,
    ticket: u64,
}

impl<'a> User<'a> {
    pub(crate) fn new(handle: &Handle, placement: &'a dyn Placement) -> Self {
        let (sender, news) = channel();
        let address = handle.spawn(behavior(move |news: News, _| {
            let _ = sender.send(news);
        }));
        Self {
            placement,
            address: address.unwrap(),
            news,
            ticket: 0,
        }
    }

    /// Returns the next message that is not a hint.
    fn next(&self) -> News {
        loop {
            let news = self
                .news
                .recv_timeout(HANGS_AFTER)
                .expect("the placement answers");
            if news != News::Hint {
                return news;
            }
        }
    }

    pub(crate) fn change(&mut self, key: &str, expected: u64, value: Option<&[u8]>) -> Outcome {
        self.ticket += 1;
        let change = Change {
            key: key.into(),
            expected,
            value: value.map(Bytes::copy_from_slice),
            ticket: self.ticket,
        };
        self.placement.change(change, &self.address);
        match self.next() {
            News::Outcome {
                key: of,
                ticket,
                outcome,
            } => {
                assert_eq!((&*of, ticket), (key, self.ticket));
                outcome
            }
            other => panic!("{other:?}"),
        }
    }

    /// Changes a record, and returns its revision.
    pub(crate) fn must_change(&mut self, key: &str, expected: u64, value: Option<&[u8]>) -> u64 {
        match self.change(key, expected, value) {
            Outcome::Changed(revision) => revision,
            other => panic!("{key}: {other:?}"),
        }
    }

    pub(crate) fn read(&self, since: u64) -> (Vec<Record>, u64, bool) {
        self.placement.read(since, &self.address);
        match self.next() {
            News::Records {
                records,
                revision,
                is_whole,
            } => (records, revision, is_whole),
            other => panic!("{other:?}"),
        }
    }

    /// Reads until all changes up to `until` are included.
    pub(crate) fn read_until(&self, since: u64, until: u64) -> (Vec<Record>, u64, bool) {
        loop {
            let read = self.read(since);
            if read.1 >= until {
                return read;
            }
            // A read may be late.
            thread::yield_now();
        }
    }
}

/// Runs all checks. `one` and `other` are handles to the same placement, possibly over two
/// connections.
pub(crate) fn check(handle: &Handle, one: &dyn Placement, other: &dyn Placement) {
    let mut one = User::new(handle, one);
    let mut other = User::new(handle, other);
    records_change_by_comparison(&mut one, &mut other);
    reads_have_what_was_changed(&mut one, &mut other);
    one_of_several_wins(&mut one, &mut other);
    what_is_not_allowed_changes_nothing(&mut one);
    changes_are_hinted(&mut one, &mut other);
}

fn records_change_by_comparison(one: &mut User<'_>, other: &mut User<'_>) {
    let first = one.must_change("cas.a", 0, Some(b"1"));
    assert_ne!(first, 0);
    assert_eq!(other.change("cas.a", 0, Some(b"2")), Outcome::Refused);
    let second = other.must_change("cas.a", first, Some(b""));
    assert!(second > first);
    assert_eq!(one.change("cas.a", first, Some(b"3")), Outcome::Refused);
    assert_eq!(one.change("cas.a", first, None), Outcome::Refused);
    let elsewhere = one.must_change("cas.b", 0, Some(b"1"));
    assert!(elsewhere > second, "revisions grow over all records");
    let deleted = one.must_change("cas.a", second, None);
    assert!(deleted > elsewhere);
    assert_eq!(other.change("cas.a", second, Some(b"4")), Outcome::Refused);
    assert_eq!(other.change("cas.a", deleted, Some(b"4")), Outcome::Refused);
    assert_eq!(other.change("cas.a", deleted, None), Outcome::Refused);
    assert_eq!(other.change("cas.none", 0, None), Outcome::Refused);
    let again = other.must_change("cas.a", 0, Some(b"5"));
    assert!(
        again > deleted,
        "a record does not get an old revision again"
    );
}

fn reads_have_what_was_changed(one: &mut User<'_>, other: &mut User<'_>) {
    let (_, before, _) = one.read_until(0, 0);
    let kept = one.must_change("read.kept", 0, Some(b"kept"));
    let gone = one.must_change("read.gone", 0, Some(b"gone"));
    let changed = one.must_change("read.changed", 0, Some(b"1"));
    let changed = one.must_change("read.changed", changed, Some(b"2"));
    let gone = one.must_change("read.gone", gone, None);

    let (records, revision, is_whole) = other.read_until(0, gone);
    assert!(is_whole && revision >= gone);
    let records: BTreeMap<Arc<str>, Record> = (records
        .into_iter()
        .map(|record| (record.key.clone(), record)))
    .collect();
    let found = |key: &str| {
        let record = records.get(key)?;
        Some((record.revision, record.value.clone()?))
    };
    let text = |text: &'static str| Bytes::from_static(text.as_bytes());
    assert_eq!(found("read.kept"), Some((kept, text("kept"))));
    assert_eq!(found("read.changed"), Some((changed, text("2"))));
    assert_eq!(found("read.gone"), None);

    // Deletions are told to those who know the record, or all records that exist are.
    let (records, _, is_whole) = other.read_until(before.max(kept), gone);
    let of_gone = records.iter().find(|record| &*record.key == "read.gone");
    match of_gone {
        Some(record) => assert_eq!((record.revision, &record.value), (gone, &None)),
        None => assert!(is_whole),
    }
    assert!(
        is_whole || records.iter().all(|record| &*record.key != "read.kept"),
        "what was not changed is not read again"
    );
    assert!(
        records
            .windows(2)
            .all(|pair| pair[0].revision < pair[1].revision),
        "the oldest change comes first"
    );
}

fn one_of_several_wins<'a>(one: &mut User<'a>, other: &mut User<'a>) {
    let mut revision = one.must_change("race.a", 0, Some(b"0"));
    for round in 0..50u8 {
        for user in [&mut *one, &mut *other] {
            user.ticket += 1;
            let change = Change {
                key: "race.a".into(),
                expected: revision,
                value: Some(Bytes::copy_from_slice(&[round])),
                ticket: user.ticket,
            };
            user.placement.change(change, &user.address);
        }
        let outcomes = [one.next(), other.next()].map(|news| match news {
            News::Outcome { outcome, .. } => outcome,
            news => panic!("{news:?}"),
        });
        let winners = outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Changed(revision) => Some(*revision),
            Outcome::Refused => None,
            outcome => panic!("{outcome:?}"),
        });
        let winners: Vec<u64> = winners.collect();
        assert_eq!(winners.len(), 1, "round {round}: {outcomes:?}");
        revision = winners[0];
    }
}

fn what_is_not_allowed_changes_nothing(one: &mut User<'_>) {
    let long = "k".repeat(KEY_BYTES_MAX + 1);
    for key in ["", "a..b", ".a", "a.", "a b", "ä", "a/b", "a*", "a>", &long] {
        let outcome = one.change(key, 0, Some(b"1"));
        let Outcome::Invalid(RecordError::Key { key: named }) = outcome else {
            panic!("{key}: {outcome:?}");
        };
        assert!(key.starts_with(&named));
    }
    let longest = "k".repeat(KEY_BYTES_MAX);
    one.must_change(&longest, 0, Some(b"1"));
    let large = vec![7; VALUE_BYTES_MAX];
    one.must_change("value.large", 0, Some(&large));
    let larger = vec![7; VALUE_BYTES_MAX + 1];
    let bytes = larger.len();
    let outcome = one.change("value.larger", 0, Some(&larger));
    assert_eq!(outcome, Outcome::Invalid(RecordError::Value { bytes }));
    one.must_change("value.larger", 0, Some(b"small"));
}

fn changes_are_hinted(one: &mut User<'_>, other: &mut User<'_>) {
    other.placement.watch(&other.address);
    // The watch may begin later than the first changes.
    let mut revision = 0;
    loop {
        revision = one.must_change("hint.a", revision, Some(b"1"));
        if other.news.recv_timeout(Duration::from_millis(20)) == Ok(News::Hint) {
            return;
        }
    }
}
