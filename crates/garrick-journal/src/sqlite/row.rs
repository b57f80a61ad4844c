//! Rows of events and of saved states, with their checksums.

use rusqlite::Row;

use super::fault::engine;
use crate::error::JournalError;
use crate::event::{Event, EventKind};

/// Returns the checksum of a row. A saved state counts as an event with the whole state.
pub(super) fn checksum(journal: u64, event: Event<'_>) -> u32 {
    let mut head = [0; 21];
    head[..8].copy_from_slice(&journal.to_le_bytes());
    head[8..16].copy_from_slice(&event.number.to_le_bytes());
    head[16..18].copy_from_slice(&event.kind.tag.to_le_bytes());
    head[18..20].copy_from_slice(&event.kind.version.to_le_bytes());
    head[20] = event.is_whole.into();
    crc32c::crc32c_append(crc32c::crc32c(&head), event.payload)
}

/// Returns the event of a row with the columns `number`, `tag`, `version`, `whole`, `payload` and
/// `checksum`.
///
/// # Errors
/// Returns [`JournalError::DamagedRow`] if the row differs from what was written. `what` describes
/// the kind of the row.
pub(super) fn event_of<'r>(
    file: &str,
    what: &str,
    journal: u64,
    row: &'r Row<'_>,
) -> Result<Event<'r>, JournalError> {
    let failed = |error| engine("read", file, error);
    let number: i64 = row.get(0).map_err(failed)?;
    let damaged = |why: &str| JournalError::DamagedRow {
        file: file.to_owned(),
        row: format!("{what} {number} of the journal number {journal}"),
        why: why.to_owned(),
    };
    let out_of_range = |_| damaged("a value is not of its type");
    let event = Event {
        number: row.get(0).map_err(out_of_range)?,
        kind: EventKind {
            tag: row.get(1).map_err(out_of_range)?,
            version: row.get(2).map_err(out_of_range)?,
        },
        is_whole: match row.get(3).map_err(out_of_range)? {
            0 => false,
            1 => true,
            _ => return Err(damaged("a value is not of its type")),
        },
        payload: row
            .get_ref(4)
            .map_err(out_of_range)?
            .as_blob()
            .map_err(|_| damaged("its payload is no blob"))?,
    };
    let expected: u32 = row.get(5).map_err(out_of_range)?;
    if checksum(journal, event) != expected {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(event)
}
