//! Rows as pictures.
//!
//! Where a parameter was swept, a picture has lines: time over the parameter, a line for each contender. Else it
//! has a dot for each contender. Either way a bar shows where the median is with 95 % certainty, or else the
//! least and the most. An axis is logarithmic where what is on it differs by a factor of eight and more.
//!
//! The colors are those of Okabe and Ito, which most people who see fewer colors than others tell apart; lines
//! differ in their markers, too. (M. Okabe, K. Ito: Color Universal Design, 2008.)

mod scale;
mod svg;

mod dots;
mod lines;

use std::collections::BTreeMap;

use crate::row::Row;
use crate::statistics::Summary;

pub(crate) use svg::{escape, style};

/// A parameter with so many values was swept.
const SWEPT_MIN: usize = 3;

/// Wall time gets a picture of its own where it differs by this factor from CPU time.
const WALL_DIFFERS: f64 = 1.2;

/// A picture of some rows.
///
/// # Examples
/// ```
/// use garrick_measure::{Dut, Experiment};
///
/// let report = Experiment::new("sum", "adding the numbers below n")
///     .sweep("n", [10, 100, 1000])
///     .dut(Dut::new("loop", |point| {
///         let n = point["n"];
///         move || (0..n).fold(0, |sum, number| std::hint::black_box(sum + number))
///     }))
///     .seconds_per_row(0.01)
///     .run()?;
/// let plots = report.plots();
/// assert_eq!(plots[0].name(), "sum");
/// assert!(plots[0].svg().starts_with("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plot {
    /// What is shown.
    scenario: String,
    name: String,
    /// The picture as SVG, without a style.
    body: String,
}

impl Plot {
    /// What a file of it can be called, without an extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of an SVG file, light or dark as the reader's system is.
    pub fn svg(&self) -> String {
        svg::document(&self.body, &style())
    }

    /// The scenario that it shows.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// The picture for a page that has the [`style`].
    pub(crate) fn inline(&self) -> String {
        svg::document(&self.body, "")
    }
}

/// What is shown of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Cpu,
    Wall,
}

impl Metric {
    fn of(self, row: &Row) -> &Summary {
        match self {
            Self::Cpu => &row.cpu,
            Self::Wall => &row.wall,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time of one operation",
            Self::Wall => "wall time of one operation",
        }
    }
}

/// The pictures of all rows, scenario by scenario, each with `source` at its foot.
pub(crate) fn plots(rows: &[Row], source: &str) -> Vec<Plot> {
    let mut scenarios: Vec<&str> = rows.iter().map(|row| row.scenario.as_str()).collect();
    scenarios.dedup();
    let of = |scenario: &&str| {
        let rows: Vec<&Row> = rows
            .iter()
            .filter(|row| row.scenario == **scenario)
            .collect();
        let differs = rows.iter().any(|row| {
            let factor = row.wall.median / row.cpu.median;
            !(WALL_DIFFERS.recip()..=WALL_DIFFERS).contains(&factor)
        });
        let metrics = if differs {
            vec![Metric::Cpu, Metric::Wall]
        } else {
            vec![Metric::Cpu]
        };
        let plots = metrics
            .into_iter()
            .map(|metric| plot(&rows, metric, source));
        plots.collect::<Vec<_>>()
    };
    scenarios.iter().flat_map(of).collect()
}

fn plot(rows: &[&Row], metric: Metric, source: &str) -> Plot {
    let scenario = &rows[0].scenario;
    let title = format!("{scenario}: {}", metric.words());
    let body = match swept(rows) {
        Some(parameter) => lines::draw(rows, metric, &parameter, &title, source),
        None => dots::draw(rows, metric, &title, source),
    };
    let name = match metric {
        Metric::Cpu => scenario.clone(),
        Metric::Wall => format!("{scenario}-wall"),
    };
    Plot {
        scenario: scenario.clone(),
        name,
        body,
    }
}

/// The parameter with the most values, if it was swept.
fn swept(rows: &[&Row]) -> Option<String> {
    let mut values: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|row| &row.params) {
        let seen = values.entry(name).or_default();
        if let Some(value) = value.as_u64()
            && !seen.contains(&value)
        {
            seen.push(value);
        }
    }
    let (name, seen) = values.iter().max_by_key(|(_, seen)| seen.len())?;
    (seen.len() >= SWEPT_MIN).then(|| (*name).to_owned())
}

#[cfg(test)]
mod tests;
