//! Pictures that show the time for each value of a parameter, with a line for each contender.

use crate::row::Row;
use crate::units;

use super::Metric;
use super::scale::{self, Scale};
use super::svg::{Anchor, COLORS, Canvas, width};

/// Horizontal position of the left edge of the area between the axes.
const LEFT: f64 = 72.0;
/// Horizontal position of the right edge of the area between the axes.
const RIGHT: f64 = 620.0;
/// Vertical position of the upper edge of the area between the axes.
const TOP: f64 = 44.0;
/// Vertical position of the lower edge of the area between the axes.
const BOTTOM: f64 = 340.0;

/// Distance between the lines of the legend.
const LEGEND_STEP: f64 = 20.0;

/// Maximum number of values that are written along the parameter's axis. If there are more values,
/// the ticks of the axis are written instead.
const VALUES_TOLD: usize = 8;

/// Rows of one contender, each with its value of the parameter.
struct Series<'a> {
    label: String,
    points: Vec<(f64, &'a Row)>,
}

/// Draws a line for each contender. The rows of a line differ in the value of `parameter`.
pub(super) fn draw(
    rows: &[&Row],
    metric: Metric,
    parameter: &str,
    title: &str,
    source: &str,
) -> String {
    let all = series(rows, parameter);
    let along = || all.iter().flat_map(|series| &series.points);
    let x = Scale::of(along().map(|(x, _)| *x), LEFT, RIGHT, false);
    let heights = along().flat_map(|(_, row)| {
        let bounds = metric.of(row).bounds();
        [bounds.low, bounds.high]
    });
    let y = Scale::of(heights, BOTTOM, TOP, true);
    let legend = all.iter().map(|series| width(&series.label, 12.0));
    let wide = RIGHT + 48.0 + legend.fold(0.0, f64::max);
    let high = (BOTTOM + 72.0).max(TOP + 40.0 + LEGEND_STEP * all.len() as f64);
    let mut canvas = Canvas::new(wide.max(width(source, 9.0) + 32.0), high, title, source);
    axes(&mut canvas, &x, &y, &told(along().map(|(x, _)| *x), &x));
    let of = if x.is_log() {
        format!("{parameter} (logarithmic)")
    } else {
        parameter.to_owned()
    };
    let middle = f64::midpoint(LEFT, RIGHT);
    canvas.text(middle, BOTTOM + 40.0, Anchor::Middle, "p-dim", &of);
    for (number, series) in all.iter().enumerate() {
        trace(&mut canvas, number, series, metric, &x, &y);
        let at = TOP + 8.0 + LEGEND_STEP * number as f64;
        canvas.marker(number, (RIGHT + 24.0, at), &series.label);
        canvas.text(
            RIGHT + 36.0,
            at + 4.0,
            Anchor::Start,
            "p-ink",
            &series.label,
        );
    }
    canvas.finish()
}

fn series<'a>(rows: &[&'a Row], parameter: &str) -> Vec<Series<'a>> {
    let mut all: Vec<Series<'a>> = Vec::new();
    for row in rows {
        let Some(x) = row.params.get(parameter).and_then(|value| value.as_f64()) else {
            continue;
        };
        let label = row.label_without(parameter);
        match all.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push((x, row)),
            None => all.push(Series {
                label,
                points: vec![(x, row)],
            }),
        }
    }
    for series in &mut all {
        series.points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    all
}

/// Returns the values to write along the parameter's axis: all of `values` if there are only a few,
/// and otherwise the ticks of the axis.
fn told(values: impl Iterator<Item = f64>, x: &Scale) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() <= VALUES_TOLD {
        values
    } else {
        x.ticks()
    }
}

fn axes(canvas: &mut Canvas, x: &Scale, y: &Scale, along: &[f64]) {
    for tick in y.ticks() {
        let at = y.at(tick);
        canvas.line("p-grid", (LEFT, at), (RIGHT, at));
        canvas.text(
            LEFT - 8.0,
            at + 4.0,
            Anchor::End,
            "p-dim",
            &scale::time(tick),
        );
    }
    for tick in along {
        let at = x.at(*tick);
        canvas.line("p-grid", (at, TOP), (at, BOTTOM));
        canvas.text(
            at,
            BOTTOM + 18.0,
            Anchor::Middle,
            "p-dim",
            &scale::count(*tick),
        );
    }
    canvas.line("p-axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    canvas.line("p-axis", (LEFT, TOP), (LEFT, BOTTOM));
}

fn trace(
    canvas: &mut Canvas,
    number: usize,
    series: &Series<'_>,
    metric: Metric,
    x: &Scale,
    y: &Scale,
) {
    let color = number % COLORS;
    let place = |(along, row): &(f64, &Row)| (x.at(*along), y.at(metric.of(row).median));
    let places: Vec<(f64, f64)> = series.points.iter().map(place).collect();
    canvas.path(&format!("p-line{color}"), &places);
    for ((_, row), (across, up)) in series.points.iter().zip(places) {
        let bounds = metric.of(row).bounds();
        let bar = format!("p-bar p-line{color}");
        canvas.line(
            &bar,
            (across, y.at(bounds.low)),
            (across, y.at(bounds.high)),
        );
        let said = format!("{}: {}", row.label(), units::time(metric.of(row).median));
        canvas.marker(number, (across, up), &said);
    }
}
