//! The stores whose logs are checked.

use std::sync::{Arc, Mutex};

use garrick_actor::files::{Files, Folder};
#[cfg(feature = "sqlite")]
use garrick_journal::SqliteLog;
use garrick_journal::conformance::Store;
use garrick_journal::{Log, MemoryLog, Options};
use garrick_sim::testing::Kit;
use garrick_testkit::Place;

/// Size of segments, so small that the log has many.
const SEGMENT_BYTES: u64 = 4_000;

fn open(files: Arc<dyn Files>) -> Box<dyn Log> {
    let options = Options::new().segment_bytes(SEGMENT_BYTES);
    let (log, opened) = options.open(files).unwrap();
    assert!(opened.torn.is_none());
    Box::new(Mutex::new(log))
}

/// Segments in a folder.
pub(crate) struct Folders(Place);

impl Folders {
    pub(crate) fn new() -> Self {
        Self(Place::new("conformance"))
    }
}

impl Store for Folders {
    fn open(&mut self) -> Box<dyn Log> {
        open(Arc::new(Folder::open(self.0.path()).unwrap()))
    }

    fn clear(&mut self) {
        self.0 = Place::new("conformance");
    }
}

/// Segments on a simulated disk, which crashes and loses what is not durable.
pub(crate) struct Simulated(Option<Kit>);

impl Simulated {
    pub(crate) fn new() -> Self {
        Self(Some(Kit::new()))
    }
}

impl Store for Simulated {
    fn open(&mut self) -> Box<dyn Log> {
        let kit = self.0.as_mut().expect("there always is one");
        kit.crash();
        open(Arc::new(kit.disk()))
    }

    fn clear(&mut self) {
        // First: a thread has one kit.
        self.0 = None;
        self.0 = Some(Kit::new());
    }
}

/// A log in memory.
#[derive(Default)]
pub(crate) struct Memory(MemoryLog);

impl Store for Memory {
    fn open(&mut self) -> Box<dyn Log> {
        Box::new(self.0.clone())
    }

    fn clear(&mut self) {
        self.0 = MemoryLog::new();
    }

    /// A log in memory with several handles forgets nothing, and the store has one of them.
    fn forgets(&self) -> bool {
        false
    }
}

/// An SQLite database.
#[cfg(feature = "sqlite")]
pub(crate) struct Databases(Place);

#[cfg(feature = "sqlite")]
impl Databases {
    pub(crate) fn new() -> Self {
        Self(Place::new("conformance"))
    }
}

#[cfg(feature = "sqlite")]
impl Store for Databases {
    fn open(&mut self) -> Box<dyn Log> {
        Box::new(SqliteLog::open(self.0.path().join("journal.sqlite")).unwrap())
    }

    fn clear(&mut self) {
        self.0 = Place::new("conformance");
    }
}
