//! Subcommand `garrick journal`.

mod bar;
#[cfg(feature = "sqlite")]
mod database;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, Table, presets};
use garrick_actor::files::Folder;
use garrick_journal::{Event, JournalError, Opened, Options, SegmentLog};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use bar::Bar;

/// Maximum number of bytes of an event that `show` prints.
const SHOWN_BYTES: usize = 32;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the journals, with the sequence numbers of their oldest and newest events. Another
    /// process may use the journals meanwhile.
    Ls(Place),
    /// Print the events of a journal. Another process may use the journal meanwhile.
    Show(Show),
    /// Read all events and saved states, and check them for damage.
    Verify(Place),
    /// Remove the oldest files of the log, and copy those of their events that are still needed. No
    /// other process may have opened the log. A database needs no compaction.
    Compact(Compact),
}

#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Folder of the log, or the file of a log in an SQLite database.
    #[arg(value_name = "PLACE")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    place: Place,

    /// Name of the journal.
    #[arg(value_name = "NAME")]
    name: String,

    /// Sequence number of the first event to print. Events that a saved state covers cannot be
    /// printed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    place: Place,

    /// Remove a file only if at most this number of its events must be copied.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    events: u64,
}

/// Runs a command, and prints its result.
pub(crate) fn run(command: &Command) -> Result<Ended> {
    // A log in segments is a folder.
    if command.place().is_file() {
        #[cfg(feature = "sqlite")]
        return database::run(command);
        #[cfg(not(feature = "sqlite"))]
        return Ok(refuse(command.place()));
    }
    match command {
        Command::Ls(place) => ls(place),
        Command::Show(show) => self::show(show),
        Command::Verify(place) => verify(place),
        Command::Compact(arguments) => compact(arguments),
    }
}

impl Command {
    /// Returns the path of the log.
    fn place(&self) -> &Path {
        match self {
            Self::Ls(place) | Self::Verify(place) => &place.folder,
            Self::Show(show) => &show.place.folder,
            Self::Compact(compact) => &compact.place.folder,
        }
    }
}

fn files(folder: &Path) -> Result<Arc<Folder>> {
    let opened = Folder::open(folder);
    let opened = opened.map_err(|error| format!("cannot open {}: {error}", folder.display()))?;
    Ok(Arc::new(opened))
}

/// Returns options that show a progress bar on a terminal while a large log is read.
fn options() -> Options {
    let bar = Bar::new();
    Options::new().progress(move |progress| bar.show(progress))
}

/// Returns the error for the path of a file. This build does not contain SQLite, so it cannot read
/// a log in a file.
#[cfg(not(feature = "sqlite"))]
fn refuse(file: &Path) -> Ended {
    let file = file.display();
    Ended::Refused(format!(
        "{file} is a file, and this build only reads folders. If it is an SQLite database, build \
         `garrick` with the feature `sqlite`, or query it: sqlite3 {file} \"SELECT name, number, \
         tag, payload FROM events JOIN journals ON id = journal\""
    ))
}

/// Reads the log in a folder. Returns a message for the user if the folder contains no log.
fn inspect(place: &Place) -> Result<std::result::Result<(SegmentLog, Opened), Ended>> {
    let (log, opened) = options().inspect(files(&place.folder)?)?;
    if log.segments() == 0 {
        let folder = place.folder.display();
        return Ok(Err(Ended::Refused(format!("there is no log in {folder}"))));
    }
    Ok(Ok((log, opened)))
}

/// Returns an additional line of output if the last group of events in the log is incomplete
/// (torn). Otherwise returns an empty string.
fn torn(opened: &Opened) -> String {
    opened.torn.as_ref().map_or_else(String::new, |torn| {
        format!(
            "\nThe last {} bytes of {} are an incomplete group. If it was being written when the \
             process or the machine ended, it was never acknowledged. If the disk has damaged it, \
             it may have been.",
            torn.bytes, torn.file
        )
    })
}

fn ls(place: &Place) -> Result<Ended> {
    let (log, opened) = match inspect(place)? {
        Ok(read) => read,
        Err(ended) => return Ok(ended),
    };
    let rows = log.journals().map(|(journal, name)| {
        let (oldest, newest) = (log.oldest(journal), log.newest(journal));
        (name, oldest, newest)
    });
    print(&format!(
        "{}, {} bytes in {} files{}",
        list(rows),
        log.bytes(),
        log.segments(),
        torn(&opened)
    ));
    Ok(Ended::Well)
}

/// Returns a table with the sequence numbers of the oldest and the newest event of each journal.
/// The last line contains the number of journals.
fn list<'n>(journals: impl Iterator<Item = (&'n str, u64, u64)>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["JOURNAL", "OLDEST EVENT", "NEWEST EVENT"]);
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut count = 0;
    for (name, oldest, newest) in journals {
        let oldest = if oldest > newest {
            "saved".to_owned()
        } else {
            oldest.to_string()
        };
        table.add_row([name.to_owned(), oldest, newest.to_string()]);
        count += 1;
    }
    format!("{table}\n{count} journals")
}

fn show(show: &Show) -> Result<Ended> {
    let (mut log, _) = match inspect(&show.place)? {
        Ok(read) => read,
        Err(ended) => return Ok(ended),
    };
    let Some(journal) = log.find(&show.name) else {
        return Ok(unknown(show));
    };
    let from = first(show, log.oldest(journal));
    log.read(journal, from, print_event)?;
    Ok(Ended::Well)
}

/// Returns the error for a journal that does not exist.
fn unknown(show: &Show) -> Ended {
    let (name, place) = (&show.name, show.place.folder.display());
    Ended::Refused(format!(
        "there is no journal {name:?} in {place}: `garrick journal ls` lists them"
    ))
}

/// Returns the sequence number of the first event to print. If earlier events were requested,
/// prints the reason why these events are missing.
fn first(show: &Show, oldest: u64) -> u64 {
    let from = show.from.max(oldest);
    // The first event has the number 1.
    if from > show.from.max(1) {
        print(&format!(
            "The events before {from} are covered by a saved state."
        ));
    }
    from
}

fn print_event(event: Event<'_>) {
    let (tag, version) = (event.kind.tag, event.kind.version);
    let (number, length) = (event.number, event.payload.len());
    let content = content(event.payload);
    print(&format!(
        "{number}  {tag}.{version}  {length} bytes  {content}"
    ));
}

/// Returns the beginning of an event as text, or as hexadecimal digits if it is not text.
fn content(payload: &[u8]) -> String {
    let (shown, is_cut) = match payload.get(..SHOWN_BYTES) {
        Some(shown) if payload.len() > SHOWN_BYTES => (shown, true),
        _ => (payload, false),
    };
    let text = match str::from_utf8(shown) {
        Ok(text) => Some(text),
        // The last character is cut off as a whole.
        Err(error) if is_cut && error.error_len().is_none() => {
            str::from_utf8(&shown[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let is_text = |text: &&str| !text.chars().any(char::is_control);
    let mut content = match text.filter(is_text) {
        Some(text) => format!("{text:?}"),
        None => shown.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }),
    };
    if is_cut {
        content.push_str("..");
    }
    content
}

fn verify(place: &Place) -> Result<Ended> {
    let (mut log, opened) = match inspect(place)? {
        Ok(read) => read,
        Err(ended) => return Ok(ended),
    };
    let journals: Vec<_> = log.journals().map(|(journal, _)| journal).collect();
    let (mut events, mut saved, mut flaws) = (0_u64, 0_u64, Flaws::default());
    for notice in log.take_notices() {
        flaws.add(&notice);
    }
    for &journal in &journals {
        saved += log.check_saved(journal, |error| flaws.add(&error));
        log.read(journal, 1, |_| events += 1)?;
    }
    let whole = whole(journals.len(), events, saved);
    print(&format!("{whole}{}", torn(&opened)));
    Ok(flaws.ended())
}

/// The unreadable saved states of a log.
#[derive(Default)]
struct Flaws {
    count: u64,
    /// Error text of the first unreadable saved state.
    first: String,
}

impl Flaws {
    fn add(&mut self, error: &JournalError) {
        if self.count == 0 {
            self.first = error.to_string();
        }
        self.count += 1;
    }

    /// Returns an error if there are unreadable saved states.
    fn ended(self) -> Ended {
        let Self { count, first } = self;
        match count {
            0 => Ended::Well,
            _ => Ended::Wrong(format!(
                "{count} saved states cannot be used. The first: {first}"
            )),
        }
    }
}

/// Returns the line that is printed for a log without damage.
fn whole(journals: usize, events: u64, saved: u64) -> String {
    format!(
        "{journals} journals with {events} events and {saved} saved states are as they were written."
    )
}

fn compact(arguments: &Compact) -> Result<Ended> {
    let files = files(&arguments.place.folder)?;
    // Opening a folder without a log would create one.
    if let Err(ended) = inspect(&arguments.place)? {
        return Ok(ended);
    }
    let (mut log, opened) = options().open(files)?;
    let before = log.bytes();
    log.compact(arguments.events)?;
    print(&format!(
        "{before} bytes before, {} bytes in {} files now{}",
        log.bytes(),
        log.segments(),
        torn(&opened)
    ));
    Ok(Ended::Well)
}
