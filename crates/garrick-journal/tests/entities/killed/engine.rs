//! The stores of the events.

use std::path::Path;

use garrick_actor::System;
use garrick_journal::Journal;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    Segments,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Engine {
    pub(super) fn open(self, system: &System, folder: &Path) -> Journal {
        match self {
            Self::Segments => Journal::open(&system.handle(), folder).unwrap().0,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                let path = folder.join("journal.sqlite");
                Journal::open_sqlite(&system.handle(), path).unwrap()
            }
        }
    }

    /// Checks the log from end to end.
    pub(super) fn verify(self, folder: &Path) {
        match self {
            // It is read from end to end when it is opened.
            Self::Segments => assert!(folder.is_dir()),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                let log = garrick_journal::SqliteLog::inspect(folder.join("journal.sqlite"));
                let log = log.unwrap();
                log.check().unwrap();
                for listed in log.journals().unwrap() {
                    log.read_each(listed.journal, 1, |_| ()).unwrap();
                }
            }
        }
    }
}
