//! Formats a snapshot of a process as plain text, without a terminal, without colours, and with all
//! digits.

use garrick_measure::units;
use garrick_telemetry::{Process, Snapshot};

use crate::tables::{Row, Tab};
use crate::text;
use crate::values::{Mark, known, span};

/// Returns all tables of `snapshot` that have rows.
pub(crate) fn page(snapshot: &Snapshot) -> String {
    let mut page = head(snapshot);
    for pipeline in &snapshot.pipelines {
        page += &format!("\n{}: {}", pipeline.name, pipeline.text);
    }
    for alert in &snapshot.alerts {
        page += &format!("\n{}: {}", Mark::from(alert.level).word(), alert.text);
    }
    for tab in Tab::ALL {
        let rows = tab.rows(snapshot);
        if !rows.is_empty() {
            page += "\n\n";
            page += &table(tab, &rows);
        }
    }
    page
}

fn head(snapshot: &Snapshot) -> String {
    let Process {
        name,
        pid,
        resident_bytes,
        cpu,
        threads,
        ..
    } = &snapshot.process;
    format!(
        "{name} (pid {pid})  up {}  CPU {}  memory {}  threads {}  window {:.0} s  alerts {}",
        span(snapshot.uptime),
        known(*cpu, |cores| format!("{cores:.2}")),
        known(*resident_bytes, units::bytes),
        known(*threads, |threads| threads.to_string()),
        snapshot.window,
        snapshot.alerts.len(),
    )
}

/// Returns rows below their titles, with each column as wide as its widest cell. The last column is
/// the mark of the row.
fn table(tab: Tab, rows: &[Row]) -> String {
    let columns = tab.columns();
    let titles = columns.iter().map(|column| column.title.to_owned());
    let mut lines = vec![(titles.collect::<Vec<_>>(), "")];
    for row in rows {
        let texts = row.values.iter().map(super::values::Value::full);
        // An alert has a separate column for its severity.
        let word = if tab == Tab::Alerts {
            ""
        } else {
            row.mark.word()
        };
        lines.push((texts.collect(), word));
    }
    let width_of = |index: usize| {
        lines
            .iter()
            .map(|(texts, _)| text::width(&texts[index]))
            .max()
    };
    let widths: Vec<_> = (0..columns.len())
        .map(|index| width_of(index).unwrap_or(0))
        .collect();
    let lines = lines.iter().map(|(texts, word)| {
        let mut line = String::new();
        for ((column, text), width) in columns.iter().zip(texts).zip(&widths) {
            line += &text::pad(text, *width, column.is_figure);
            line += "  ";
        }
        (line + word).trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_page_has_every_table_with_every_digit() {
        let page = page(&sample::snapshot());
        let lines: Vec<_> = page.lines().collect();
        assert_eq!(
            lines[0],
            "garrick (pid 4242)  up 1:02:03  CPU 1.52  memory 12.0 MiB  threads 5  window 10 s  alerts 1"
        );
        assert_eq!(
            lines[1],
            "generator \u{2192} logger: worker is the bottleneck: 93 % busy, its output is full."
        );
        assert_eq!(
            lines[2],
            "critical: messages is 97 % full, 90 % is critical"
        );
        assert_eq!(
            &lines[4..7],
            [
                "NAME       KIND    PLACE      RATE/S       MESSAGES  BUSY  STARVED  PRESSED  TURNS/S      TURNS      ALIVE  QUEUE  WAIT P99  FAILURES  RESTARTS  SLOW    TURN  AWAY",
                "generator  stage   pipeline    161 M  9,648,000,000   62%        -        -   4.89 K  1,234,567          -      -         -         0         0     0       -     -  ok",
                "worker     stage   pipeline    161 M  9,648,000,000   93%       2%       5%   4.89 K  1,234,567          -      -         -         0         0     3       -     -  warning",
            ]
        );
        for words in [
            "generator -> worker  u64",
            "logger     stage",
            "failed",
            "1:05",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
    }

    #[test]
    fn a_journal_has_a_row_with_its_phase_and_its_troubles() {
        let page = page(&sample::with_all());
        let lines = page.lines().skip_while(|line| !line.starts_with("JOURNAL"));
        let table: Vec<_> = lines.take(2).collect();
        let titles: Vec<_> = table[0].split_whitespace().take(6).collect();
        let expected = ["JOURNAL", "PHASE", "TURNS/S", "WAITING", "OLDEST", "FAILED"];
        assert_eq!(titles, expected);
        assert!(table[1].starts_with("bank     open"), "{page}");
        for text in ["250 ms", "4.00 ms", "32%", "12.0 MiB", "50,000", "critical"] {
            assert!(table[1].contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn a_cluster_has_rows_for_its_members_links_and_entities() {
        let page = page(&sample::with_all());
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "bank-1 up 250 ms 9 4.25 s 0 0 0 0 17 1234567 bank-1 ok",
            "bank-2 removed - 0 - - - - - 17 1234567 bank-1 failed",
            "bank-2 down 0.00 0.00 17 2 17.0 s 0 1 0 B 2 0.00 0.00 bank-1 failed",
            "account 1,234 9 16 7 1 0 0 0 1,300 60 bank-1 critical",
        ] {
            assert!(words.contains(row), "{row}: {page}");
        }
    }

    #[test]
    fn nothing_is_a_page_as_well() {
        let page = page(&Snapshot::default());
        assert_eq!(
            page,
            " (pid 0)  up 0:00  CPU ?  memory ?  threads ?  window 0 s  alerts 0"
        );
    }

    #[test]
    fn wide_names_keep_the_columns_in_line() {
        let mut snapshot = sample::snapshot();
        snapshot.nodes[0].name = "世界".to_owned();
        let page = page(&snapshot);
        let at = |name: &str| {
            let line = page.lines().find(|line| line.starts_with(name)).unwrap();
            let (before, _) = line.split_once("stage").unwrap();
            text::width(before)
        };
        assert_eq!(at("世界"), at("worker"));
    }
}
