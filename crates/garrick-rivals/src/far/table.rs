//! The tables and the JSON text that show the results of the study.

use comfy_table::{CellAlignment, Table, presets};
use garrick_measure::provenance;
use serde_json::{Value, json};

use super::contender::{NOT_HERE, OURS, RAW};
use super::order::{Outcome, Work};
use super::rounds::{Results, Row};
use crate::study::{described, unmeasured};

/// Text for a figure that was not measured.
const NONE: &str = "-";

/// Returns the tables, and the explanations below them.
pub(super) fn text(results: &Results) -> String {
    let is_tell = |row: &&Row| matches!(row.work, Work::Tell { .. });
    let (tells, asks): (Vec<&Row>, Vec<&Row>) = results.rows.iter().partition(is_tell);
    let tells = table(
        &[
            "work",
            "contender",
            "messages/s",
            "least .. most",
            "/ raw NATS",
            "Garrick / it",
            "CPU sender",
            "CPU receiver",
            "lost",
        ],
        tells.iter().map(|row| tell_cells(results, row)),
    );
    let asks = table(
        &[
            "work",
            "contender",
            "median",
            "p99",
            "asks/s",
            "/ raw NATS",
            "Garrick / it",
            "CPU asker",
            "CPU answerer",
        ],
        asks.iter().map(|row| ask_cells(results, row)),
    );
    format!("{tells}\n\n{asks}\n{}", notes(results))
}

fn table<const N: usize>(
    header: &[&str; N],
    rows: impl Iterator<Item = Option<[String; N]>>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for cells in rows.flatten() {
        table.add_row(cells);
    }
    table
}

/// Returns the cells of a row, or `None` if nothing was measured.
fn tell_cells(results: &Results, row: &Row) -> Option<[String; 9]> {
    let [rate, least, most] = spread(row, Outcome::rate)?;
    Some([
        row.work.to_string(),
        row.contender.name.to_owned(),
        whole(rate),
        format!("{} .. {}", whole(least), whole(most)),
        ratio(Some(row), same_work(results, row, RAW)),
        ratio(same_work(results, row, OURS), Some(row)),
        ns(row, Outcome::near_ns),
        ns(row, Outcome::far_ns),
        lost(row),
    ])
}

/// Returns the cells of a row, or `None` if nothing was measured.
fn ask_cells(results: &Results, row: &Row) -> Option<[String; 9]> {
    let [rate, ..] = spread(row, Outcome::rate)?;
    let us = |index: usize| {
        let time = |outcome: &Outcome| outcome.latency.map_or(f64::NAN, |both| both[index]);
        spread(row, time).map_or(NONE.to_owned(), |[median, ..]| format!("{median:.1} us"))
    };
    Some([
        row.work.to_string(),
        row.contender.name.to_owned(),
        us(0),
        us(1),
        whole(rate),
        ratio(Some(row), same_work(results, row, RAW)),
        ratio(same_work(results, row, OURS), Some(row)),
        ns(row, Outcome::near_ns),
        ns(row, Outcome::far_ns),
    ])
}

/// Returns the figure by which contenders are compared: the median time of an answer if one
/// question is in flight, otherwise a rate.
fn figure(work: Work, outcome: &Outcome) -> f64 {
    match (work, outcome.latency) {
        (Work::Ask { in_flight: 1 }, Some([median, _])) => median,
        _ => outcome.rate(),
    }
}

/// Returns the row of another contender with the same work.
fn same_work<'a>(results: &'a Results, row: &Row, name: &str) -> Option<&'a Row> {
    let mut rows = results.rows.iter();
    rows.find(|other| other.work == row.work && other.contender.name == name)
}

/// Returns the median of the ratios of two rows in each round.
fn ratio(row: Option<&Row>, to: Option<&Row>) -> String {
    let ratio = row.zip(to).and_then(|(row, to)| {
        let both = row.rounds.iter().zip(&to.rounds);
        let ratios = both.filter_map(|(one, other)| {
            let (one, other) = (one.as_ref()?, other.as_ref()?);
            Some(figure(row.work, one) / figure(row.work, other))
        });
        middle(ratios.collect())
    });
    ratio.map_or(NONE.to_owned(), |[median, ..]| match median {
        large if large >= 9.95 => format!("{large:.1}"),
        small => format!("{small:.2}"),
    })
}

/// Returns the median, the minimum and the maximum of a figure. `None` if nothing was measured.
fn spread(row: &Row, figure: impl Fn(&Outcome) -> f64) -> Option<[f64; 3]> {
    middle(row.rounds.iter().flatten().map(figure).collect())
}

/// Returns the median, the minimum and the maximum.
fn middle(mut figures: Vec<f64>) -> Option<[f64; 3]> {
    figures.sort_by(f64::total_cmp);
    let (least, most) = (figures.first()?, figures.last()?);
    Some([figures[figures.len() / 2], *least, *most])
}

fn ns(row: &Row, figure: fn(&Outcome) -> f64) -> String {
    spread(row, figure).map_or(NONE.to_owned(), |[median, ..]| match median {
        short if short < 10_000.0 => format!("{short:.0} ns"),
        long => format!("{:.1} us", long / 1e3),
    })
}

/// Returns the number of lost messages of all rounds: `none`, or a text such as `7 of 900`.
fn lost(row: &Row) -> String {
    let sum = |count: fn(&Outcome) -> u64| row.rounds.iter().flatten().map(count).sum::<u64>();
    match sum(|outcome| outcome.lost) {
        0 => "none".to_owned(),
        lost => format!("{lost} of {}", sum(|outcome| outcome.count)),
    }
}

fn whole(number: f64) -> String {
    garrick_measure::units::whole(number.round() as u64)
}

fn notes(results: &Results) -> String {
    let mut text = String::from(
        "\nCPU: CPU time of a process for each message. / raw NATS: the row divided by the row \
         nats-by-hand. Garrick / it: Garrick's row divided by this one. Both are medians of the \
         ratios of the rounds: of rates, but of medians of the times with 1 in flight.\n",
    );
    for row in &results.rows {
        let turns = |outcome: &Outcome| outcome.turns_ns().unwrap_or(f64::NAN);
        if let Some([median, ..]) = spread(row, turns).filter(|[median, ..]| !median.is_nan()) {
            let (name, work) = (row.contender.name, row.work);
            text += &format!("\n{name}, {work}: the sending turns took {median:.1} ns a message");
        }
    }
    text += &unmeasured(&results.missing, &results.failed, "measurement");
    for (name, why) in NOT_HERE {
        text += &format!("\n{name} is not here: {why}");
    }
    let contenders = results.rows.iter().map(|row| row.contender);
    text + &described(contenders.map(|contender| (contender.name, contender.about)))
}

/// Returns all results as JSON.
pub(super) fn json(results: &Results) -> String {
    let round = |outcome: &Option<Outcome>| outcome.as_ref().map(Outcome::json);
    let row = |row: &Row| {
        json!({
            "contender": row.contender.name,
            "about": row.contender.about,
            "work": row.work.to_string(),
            "rounds": row.rounds.iter().map(round).collect::<Vec<Option<Value>>>(),
        })
    };
    let missing = |(name, why): &(&str, String)| json!({ "contender": name, "why": why });
    let all = json!({
        "study": "far",
        "provenance": provenance(),
        "rows": results.rows.iter().map(row).collect::<Vec<_>>(),
        "failed": results.failed,
        "missing": results.missing.iter().map(missing).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}
