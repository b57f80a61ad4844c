//! Draws the header: the watched process, its use of the machine, and the names of the tables.

use garrick_measure::units;
use garrick_telemetry::{Level, Process};
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, row};
use crate::state::{Link, State};
use crate::tables::Tab;
use crate::text;
use crate::values::{Mark, known, span};

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    draw_who(canvas, row(area, 0), state);
    draw_figures(canvas, row(area, 1), state);
    draw_tabs(canvas, row(area, 2), state);
}

fn draw_who(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let snapshot = &state.scene().snapshot;
    let Process { name, pid, .. } = &snapshot.process;
    let (link, mark) = match (&state.link, state.is_paused()) {
        (Link::Lost { .. }, _) => ("x lost".to_owned(), Mark::Failed),
        (Link::Live, true) => (format!("= paused, {} new", state.unseen), Mark::Warning),
        (Link::Live, false) => ("* live".to_owned(), Mark::Ok),
    };
    let theme = canvas.theme;
    let left = canvas.at_right(area, &link, theme.bar(mark));
    let rest = format!(
        " (pid {pid})  up {}  {}",
        span(snapshot.uptime),
        state.target
    );
    canvas.spans(left, &[(name, theme.title()), (&rest, Style::new())]);
}

/// Draws the figures of the process, with faint labels.
fn draw_figures(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let snapshot = &state.scene().snapshot;
    let process = &snapshot.process;
    let theme = canvas.theme;
    let (alerts, mark) = alerts(state);
    let area = canvas.at_right(area, &alerts, theme.row(mark));
    let figures = [
        ("CPU ", known(process.cpu, |cores| format!("{cores:.2}"))),
        ("  memory ", known(process.resident_bytes, units::bytes)),
        (
            "  threads ",
            known(process.threads, |threads| threads.to_string()),
        ),
        ("  window ", format!("{:.0} s", snapshot.window)),
    ];
    let spans: Vec<_> = figures
        .iter()
        .flat_map(|(label, figure)| [(*label, theme.faint()), (figure.as_str(), Style::new())])
        .collect();
    canvas.spans(area, &spans);
}

fn alerts(state: &State) -> (String, Mark) {
    let alerts = &state.scene().snapshot.alerts;
    let worst = alerts.iter().map(|alert| alert.level).max();
    let mark = Mark::from(worst.unwrap_or(Level::Ok));
    let count = alerts.len();
    let noun = if count == 1 { "alert" } else { "alerts" };
    let text = format!("{} {count} {noun}", mark.sign());
    (text.trim_start().to_owned(), mark)
}

fn draw_tabs(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let snapshot = &state.scene().snapshot;
    let with_counts = Tab::ALL.map(|tab| {
        let count = tab.len(snapshot);
        format!(" {} {} {count} ", tab as usize + 1, tab.title())
    });
    let alone = Tab::ALL.map(|tab| format!(" {} {} ", tab as usize + 1, tab.title()));
    let has_room = text::width(&with_counts.concat()) <= usize::from(area.width);
    let texts = if has_room { &with_counts } else { &alone };
    let spans = Tab::ALL.map(|tab| {
        let look = if tab == state.tab {
            canvas.theme.chosen()
        } else {
            Style::new()
        };
        (texts[tab as usize].as_str(), look)
    });
    canvas.spans(area, &spans);
}
