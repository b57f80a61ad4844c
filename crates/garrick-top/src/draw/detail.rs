//! Draws the details of the selected row.

use garrick_measure::units;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{RenderDirection, Sparkline};

use super::canvas::{Canvas, row};
use crate::detail::{self, Detail};
use crate::state::State;
use crate::text;
use crate::values::{Mark, bar, percent};

/// Width of the label of a bar or graph, in columns of the terminal.
const LABEL: u16 = 18;

/// Height of the details on a low screen, in lines. The line for the remarkable actors is omitted.
const HEIGHT_LOW: u16 = 4;

/// Number of vertical steps of the graph of rates. The widget of the graph takes only whole
/// numbers.
const STEPS: f32 = 1e6;

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let Some(chosen) = state.chosen() else { return };
    let scene = state.scene();
    let detail = detail::of(state.tab, chosen, &scene.snapshot);
    let theme = canvas.theme;
    canvas.line(
        row(area, 0),
        &rule(&detail.title, usize::from(area.width)),
        theme.faint(),
    );
    canvas.line(row(area, 1), &detail.facts, theme.row(chosen.mark));
    let has_more = area.height > HEIGHT_LOW && !detail.outstanding.is_empty();
    if has_more {
        canvas.line(row(area, 2), &detail.outstanding, Style::new());
    }
    let drawn = 2 + u16::from(has_more);
    draw_gauge(canvas, row(area, drawn), &detail, chosen.mark);
    let lines = Rect {
        y: area.y + drawn + 1,
        height: area.height - drawn - 1,
        ..area
    };
    let rates: Vec<f32> = scene.history.of(&chosen.id).collect();
    draw_rates(canvas, lines, &detail, &rates, chosen.mark);
}

/// Returns a horizontal line with a title in it.
fn rule(title: &str, columns: usize) -> String {
    let title = text::fit(title, columns.saturating_sub(4));
    let rest = columns.saturating_sub(text::width(&title) + 4);
    format!("-- {title} {}", "-".repeat(rest))
}

fn draw_gauge(canvas: &mut Canvas<'_>, area: Rect, detail: &Detail, mark: Mark) {
    let Some((name, share, more)) = &detail.gauge else {
        return;
    };
    let (label, rest) = split(area);
    canvas.line(label, &format!("{name} {}", percent(*share)), Style::new());
    let left = canvas.at_right(rest, more, Style::new());
    let style = canvas.theme.bar(mark);
    canvas.line(left, &bar(*share, usize::from(left.width)), style);
}

fn draw_rates(canvas: &mut Canvas<'_>, area: Rect, detail: &Detail, rates: &[f32], mark: Mark) {
    let Some(rate) = detail.rate else { return };
    let (label, line) = split(area);
    let rates = &rates[..rates.len().min(usize::from(line.width))];
    let max = rates.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    canvas.line(label, &format!("{}/s", units::rate(rate)), Style::new());
    if label.height > 1 {
        let highest = format!("max {}/s", units::rate(f64::from(max)));
        canvas.line(row(label, 1), &highest, canvas.theme.faint());
    }
    let steps = rates.iter().map(|rate| (rate / max * STEPS) as u64);
    let style = canvas.theme.bar(mark);
    let sparkline = Sparkline::default()
        .data(steps)
        .max(STEPS as u64)
        .direction(RenderDirection::RightToLeft)
        .style(style);
    canvas.widget(line, sparkline);
}

/// Splits `area` into the part for a label and the rest.
fn split(area: Rect) -> (Rect, Rect) {
    let label = Rect {
        width: LABEL.min(area.width),
        ..area
    };
    let rest = Rect {
        x: area.x + label.width,
        width: area.width - label.width,
        ..area
    };
    (label, rest)
}
