//! Pictures with a dot for each contender, one below another.

use crate::row::Row;
use crate::units;

use super::Metric;
use super::scale::{self, Scale};
use super::svg::{Anchor, COLORS, Canvas, width};

/// Vertical position of the upper edge of the first row.
const TOP: f64 = 44.0;
/// Height of a row.
const STEP: f64 = 26.0;

/// Width of the area that contains the dots.
const AREA: f64 = 420.0;

/// Width of the column of figures to the right of the dots.
const FIGURE: f64 = 90.0;

/// Draws a dot for each of `rows`, one below another.
pub(super) fn draw(rows: &[&Row], metric: Metric, title: &str, source: &str) -> String {
    let labels: Vec<String> = rows.iter().map(|row| row.label()).collect();
    let widest = labels
        .iter()
        .map(|label| width(label, 12.0))
        .fold(0.0, f64::max);
    let left = 24.0 + widest;
    let right = left + AREA;
    let bottom = TOP + STEP * rows.len() as f64;
    let ends = rows.iter().flat_map(|row| {
        let bounds = metric.of(row).bounds();
        [bounds.low, bounds.high]
    });
    let x = Scale::of(ends, left, right, true);
    let wide = (right + FIGURE).max(width(source, 9.0) + 32.0);
    let mut canvas = Canvas::new(wide, bottom + 68.0, title, source);
    for tick in x.ticks() {
        let at = x.at(tick);
        canvas.line("p-grid", (at, TOP), (at, bottom));
        canvas.text(
            at,
            bottom + 18.0,
            Anchor::Middle,
            "p-dim",
            &scale::time(tick),
        );
    }
    canvas.line("p-axis", (left, bottom), (right, bottom));
    if x.is_log() {
        let middle = f64::midpoint(left, right);
        canvas.text(
            middle,
            bottom + 36.0,
            Anchor::Middle,
            "p-dim",
            "logarithmic",
        );
    }
    for (number, (row, label)) in rows.iter().zip(&labels).enumerate() {
        let at = TOP + STEP * (number as f64 + 0.5);
        let summary = metric.of(row);
        let bounds = summary.bounds();
        canvas.text(left - 10.0, at + 4.0, Anchor::End, "p-ink", label);
        let bar = format!("p-bar p-line{}", number % COLORS);
        canvas.line(&bar, (x.at(bounds.low), at), (x.at(bounds.high), at));
        let figure = units::time(summary.median);
        canvas.marker(
            number,
            (x.at(summary.median), at),
            &format!("{label}: {figure}"),
        );
        canvas.text(right + 10.0, at + 4.0, Anchor::Start, "p-ink", &figure);
    }
    canvas.finish()
}
