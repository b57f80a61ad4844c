//! Counters of a round, and a list of errors that were detected.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use garrick_actor::Ended;

use crate::town::Town;

/// Number of values whose drops are counted one by one. All later values are only counted in total.
const TOLD_APART: usize = 1 << 16;
/// Maximum number of complaints that are stored.
const COMPLAINTS_MAX: usize = 20;

/// Counters and complaints of one round.
pub(crate) struct Ledger {
    made: AtomicU64,
    dropped: AtomicU64,
    /// Number of times that each value was dropped.
    drops: Box<[AtomicU8]>,
    watches: Mutex<Vec<Arc<Sighting>>>,
    complaints: Mutex<Vec<String>>,
    /// Number of actors that were started.
    starts: AtomicU64,
    ends: AtomicU64,
    /// Number of sends that have begun to wait for room.
    waits: AtomicU64,
    waited: AtomicU64,
}

/// Checks the life of one actor, from its creation to its drop. All incarnations of a child share a
/// `place`. Only one of them may exist at a time.
pub(crate) struct Life {
    town: Arc<Town>,
    place: Arc<AtomicU64>,
    has_started: bool,
}

impl Life {
    pub(crate) fn new(town: &Arc<Town>, place: &Arc<AtomicU64>) -> Self {
        if place.fetch_add(1, SeqCst) > 0 {
            let two = "an actor was made before the one in its place was gone";
            town.ledger.complain(two.to_owned());
        }
        Self {
            town: town.clone(),
            place: place.clone(),
            has_started: false,
        }
    }

    pub(crate) fn start(&mut self) {
        if std::mem::replace(&mut self.has_started, true) {
            let twice = "an actor was started twice";
            self.town.ledger.complain(twice.to_owned());
        }
        self.town.ledger.starts.fetch_add(1, SeqCst);
    }

    pub(crate) fn check(&self) {
        if !self.has_started {
            let early = "a message came before the start";
            self.town.ledger.complain(early.to_owned());
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.place.fetch_sub(1, SeqCst);
        let ends = u64::from(self.has_started);
        self.town.ledger.ends.fetch_add(ends, SeqCst);
    }
}

/// Counts a send that waits for room, until the send completes or is dropped.
pub(crate) struct Waiting(Arc<Town>);

impl Waiting {
    pub(crate) fn new(town: &Arc<Town>) -> Self {
        town.ledger.waits.fetch_add(1, SeqCst);
        Self(town.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.ledger.waited.fetch_add(1, SeqCst);
    }
}

/// Record of one watch: whether it was committed or cancelled, and how often its notice was called.
#[derive(Default)]
pub(crate) struct Sighting {
    /// 1 if the turn that created the watch has committed, or if no turn created it. Otherwise 0.
    is_committed: AtomicU8,
    is_cancelled: AtomicU8,
    notices: AtomicU8,
}

impl Sighting {
    pub(crate) fn commit(&self) {
        self.is_committed.store(1, SeqCst);
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(1, SeqCst);
    }

    pub(crate) fn notice(&self, _: &Ended) {
        self.notices.fetch_add(1, SeqCst);
    }
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            made: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            drops: (0..TOLD_APART).map(|_| AtomicU8::new(0)).collect(),
            watches: Mutex::default(),
            complaints: Mutex::default(),
            starts: AtomicU64::new(0),
            ends: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        }
    }

    /// Returns how many sends are waiting for room.
    pub(crate) fn waiting(&self) -> u64 {
        let waited = self.waited.load(SeqCst);
        self.waits.load(SeqCst) - waited
    }

    /// Counts a new value and returns its number.
    pub(crate) fn make(&self) -> u64 {
        self.made.fetch_add(1, SeqCst)
    }

    pub(crate) fn drop(&self, number: u64) {
        self.dropped.fetch_add(1, SeqCst);
        if let Some(drops) = self.drops.get(number as usize)
            && drops.fetch_add(1, SeqCst) > 0
        {
            self.complain(format!("value {number} was dropped twice"));
        }
    }

    /// Returns how many values exist, that is, were created but not dropped.
    pub(crate) fn alive(&self) -> u64 {
        self.made.load(SeqCst) - self.dropped.load(SeqCst)
    }

    pub(crate) fn made(&self) -> u64 {
        self.made.load(SeqCst)
    }

    /// Creates the record of a new watch.
    pub(crate) fn watch(&self) -> Arc<Sighting> {
        let sighting = Arc::<Sighting>::default();
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.push(sighting.clone());
        sighting
    }

    pub(crate) fn complain(&self, what: String) {
        let mut complaints = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if complaints.len() < COMPLAINTS_MAX {
            complaints.push(what);
        }
    }

    /// Runs the final checks of a round and returns all complaints.
    pub(crate) fn close(&self) -> Vec<String> {
        for sighting in &*self.watches.lock().unwrap_or_else(PoisonError::into_inner) {
            let notices = sighting.notices.load(SeqCst);
            let is_committed = sighting.is_committed.load(SeqCst) == 1;
            let is_cancelled = sighting.is_cancelled.load(SeqCst) == 1;
            match notices {
                0 if is_committed && !is_cancelled => {
                    self.complain("a watch has had no notice".to_owned());
                }
                0 => {}
                1 if is_committed => {}
                1 => self.complain("a turn that was undone has watched".to_owned()),
                _ => self.complain(format!("a watch has had {notices} notices")),
            }
        }
        let (starts, ends) = (self.starts.load(SeqCst), self.ends.load(SeqCst));
        if starts != ends {
            self.complain(format!("{starts} actors were started, and {ends} ended"));
        }
        let waiting = self.waiting();
        if waiting > 0 {
            self.complain(format!("{waiting} sends wait for room for ever"));
        }
        let alive = self.alive();
        if alive > 0 {
            let ids = self
                .drops
                .iter()
                .take(self.made() as usize)
                .enumerate()
                .filter(|(_, drops)| drops.load(SeqCst) == 0)
                .map(|(number, _)| number)
                .take(10)
                .collect::<Vec<_>>();
            self.complain(format!("{alive} values were not dropped: {ids:?}"));
        }
        std::mem::take(
            &mut *self
                .complaints
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
