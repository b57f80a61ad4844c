//! Conversion of SQLite's errors into errors of a log.

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::JournalError;

/// Known facts about a transaction whose commit has returned an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// No part of the transaction is in the database.
    Absent,
    /// The transaction may be in the database now, or may be there after the database is opened
    /// again.
    Unknown,
}

/// Returns what is known about a transaction whose commit has failed.
///
/// A commit writes frames to SQLite's write-ahead log, then syncs this log, and then adds the
/// frames to the index in memory. The last frame has a mark, which ends the transaction. An error
/// while the frames are written leaves no mark. After a later error, the log may contain the mark,
/// and the next opening may find it. In particular, after a failed sync it is not known what is
/// durable. SQLite itself would write and sync again, as if the failed sync had lost nothing.
pub(super) fn fate_of_commit(error: &Error) -> Fate {
    let failed_write = match error.sqlite_error() {
        Some(error) if error.code == ErrorCode::DiskFull => true,
        Some(error) => matches!(
            error.extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_BUSY
        ),
        None => false,
    };
    if failed_write {
        Fate::Absent
    } else {
        Fate::Unknown
    }
}

/// Returns an error of SQLite as an error of a log.
pub(super) fn engine(doing: &'static str, file: &str, error: Error) -> JournalError {
    let file = file.to_owned();
    let is_full = error.sqlite_error().is_some_and(|error| {
        // The index in shared memory is a file, too, and there is no other reason for the second.
        error.code == ErrorCode::DiskFull || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    });
    if is_full {
        return JournalError::Full { file };
    }
    JournalError::Engine {
        doing,
        file,
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Error, ffi};

    use super::{Fate, engine, fate_of_commit};
    use crate::JournalError;

    fn failure(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn only_a_failed_write_leaves_nothing() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_BUSY] {
            assert_eq!(fate_of_commit(&failure(code)), Fate::Absent, "{code}");
        }
        let unknown = [
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_DIR_FSYNC,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_SHMMAP,
            ffi::SQLITE_NOMEM,
            ffi::SQLITE_CORRUPT,
        ];
        for code in unknown {
            assert_eq!(fate_of_commit(&failure(code)), Fate::Unknown, "{code}");
        }
        assert_eq!(fate_of_commit(&Error::InvalidQuery), Fate::Unknown);
    }

    #[test]
    fn a_full_disk_has_its_own_error() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let error = engine("write", "a", failure(code));
            assert!(matches!(error, JournalError::Full { .. }), "{error}");
        }
        let error = engine("write", "a", failure(ffi::SQLITE_IOERR_READ));
        assert_eq!(error.to_string(), "cannot write \"a\"");
        assert!(std::error::Error::source(&error).is_some());
    }
}
