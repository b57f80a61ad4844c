//! Subcommand `garrick journal`.

mod bar;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, Table, presets};
use garrick_actor::files::Folder;
use garrick_journal::{Opened, Options, SegmentLog};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use bar::Bar;

/// Maximum number of bytes of an event that `show` prints.
const SHOWN_BYTES: usize = 32;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the journals with their events. Another process may have opened them.
    Ls(Place),
    /// Print the events of a journal. Another process may have opened it.
    Show(Show),
    /// Read everything, and check that it is as it was written.
    Verify(Place),
    /// Remove the oldest files of the log, and copy those of their events that are still needed. No
    /// other process may have opened the log.
    Compact(Compact),
}

#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Folder of the log.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    place: Place,

    /// Name of the journal.
    #[arg(value_name = "NAME")]
    name: String,

    /// Number of the first event. Events that a saved state covers cannot be printed.
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
    match command {
        Command::Ls(place) => ls(place),
        Command::Show(show) => self::show(show),
        Command::Verify(place) => verify(place),
        Command::Compact(arguments) => compact(arguments),
    }
}

fn files(folder: &Path) -> Result<Arc<Folder>> {
    Ok(Arc::new(Folder::open(folder)?))
}

/// Returns options with which the reading of a large log shows a bar on a terminal.
fn options() -> Options {
    let bar = Bar::new();
    Options::new().progress(move |progress| bar.show(progress))
}

/// Reads the log in a folder. Returns an end if there is none.
fn inspect(place: &Place) -> Result<std::result::Result<(SegmentLog, Opened), Ended>> {
    let (log, opened) = options().inspect(files(&place.folder)?)?;
    if log.segments() == 0 {
        let folder = place.folder.display();
        return Ok(Err(Ended::Refused(format!("there is no log in {folder}"))));
    }
    Ok(Ok((log, opened)))
}

/// Returns a further line about the end of the log, if it is torn.
fn torn(opened: &Opened) -> String {
    opened.torn.as_ref().map_or_else(String::new, |torn| {
        format!(
            "\nThe last {} bytes of {} are an incomplete group, which was never acknowledged.",
            torn.bytes, torn.file
        )
    })
}

fn ls(place: &Place) -> Result<Ended> {
    let (log, opened) = match inspect(place)? {
        Ok(read) => read,
        Err(ended) => return Ok(ended),
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["JOURNAL", "OLDEST EVENT", "NEWEST EVENT"]);
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut count = 0;
    for (journal, name) in log.journals() {
        let (oldest, newest) = (log.oldest(journal), log.newest(journal));
        let oldest = if oldest > newest {
            "saved".to_owned()
        } else {
            oldest.to_string()
        };
        table.add_row([name.to_owned(), oldest, newest.to_string()]);
        count += 1;
    }
    print(&format!(
        "{table}\n{count} journals, {} bytes in {} files{}",
        log.bytes(),
        log.segments(),
        torn(&opened)
    ));
    Ok(Ended::Well)
}

fn show(show: &Show) -> Result<Ended> {
    let (mut log, _) = match inspect(&show.place)? {
        Ok(read) => read,
        Err(ended) => return Ok(ended),
    };
    let Some(journal) = log.find(&show.name) else {
        let (name, folder) = (&show.name, show.place.folder.display());
        let text =
            format!("there is no journal {name:?} in {folder}: `garrick journal ls` lists them");
        return Ok(Ended::Refused(text));
    };
    let from = show.from.max(log.oldest(journal));
    if from > show.from {
        print(&format!(
            "The events before {from} are covered by a saved state."
        ));
    }
    log.read(journal, from, |event| {
        let (tag, version) = (event.kind.tag, event.kind.version);
        let (number, length) = (event.number, event.payload.len());
        let content = content(event.payload);
        print(&format!(
            "{number}  {tag}.{version}  {length} bytes  {content}"
        ));
    })?;
    Ok(Ended::Well)
}

/// Returns the beginning of an event as text, or as hexadecimal digits if it is no text.
fn content(payload: &[u8]) -> String {
    let (shown, is_cut) = match payload.get(..SHOWN_BYTES) {
        Some(shown) if payload.len() > SHOWN_BYTES => (shown, true),
        _ => (payload, false),
    };
    let is_text = |text: &&str| !text.chars().any(char::is_control);
    let mut content = match str::from_utf8(shown).ok().filter(is_text) {
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
    let (mut events, mut saved) = (0_u64, 0_u64);
    for &journal in &journals {
        saved += u64::from(log.snapshot(journal)?.is_some());
        log.read(journal, 1, |_| events += 1)?;
    }
    let notices = log.take_notices();
    print(&format!(
        "{} journals with {events} events and {saved} saved states are as they were written.{}",
        journals.len(),
        torn(&opened)
    ));
    if let Some(notice) = notices.first() {
        let text = format!(
            "{} saved states cannot be read. The first: {notice}",
            notices.len()
        );
        return Ok(Ended::Wrong(text));
    }
    Ok(Ended::Well)
}

fn compact(arguments: &Compact) -> Result<Ended> {
    let files = files(&arguments.place.folder)?;
    // Opening a folder without a log would create one.
    if let Err(ended) = inspect(&arguments.place)? {
        return Ok(ended);
    }
    let (mut log, _) = options().open(files)?;
    let before = log.bytes();
    log.compact(arguments.events)?;
    print(&format!(
        "{before} bytes before, {} bytes in {} files now",
        log.bytes(),
        log.segments()
    ));
    Ok(Ended::Well)
}
