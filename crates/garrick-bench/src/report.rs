//! Rows as a table for people and as JSON for programs.

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::harness::Row;
use crate::machine::{COMMIT, Machine};
use crate::statistics::Summary;
use crate::units;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    /// Where it was measured.
    machine: Machine,
    /// What was measured.
    commit: &'static str,
    /// What came out.
    rows: Vec<Row>,
}

/// The table's head, and whether figures stand under it.
const COLUMNS: [(&str, bool); 9] = [
    ("scenario", false),
    ("contender", false),
    ("CPU an op", true),
    ("min .. max", true),
    ("x rmw", true),
    ("wall an op", true),
    ("wall max", true),
    ("ops/s", true),
    ("bytes", true),
];

impl Report {
    /// Rows that were measured on this machine by this command.
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self {
            machine: Machine::this(),
            commit: COMMIT,
            rows,
        }
    }

    /// The text of a JSON file.
    pub(crate) fn json(&self) -> String {
        let json =
            serde_json::to_string_pretty(self).expect("names are strings, figures are finite");
        json + "\n"
    }

    /// A table, with where it comes from below it.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(COLUMNS.map(|(name, figures)| aligned(name.to_owned(), figures)));
        for row in &self.rows {
            let cells = cells(row).into_iter().zip(COLUMNS);
            table.add_row(cells.map(|(text, (_, figures))| aligned(text, figures)));
        }
        let mut text = table.trim_fmt();
        let machine = &self.machine;
        let _ = write!(
            text,
            "\n\nMedians of each operation's time; x rmw is CPU time in units of one atomic addition just then.\n\
             {machine}\n"
        );
        if cfg!(debug_assertions) {
            text.push_str("Built with debug assertions: these figures mean nothing.\n");
        }
        text
    }
}

fn cells(row: &Row) -> [String; 9] {
    let Summary { median, min, max } = row.cpu;
    [
        row.scenario.to_owned(),
        contender(row.contender, &row.params),
        units::time(median),
        format!("{} .. {}", units::time(min), units::time(max)),
        format!("{:.2}", row.ratio_to_rmw),
        units::time(row.wall.median),
        units::time(row.wall.max),
        units::rate(row.ops_per_s),
        row.bytes_per_actor
            .map_or(String::new(), |bytes| format!("{bytes:.1}")),
    ]
}

fn aligned(text: String, figures: bool) -> Cell {
    let alignment = if figures {
        CellAlignment::Right
    } else {
        CellAlignment::Left
    };
    Cell::new(text).set_alignment(alignment)
}

/// A contender and what distinguishes it from others of its name.
fn contender(name: &str, params: &Map<String, Value>) -> String {
    let mut text = name.to_owned();
    for (key, value) in params {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_u64().map_or(number.to_string(), units::whole),
            other => other.to_string(),
        };
        let _ = write!(text, " {key}={value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let summary = Summary::of([10.0, 12.0, 11.0]);
        Row {
            scenario: "idle-memory",
            contender: "garrick",
            params: Map::from_iter([("actors".to_owned(), Value::from(1_000_000))]),
            unit: "ns",
            cpu: summary,
            wall: summary,
            ops_per_s: 9e7,
            bytes_per_actor: Some(48.5),
            ratio_to_rmw: 1.5,
        }
    }

    /// The names in an object, sorted: whether an object keeps their order is a feature that any crate may turn on.
    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().collect();
        keys.sort();
        keys.into_iter().map(String::as_str).collect()
    }

    #[test]
    fn json_has_the_promised_shape() {
        let mut without_bytes = row();
        without_bytes.bytes_per_actor = None;
        let json = Report::new(vec![row(), without_bytes]).json();
        let parsed: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(keys(&parsed), ["commit", "machine", "rows"]);
        assert!(parsed["commit"].is_string());
        assert!(parsed["machine"]["cpu"].is_string());
        assert!(parsed["machine"]["cores"].is_u64());
        let rows = parsed["rows"].as_array().unwrap();
        assert_eq!(
            keys(&rows[0]),
            [
                "bytes_per_actor",
                "contender",
                "cpu",
                "ops_per_s",
                "params",
                "ratio_to_rmw",
                "scenario",
                "unit",
                "wall"
            ]
        );
        assert_eq!(keys(&rows[0]["cpu"]), ["max", "median", "min"]);
        assert_eq!(keys(&rows[0]["wall"]), ["max", "median", "min"]);
        assert_eq!(rows[0]["unit"], "ns");
        assert_eq!(rows[0]["cpu"]["median"], 11.0);
        assert_eq!(rows[0]["params"]["actors"], 1_000_000);
        assert_eq!(rows[0]["bytes_per_actor"], 48.5);
        assert!(rows[1]["bytes_per_actor"].is_null());
    }

    #[test]
    fn the_table_shows_figures_machine_and_commit() {
        let table = Report::new(vec![row()]).table();
        for text in [
            "idle-memory",
            "actors=1,000,000",
            "11.0 ns",
            "1.50",
            "48.5",
            COMMIT,
            "rustc",
        ] {
            assert!(table.contains(text), "{text} is missing from\n{table}");
        }
    }
}
