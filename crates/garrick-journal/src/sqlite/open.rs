//! Opening and creation of a database.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use garrick_actor::files::{Files as _, Folder, LockedFile};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::fault::engine;
use super::names::Names;
use crate::error::JournalError;

/// Application id in the header of a database, which marks it as a log: `GRKJ`.
const APPLICATION: i32 = 0x4752_4b4a;

/// Version of the tables.
const VERSION: i32 = 3;

/// The SQL statements that create the tables.
const SCHEMA: &str = include_str!("schema.sql");

/// Maximum time to wait for another program that uses the database, such as a shell.
const BUSY: Duration = Duration::from_secs(5);

/// Size in bytes to which the write-ahead log is cut after a checkpoint.
const WAL_BYTES: i64 = 64 << 20;

/// Number of bytes of the write-ahead log that are rewritten in one step.
const CHUNK_BYTES: usize = 1 << 20;

/// Value of the pragma `synchronous` with which a commit waits for a sync.
const SYNCHRONOUS_FULL: i64 = 2;

/// The path of a database.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The path as text, for error messages.
    pub(super) name: String,
}

impl Place {
    pub(super) fn new(path: &Path) -> Self {
        // SQLite follows links, too: its other files are beside the database itself.
        let resolved = fs::canonicalize(path);
        Self {
            path: resolved.unwrap_or_else(|_| path.to_owned()),
            name: path.display().to_string(),
        }
    }

    /// Returns the path of the database with `end` appended to the file name.
    fn beside(&self, end: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(end);
        path.into()
    }

    /// Returns the sizes of the database and of its write-ahead log in bytes.
    pub(super) fn sizes(&self) -> [Option<u64>; 2] {
        let size = |path: &Path| fs::metadata(path).ok().map(|file| file.len());
        [size(&self.path), size(&self.beside("-wal"))]
    }

    fn parent(&self) -> &Path {
        let parent = self.path.parent();
        let parent = parent.filter(|path| !path.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    fn disk(&self, doing: &'static str) -> impl Fn(io::Error) -> JournalError {
        move |error| JournalError::disk(doing, &self.name, error)
    }

    fn engine(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> JournalError {
        move |error| engine(doing, &self.name, error)
    }

    fn foreign(&self, why: impl Into<String>) -> JournalError {
        JournalError::Foreign {
            file: self.name.clone(),
            why: why.into(),
        }
    }
}

/// An open database.
pub(super) struct Opened {
    pub(super) writer: Connection,
    pub(super) reader: Connection,
    pub(super) names: Names,
    pub(super) lock: LockedFile,
}

/// Opens a database, or creates it. `src/README.md` describes the steps.
pub(super) fn open(place: &Place) -> Result<Opened, JournalError> {
    let folder = Folder::create(place.parent()).map_err(place.disk("open the folder of"))?;
    // The lock would be that of the link.
    if place.path.is_symlink() {
        return Err(place.foreign("it is a link to a file that does not exist"));
    }
    // Against other processes, and against this one.
    let lock = LockedFile::new(&place.beside("-lock"), "it").map_err(place.disk("lock"))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut writer = connect(place, flags)?;
    let is_new = !check(place, &writer)?;
    configure(place, &writer)?;
    if is_new {
        create(&mut writer).map_err(place.engine("create the tables of"))?;
    }
    write_again(place, &mut writer)?;
    // The names of the database and of its write-ahead log.
    folder
        .sync_names()
        .map_err(place.disk("sync the name of"))?;
    let reader = connect_to_read(place)?;
    let names = Names::read(&reader, &place.name)?;
    Ok(Opened {
        writer,
        reader,
        names,
        lock,
    })
}

/// Opens an existing database for reading.
pub(super) fn inspect(place: &Place) -> Result<(Connection, Names), JournalError> {
    // The error of SQLite would not tell that there is nothing.
    fs::metadata(&place.path).map_err(place.disk("open"))?;
    let read = |reader: Connection| {
        if !check(place, &reader)? {
            return Err(place.foreign("it is an empty database"));
        }
        let names = Names::read(&reader, &place.name)?;
        Ok((reader, names))
    };
    match connect_to_read(place).and_then(read) {
        // SQLite creates files beside the database even to read it. If nobody has the database
        // open, there is no write-ahead log, and the database is whole without these files.
        Err(error) if needs_permission(&error) && !place.beside("-wal").exists() => {
            read(connect_as_it_is(place)?)
        }
        read => read,
    }
}

/// Returns true if SQLite could not create a file that it needs to read a database.
fn needs_permission(error: &JournalError) -> bool {
    let JournalError::Engine { source, .. } = error else {
        return false;
    };
    let error = source.downcast_ref::<rusqlite::Error>();
    let code = error.and_then(rusqlite::Error::sqlite_error_code);
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Returns the path of the database as SQLite needs it: SQLite takes `:memory:` and the empty path
/// for other places.
fn path_of(place: &Place) -> Result<PathBuf, JournalError> {
    let file = (place.path.file_name())
        .ok_or_else(|| place.foreign("the path does not end with the name of a file"))?;
    Ok(place.parent().join(file))
}

/// Opens a database that nobody changes, without other files.
fn connect_as_it_is(place: &Place) -> Result<Connection, JournalError> {
    let path = path_of(place)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        if is_plain(byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).map_err(place.engine("open"))
}

fn connect(place: &Place, flags: OpenFlags) -> Result<Connection, JournalError> {
    let path = path_of(place)?;
    let connection = Connection::open_with_flags(path, flags).map_err(place.engine("open"))?;
    connection
        .busy_timeout(BUSY)
        .map_err(place.engine("open"))?;
    Ok(connection)
}

fn connect_to_read(place: &Place) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(place, flags)?;
    keep_at_close(&connection).map_err(place.engine("open"))?;
    Ok(connection)
}

/// Prevents the closing of the connection from changing the write-ahead log.
pub(super) fn keep_at_close(connection: &Connection) -> rusqlite::Result<()> {
    let kept = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(kept, true).map(|_| ())
}

/// Checks that a database is a log. Returns false if it has no tables at all.
fn check(place: &Place, connection: &Connection) -> Result<bool, JournalError> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let read = || -> rusqlite::Result<(i32, i32, i64)> {
        let tables =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, tables))
    };
    let (application, version, tables) =
        read().map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => place.foreign("it is no SQLite database"),
            _ => place.engine("open")(error),
        })?;
    match (application, version, tables) {
        (0, 0, 0) => Ok(false),
        (APPLICATION, VERSION, _) => Ok(true),
        (APPLICATION, ..) => Err(place.foreign(format!(
            "its tables have the version {version}, and this program knows the version {VERSION}"
        ))),
        _ => Err(place.foreign(format!(
            "it is the database of another program: its application_id is {application}, and \
             that of a log is {APPLICATION}"
        ))),
    }
}

/// Makes each commit wait for a sync. Checks that SQLite does so.
fn configure(place: &Place, writer: &Connection) -> Result<(), JournalError> {
    let all = [
        "journal_mode = wal",
        "synchronous = full",
        // Of all systems, only macOS has a sync that does not reach the disk.
        "fullfsync = 1",
        "checkpoint_fullfsync = 1",
        // A checkpoint in a commit would return its error as that of a commit that has succeeded.
        "wal_autocheckpoint = 0",
    ];
    let failed = place.engine("configure");
    for pragma in all {
        set(writer, pragma).map_err(&failed)?;
    }
    set(writer, &format!("journal_size_limit = {WAL_BYTES}")).map_err(&failed)?;
    let mode: String = writer
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(&failed)?;
    if mode != "wal" {
        let why = format!("it has no write-ahead log here: its journal_mode stays {mode:?}");
        return Err(place.foreign(why));
    }
    let synchronous: i64 = writer
        .pragma_query_value(None, "synchronous", |row| row.get(0))
        .map_err(&failed)?;
    if synchronous != SYNCHRONOUS_FULL {
        let why = format!("its commits are not durable: synchronous stays {synchronous}");
        return Err(place.foreign(why));
    }
    Ok(())
}

/// Sets a pragma. Reads the whole result: an error may come after the first row.
fn set(writer: &Connection, pragma: &str) -> rusqlite::Result<()> {
    let mut statement = writer.prepare(&format!("PRAGMA {pragma}"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Creates the tables of a new log.
fn create(writer: &mut Connection) -> rusqlite::Result<()> {
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Writes the unchanged content of the write-ahead log again, and syncs it. This is necessary
/// because data that can be read is not always durable: the process that wrote the data may have
/// been killed before its sync, or its sync may have failed. After a failed sync, another sync
/// alone would do nothing.
fn write_again(place: &Place, writer: &mut Connection) -> Result<(), JournalError> {
    let failed = place.engine("lock");
    // Nobody else writes meanwhile.
    let transaction = writer
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(&failed)?;
    let wal = fs::File::options()
        .read(true)
        .write(true)
        .open(place.beside("-wal"));
    match wal {
        Ok(wal) => write_file_again(&wal).map_err(place.disk("sync the write-ahead log of"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(place.disk("open the write-ahead log of")(error)),
    }
    transaction.rollback().map_err(&failed)
}

fn write_file_again(mut file: &fs::File) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    loop {
        file.seek(SeekFrom::Start(at))?;
        let length = file.read(&mut chunk)?;
        if length == 0 {
            return file.sync_all();
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&chunk[..length])?;
        at += length as u64;
    }
}
