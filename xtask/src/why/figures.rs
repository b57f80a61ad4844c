//! The figures of the README, extracted from the output of `garrick-rivals`.

use anyhow::{Context, Result};
use serde_json::Value;

/// The contenders in the order of the table, with their titles.
pub(super) const CONTENDERS: &[(&str, &str)] = &[
    ("garrick", "Garrick"),
    ("actix", "actix"),
    ("kameo", "kameo"),
    ("ractor", "ractor"),
    ("tokio", "tokio tasks"),
];

/// A row of the table: an operation with a figure for each contender.
pub(super) struct Row {
    pub(super) title: &'static str,
    /// Unit of the figures: nanoseconds, bytes, or microseconds.
    pub(super) unit: &'static str,
    /// Figures of the contenders, in the order of [`CONTENDERS`]. `None` for contenders that were
    /// not measured.
    pub(super) figures: Vec<Option<f64>>,
}

/// All figures that the README shows.
pub(super) struct Figures {
    pub(super) rows: Vec<Row>,
    /// Machine, compiler and commit.
    origin: String,
}

impl Figures {
    /// Reads the JSON of the scenarios and the text of the study of latencies.
    pub(super) fn of(json: &str, tail: &str) -> Result<Self> {
        let report: Value = serde_json::from_str(json)?;
        let all = report["rows"].as_array().context("no rows")?;
        let row = |title, unit, scenario: &str, figure: &dyn Fn(&Value) -> Option<f64>| {
            let of = |(name, _): &(&str, &str)| {
                let rows = all.iter();
                let mut rows = rows.filter(|row| {
                    row["scenario"] == scenario
                        && row["contender"] == *name
                        && row["params"].get("bound").is_none()
                });
                rows.find_map(figure)
            };
            Row {
                title,
                unit,
                figures: CONTENDERS.iter().map(of).collect(),
            }
        };
        let cpu = |row: &Value| row["cpu"]["median"].as_f64();
        let bytes = |row: &Value| row["bytes_per_actor"].as_f64();
        let late = |(name, _): &(&str, &str)| p99(tail, name);
        let rows = vec![
            row("a message, sent and handled", "ns", "tell", &cpu),
            row("a question and its answer", "ns", "ask", &cpu),
            row(
                "an actor that is spawned, handles one message and stops",
                "ns",
                "spawn",
                &cpu,
            ),
            row("memory of an idle actor", "bytes", "idle-memory", &bytes),
            Row {
                title: "p99 latency of a message while another actor blocks",
                unit: "us",
                figures: CONTENDERS.iter().map(late).collect(),
            },
        ];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let machine = &report["machine"];
        let origin = format!(
            "{}, {} cores, {}; {}; commit {}",
            text(&machine["cpu"]),
            machine["cores"],
            text(&machine["system"]),
            text(&machine["compiler"]),
            text(&report["commit"])
        );
        Ok(Self { rows, origin })
    }

    /// Returns the number of figures.
    pub(super) fn count(&self) -> usize {
        let rows = self.rows.iter();
        rows.map(|row| row.figures.iter().flatten().count()).sum()
    }

    /// Returns the table as Markdown, with the chart above it and the origin below.
    pub(super) fn table(&self) -> String {
        let mut lines = vec![
            "<picture>".to_owned(),
            "  <source media=\"(prefers-color-scheme: dark)\" srcset=\"docs/images/why-dark.svg\">".to_owned(),
            "  <img alt=\"Bars: CPU time of a message, an ask and a spawn, memory of an actor, and latency, for each library\" src=\"docs/images/why-light.svg\">".to_owned(),
            "</picture>".to_owned(),
            String::new(),
        ];
        let titles: Vec<&str> = CONTENDERS.iter().map(|(_, title)| *title).collect();
        lines.push(format!("| | {} |", titles.join(" | ")));
        lines.push(format!("| --- |{}", " ---: |".repeat(titles.len())));
        for row in &self.rows {
            let cells: Vec<String> = row
                .figures
                .iter()
                .map(|figure| figure.map_or("-".to_owned(), |figure| shown(figure, row.unit)))
                .collect();
            lines.push(format!("| {} | {} |", row.title, cells.join(" | ")));
        }
        lines.push(String::new());
        lines.push(format!(
            "One run of `cargo xtask why`: {}.\n\
             All libraries are built with `lto = \"fat\"` and `codegen-units = 1`. The times are medians of CPU time. The memory is\n\
             resident memory, and includes 8 bytes of the actor's own state. In the last row, a thread sends 10,000 messages a\n\
             second to 1,000 actors on 2 workers, and one of the actors blocks half of the time. The latency is that of messages to\n\
             the other actors. If they do not wait for the actor that blocks, it is mostly the time that a sleeping thread takes to\n\
             wake.",
            self.origin
        ));
        lines.join("\n") + "\n"
    }
}

/// Returns the 99th percentile of a contender's latencies in microseconds, from the table `tail`.
/// The contender has 2 workers, and another actor sleeps during the measurement.
fn p99(tail: &str, contender: &str) -> Option<f64> {
    tail.lines().find_map(|line| {
        let cells: Vec<&str> = line.split(['│', '┆', '|']).map(str::trim).collect();
        let [_, beside, workers, name, _, p99, ..] = cells[..] else {
            return None;
        };
        let is_it = beside.starts_with("one sleeps") && workers == "2" && name == contender;
        is_it.then(|| microseconds(p99)).flatten()
    })
}

/// Parses a time such as `1.2ms`.
fn microseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(char::is_alphabetic)?);
    let factor = match unit {
        "ns" => 0.001,
        "µs" => 1.0,
        "ms" => 1_000.0,
        "s" => 1_000_000.0,
        _ => return None,
    };
    number
        .trim()
        .parse::<f64>()
        .ok()
        .map(|number| number * factor)
}

/// Returns a figure with its unit.
pub(super) fn shown(figure: f64, unit: &str) -> String {
    let (figure, unit) = match unit {
        "us" if figure >= 1_000.0 => (figure / 1_000.0, "ms"),
        "ns" if figure >= 1_000.0 => (figure / 1_000.0, "us"),
        "bytes" if figure >= 10_000.0 => (figure / 1_000.0, "kB"),
        _ => (figure, unit),
    };
    let digits = usize::from(figure < 100.0) + usize::from(figure < 10.0);
    format!("{figure:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"machine": {"cpu": "a machine", "cores": 2, "system": "linux", "compiler": "rustc"}, "commit": "abc", "rows": [
        {"scenario": "tell", "contender": "garrick", "params": {"bound": 9}, "cpu": {"median": 99.0}},
        {"scenario": "tell", "contender": "garrick", "params": {}, "cpu": {"median": 5.25}},
        {"scenario": "tell", "contender": "actix", "params": {}, "cpu": {"median": 1250.0}},
        {"scenario": "idle-memory", "contender": "garrick", "params": {}, "cpu": {"median": 1.0}, "bytes_per_actor": 40.2}
    ]}"#;
    const TAIL: &str = "│ one sleeps 50 ms of 100 ┆ 2 ┆ garrick ┆ 9.0µs ┆ 1.5ms ┆ 2.0ms │\n\
                        │ one sleeps 50 ms of 100 ┆ 4 ┆ actix ┆ 9.0µs ┆ 1.5ms ┆ 2.0ms │";

    #[test]
    fn figures_are_found_and_shown() {
        let figures = Figures::of(JSON, TAIL).unwrap();
        assert_eq!(figures.count(), 4);
        let table = figures.table();
        for line in [
            "| a message, sent and handled | 5.25 ns | 1.25 us | - | - | - |",
            "| memory of an idle actor | 40.2 bytes | - | - | - | - |",
            "| p99 latency of a message while another actor blocks | 1.50 ms | - | - | - | - |",
            "a machine, 2 cores, linux; rustc; commit abc.",
        ] {
            assert!(table.contains(line), "{line} is not in {table}");
        }
    }
}
