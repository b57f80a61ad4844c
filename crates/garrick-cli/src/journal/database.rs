//! Logs in SQLite databases.

use garrick_journal::{Log, SqliteLog};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use super::{Command, Flaws, Show, first, list, print_event, unknown, whole};

/// Runs a command on a log in a database, and prints its result.
pub(super) fn run(command: &Command) -> Result<Ended> {
    let log = SqliteLog::inspect(command.place())?;
    match command {
        Command::Ls(_) => ls(&log),
        Command::Show(show) => self::show(&log, show),
        Command::Verify(_) => verify(&log),
        Command::Compact(_) => {
            let place = command.place().display();
            Ok(Ended::Refused(format!(
                "a log in a database needs no compaction: the space of removed events is used \
                 again. To make the file smaller, end the program and run `sqlite3 {place} VACUUM`"
            )))
        }
    }
}

fn ls(log: &SqliteLog) -> Result<Ended> {
    let journals = log.journals()?;
    let rows = journals.iter();
    let rows = rows.map(|listed| (&*listed.name, listed.oldest, listed.newest));
    let sample = log.sample(true).unwrap_or_default();
    print(&format!(
        "{}, {} bytes in {} files",
        list(rows),
        sample.bytes,
        sample.files
    ));
    Ok(Ended::Well)
}

fn show(log: &SqliteLog, show: &Show) -> Result<Ended> {
    let Some(start) = log.find(&show.name)? else {
        return Ok(unknown(show));
    };
    let from = first(show, start.oldest);
    log.read_each(start.journal, from, print_event)?;
    Ok(Ended::Well)
}

fn verify(log: &SqliteLog) -> Result<Ended> {
    log.check()?;
    let journals = log.journals()?;
    let (mut events, mut saved, mut flaws) = (0_u64, 0_u64, Flaws::default());
    for listed in &journals {
        // Compares the newest event with the last one.
        log.start(&listed.name, true)?;
        saved += log.check_saved(listed.journal, |error| flaws.add(&error))?;
        log.read_each(listed.journal, 1, |_| events += 1)?;
    }
    print(&whole(journals.len(), events, saved));
    Ok(flaws.ended())
}
