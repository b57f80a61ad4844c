//! The table and the JSON text that show the results of the study of journals.

use comfy_table::{CellAlignment, Table, presets};
use garrick_measure::provenance;
use serde_json::{Value, json};

use super::rounds::{Results, Round, Row};
use super::strace::Syncs;
use crate::study::{described, unmeasured};

/// Returns the table, and the explanations below it.
pub(super) fn text(results: &Results) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "contender",
        "entities",
        "raw syncs/s",
        "commands/s",
        "least .. most",
        "commands / raw sync",
        "CPU/command",
        "syncs/command",
        "stored",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in results.rows.iter().filter(|row| !row.rounds.is_empty()) {
        table.add_row(cells(row));
    }
    let mut text = format!("{table}\n");
    text += &unmeasured(&results.missing, &results.failed, "run");
    let contenders = results.rows.iter().map(|row| row.contender);
    text + &described(contenders.map(|contender| (contender.name, contender.about)))
}

fn cells(row: &Row) -> [String; 9] {
    let [_, least, most] = spread(row, |round| round.outcome.commands_per_second());
    let median = |figure: fn(&Round) -> f64| spread(row, figure)[0];
    [
        row.contender.name.to_owned(),
        row.entities.to_string(),
        format!("{:.0}", median(Round::raw_mean)),
        format!("{:.0}", median(|round| round.outcome.commands_per_second())),
        format!("{least:.0} .. {most:.0}"),
        format!("{:.2}", median(Round::ratio)),
        format!("{:.1} us", median(|round| round.outcome.cpu_us())),
        row.syncs.as_ref().map_or("-".to_owned(), syncs),
        stored(row),
    ]
}

fn syncs(syncs: &Syncs) -> String {
    let count = match syncs.per_command {
        0.0 => "none".to_owned(),
        some if some < 0.1 => format!("{some:.4}"),
        some => format!("{some:.2}"),
    };
    let more = if syncs.at_each_write {
        ", and at each write"
    } else {
        ""
    };
    count + more
}

/// Returns the number of acknowledged commands that were found when the files were opened again:
/// `all`, or a text such as `7 of 9`.
fn stored(row: &Row) -> String {
    let sum = |count: fn(&Round) -> u64| row.rounds.iter().map(count).sum::<u64>();
    let acknowledged = sum(|round| round.outcome.acknowledged);
    match sum(|round| round.outcome.stored) {
        stored if stored == acknowledged => "all".to_owned(),
        stored => format!("{stored} of {acknowledged}"),
    }
}

/// Returns the median, the minimum and the maximum of a figure.
fn spread(row: &Row, figure: impl Fn(&Round) -> f64) -> [f64; 3] {
    let mut figures: Vec<f64> = row.rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    [figures.len() / 2, 0, figures.len() - 1].map(|index| figures[index])
}

/// Returns all results as JSON.
pub(super) fn json(results: &Results, folder: &str, file_system: &str) -> String {
    let rounds = |row: &Row| -> Vec<Value> { row.rounds.iter().map(round).collect() };
    let row = |row: &Row| {
        json!({
            "contender": row.contender.name,
            "about": row.contender.about,
            "entities": row.entities,
            "rounds": rounds(row),
            "syncs_per_command": row.syncs.map(|syncs| syncs.per_command),
            "syncs_at_each_write": row.syncs.map(|syncs| syncs.at_each_write),
        })
    };
    let missing = |(name, why): &(&str, String)| json!({ "contender": name, "why": why });
    let all = json!({
        "study": "journal",
        "provenance": provenance(),
        "folder": folder,
        "file_system": file_system,
        "rows": results.rows.iter().map(row).collect::<Vec<_>>(),
        "failed": results.failed,
        "missing": results.missing.iter().map(missing).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn round(round: &Round) -> Value {
    json!({
        "raw_syncs_per_second": round.raw,
        "commands_per_second": round.outcome.commands_per_second(),
        "commands_per_raw_sync": round.ratio(),
        "cpu_us_per_command": round.outcome.cpu_us(),
        "acknowledged": round.outcome.acknowledged,
        "stored": round.outcome.stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::contender::CONTENDERS;
    use crate::journal::run::tests::sample;

    fn results() -> Results {
        let raw = [[100.0, 300.0], [50.0, 50.0], [400.0, 400.0]];
        let round = |raw| Round {
            raw,
            outcome: sample(),
        };
        let row = Row {
            contender: &CONTENDERS[0],
            entities: 32,
            rounds: raw.map(round).into(),
            syncs: Some(Syncs {
                per_command: 0.015,
                at_each_write: false,
            }),
        };
        Results {
            rows: vec![row],
            missing: vec![("cajun", "Java 21 was not found".to_owned())],
            failed: vec!["redb-each with 1 entities: the disk is full".to_owned()],
        }
    }

    #[test]
    fn a_row_shows_medians_beside_the_raw_disk() {
        let cells = cells(&results().rows[0]);
        let expected = [
            "garrick",
            "32",
            "200",
            "400",
            "400 .. 400",
            "2.00",
            "50.0 us",
            "0.0150",
            "all",
        ];
        assert_eq!(cells, expected);
    }

    #[test]
    fn what_is_missing_or_lost_is_told() {
        let mut results = results();
        let text = text(&results);
        assert!(text.contains("cajun was not measured: Java 21"), "{text}");
        assert!(text.contains("a run failed: redb-each"), "{text}");
        assert!(
            text.contains("durable actors of garrick::journal"),
            "{text}"
        );
        results.rows[0].rounds[0].outcome.stored -= 1;
        assert_eq!(stored(&results.rows[0]), "749 of 750");
    }

    #[test]
    fn the_json_has_every_round() {
        let text = json(&results(), "/x", "ext4");
        let json: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(json["rows"][0]["rounds"][1]["commands_per_raw_sync"], 8.0);
        assert_eq!(json["rows"][0]["syncs_per_command"], 0.015);
        assert_eq!(json["missing"][0]["contender"], "cajun");
        assert_eq!(json["file_system"], "ext4");
    }
}
