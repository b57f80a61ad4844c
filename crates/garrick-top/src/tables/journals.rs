//! The table of the journals of durable actors.

use garrick_telemetry::{JournalPhase, JournalStatus};

use super::{Column, Row, figure, text_column};
use crate::values::{Mark, Value};

/// Columns of the table of journals. On a narrow screen, the columns that show trouble are dropped
/// last.
pub(super) static COLUMNS: &[Column] = &[
    text_column("JOURNAL", 12, 0),
    text_column("PHASE", 9, 2),
    figure("TURNS/S", 8, 0),
    figure("WAITING", 8, 1),
    figure("OLDEST", 8, 1),
    figure("FAILED", 7, 2),
    figure("GROUPS/S", 9, 3),
    figure("GROUP", 8, 3),
    figure("DISK", 6, 4),
    figure("BYTES/S", 8, 5),
    figure("ENTITIES", 9, 5),
    figure("SIZE", 10, 6),
    figure("NOTICES", 8, 6),
    figure("TURNS", 8, 7),
    figure("EVENTS", 8, 7),
    figure("SYNCS", 8, 8),
    figure("LOADS", 7, 8),
];

/// Returns the word for the phase of a journal.
pub(crate) const fn word(phase: JournalPhase) -> &'static str {
    match phase {
        JournalPhase::New => "new",
        JournalPhase::Opening => "opening",
        JournalPhase::Open => "open",
        JournalPhase::Broken => "broken",
        JournalPhase::Closed => "closed",
        JournalPhase::Failed => "failed",
    }
}

pub(super) fn row(journal: &JournalStatus) -> Row {
    let mark = match journal.phase {
        JournalPhase::Broken | JournalPhase::Failed => Mark::Failed,
        JournalPhase::Closed => Mark::Ended,
        JournalPhase::New | JournalPhase::Opening | JournalPhase::Open => Mark::from(journal.level),
    };
    let oldest = Some(journal.oldest_wait_seconds).filter(|oldest| *oldest > 0.0);
    Row {
        id: journal.id.clone(),
        mark,
        values: vec![
            Value::text(&journal.name),
            Value::text(word(journal.phase)),
            Value::Rate(journal.turn_rate),
            Value::Count(journal.waiting_turns),
            Value::time(oldest),
            Value::Count(journal.failed_groups),
            Value::Rate(journal.group_rate),
            Value::time(journal.group_seconds),
            Value::share(journal.writing),
            Value::Rate(journal.written_rate),
            Value::Count(journal.entities),
            Value::Bytes(journal.size_bytes),
            Value::Count(journal.notices),
            Value::Count(journal.turns),
            Value::Count(journal.events),
            Value::Count(journal.syncs),
            Value::Count(journal.recoveries),
        ],
    }
}
