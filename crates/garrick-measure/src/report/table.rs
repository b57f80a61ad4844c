//! Tables in plain text, for people to read.

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::row::Row;
use crate::statistics::Summary;
use crate::units;

use super::Report;

/// Heading of a column. The second field is true if the column contains figures.
pub(super) type Column = (String, bool);

/// Text that marks an unreliable row.
pub(super) const DOUBT: &str = "~";

impl Report {
    /// Returns a text with a table of all rows. Below the table, the text lists the reasons to
    /// doubt some of the figures, if there are any. Then the text names the machine, the compiler
    /// and the commit. At the end are the tables of the suites.
    pub fn table(&self) -> String {
        let columns = columns(&self.rows);
        let rows = self.rows.iter().map(|row| cells(row, &columns));
        let mut text = in_columns(&columns, rows);
        text.push_str(
            "\n\nThe times are medians of the time of one operation. The column '95 % sure' \
             contains the true median with 95 % certainty. The column 'x rmw' is CPU time in units \
             of one atomic addition measured at the same time.\n",
        );
        for (of, doubt) in doubts(&self.rows) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{DOUBT} {of}: {doubt}");
        }
        text.push_str(&self.provenance());
        text.push('\n');
        for suite in &self.suites {
            text.push('\n');
            text.push_str(&suite.table());
        }
        if cfg!(debug_assertions) {
            text.push_str("Built with debug assertions: these figures mean nothing.\n");
        }
        text
    }
}

/// Writes lines of cells below the headings of their columns.
pub(super) fn in_columns(
    columns: &[Column],
    lines: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heads = columns.iter();
    table.set_header(heads.map(|(name, figures)| aligned(name, *figures)));
    for cells in lines {
        let cells = cells.iter().zip(columns);
        table.add_row(cells.map(|(text, (_, figures))| aligned(text, *figures)));
    }
    table.trim_fmt()
}

/// Returns the columns for these rows. A column for the reference, the contender with which the
/// others are compared, is included only if there is a reference.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let relative = rows.iter().find_map(|row| row.to_reference.as_ref());
    let relative = relative.map(|relative| format!("x {}", relative.contender));
    let column = |(name, figures): (&str, bool)| (name.to_owned(), figures);
    let mut columns: Vec<Column> = [
        ("scenario", false),
        ("contender", false),
        ("CPU an op", true),
        ("95 % sure", true),
        ("min .. max", true),
        ("x rmw", true),
    ]
    .map(column)
    .into();
    columns.extend(relative.map(|name| (name, true)));
    columns.extend(
        [
            ("wall an op", true),
            ("wall max", true),
            ("ops/s", true),
            ("bytes", true),
        ]
        .map(column),
    );
    columns
}

/// Returns a row's cells, one for each of `columns`.
pub(super) fn cells(row: &Row, columns: &[Column]) -> Vec<String> {
    let Summary {
        median, min, max, ..
    } = row.cpu;
    let mark = if row.doubts.is_empty() { "" } else { DOUBT };
    let interval = row.cpu.interval;
    let relative = row.to_reference.as_ref();
    let cell = |(name, _): &Column| match name.as_str() {
        "scenario" => row.scenario.clone(),
        "contender" => format!("{}{mark}", row.label()),
        "CPU an op" => units::time(median),
        "95 % sure" => interval.map_or(String::new(), |of| units::times(of.low, of.high)),
        "min .. max" => units::times(min, max),
        "x rmw" => format!("{:.2}", row.ratio_to_rmw),
        "wall an op" => units::time(row.wall.median),
        "wall max" => units::time(row.wall.max),
        "ops/s" => units::rate(row.ops_per_s),
        "bytes" => row
            .bytes_per_actor
            .map_or(String::new(), |bytes| format!("{bytes:.1}")),
        _ => relative.map_or(String::new(), |relative| {
            format!("{:.2}", relative.ratio.median)
        }),
    };
    columns.iter().map(cell).collect()
}

/// Returns the reasons to doubt figures. Each entry consists of a text that names the affected
/// rows, and of the reason. Each kind of reason has one entry per scenario, which contains the
/// reason of the first affected row.
pub(super) fn doubts(rows: &[Row]) -> Vec<(String, String)> {
    let mut kinds: Vec<(&Row, &str, usize)> = Vec::new();
    for row in rows {
        for doubt in &row.doubts {
            let like = |(first, said, _): &&mut (&Row, &str, usize)| {
                first.scenario == row.scenario && kind(said) == kind(doubt)
            };
            match kinds.iter_mut().find(like) {
                Some((_, _, count)) => *count += 1,
                None => kinds.push((row, doubt, 1)),
            }
        }
    }
    let said = |(first, doubt, count): (&Row, &str, usize)| {
        let scenario = &first.scenario;
        let all = rows.iter().filter(|row| row.scenario == *scenario).count();
        let of = match count {
            1 => format!("{scenario} {}", first.label()),
            count => format!("{scenario}, {count} of {all} rows"),
        };
        (of, doubt.to_owned())
    };
    kinds.into_iter().map(said).collect()
}

/// Returns the kind of a reason to doubt: the text before the reason's colon.
fn kind(doubt: &str) -> &str {
    doubt.split_once(':').map_or(doubt, |(kind, _)| kind)
}

fn aligned(text: &str, figures: bool) -> Cell {
    let alignment = if figures {
        CellAlignment::Right
    } else {
        CellAlignment::Left
    };
    Cell::new(text).set_alignment(alignment)
}
