//! Pictures that show the measured times of rows.
//!
//! If a parameter was swept, a picture shows the time for each value of the parameter, with a line
//! for each contender. Otherwise, a picture has a dot for each contender. In both cases, a bar
//! shows the interval that contains the median with 95 % certainty. If there is no such interval,
//! the bar shows minimum and maximum. An axis is logarithmic if its values differ by a factor of
//! eight or more.
//!
//! The colors are the palette of Okabe and Ito, which most color-blind people can distinguish.
//! Lines also differ in their markers. (M. Okabe, K. Ito: Color Universal Design, 2008.)

mod scale;
mod svg;

mod dots;
mod lines;

use std::collections::BTreeMap;

use crate::row::Row;
use crate::statistics::Summary;

pub(crate) use svg::{escape, style};

/// Minimum number of values of a swept parameter. With fewer values, a picture has dots instead of
/// lines.
const SWEPT_MIN: usize = 3;

/// If wall time and CPU time differ by more than this factor, the wall time is drawn in a separate
/// picture.
const WALL_DIFFERS: f64 = 1.2;

/// A picture of the measured times of one scenario.
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
    /// Name of the scenario that the picture shows.
    scenario: String,
    name: String,
    /// SVG text of the picture, without a `<style>` element.
    body: String,
}

impl Plot {
    /// Returns a name for the file of the picture, without an extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the picture as the text of an SVG file. The picture is light or dark, depending on
    /// the reader's system.
    pub fn svg(&self) -> String {
        svg::document(&self.body, &style())
    }

    /// Returns the name of the scenario that the picture shows.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Returns the SVG text of the picture for an HTML page. The text contains no CSS, because the
    /// page contains the CSS that [`style`] returns.
    pub(crate) fn inline(&self) -> String {
        svg::document(&self.body, "")
    }
}

/// The kind of time that a picture shows for each row.
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

/// Draws all rows, one scenario after another. Each picture has `source` at its bottom.
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

/// Returns the name of the parameter with the most values. Returns `None` if it has fewer than
/// [`SWEPT_MIN`] values, or if there are no parameters.
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
