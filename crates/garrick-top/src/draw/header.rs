//! Draws the header: the watched process, the resources that it uses, and the names of the tables.

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
    let pipelines = lines(state);
    if pipelines > 0 {
        draw_pipeline(canvas, row(area, 2), state);
    }
    draw_tabs(canvas, row(area, 2 + pipelines), state);
}

/// Returns the number of lines for the pipelines: 1 if there are pipelines, and otherwise 0.
pub(super) fn lines(state: &State) -> u16 {
    u16::from(!state.scene().snapshot.pipelines.is_empty())
}

/// Draws the sentence about the first pipeline that has a bottleneck. If no pipeline has a
/// bottleneck, draws the sentence about the first pipeline.
fn draw_pipeline(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let pipelines = &state.scene().snapshot.pipelines;
    let theme = canvas.theme;
    let limited = pipelines.iter().filter(|one| one.bottleneck.is_some());
    let Some(shown) = limited.clone().next().or(pipelines.first()) else {
        return;
    };
    let mut area = area;
    if pipelines.len() > 1 {
        let count = format!(
            "{} of {} pipelines limited",
            limited.count(),
            pipelines.len()
        );
        area = canvas.at_right(area, &count, theme.faint());
    }
    canvas.line(area, &shown.text, theme.bold());
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
    let tabs = Tab::offered(snapshot);
    let texts = |with_count: bool| -> Vec<String> {
        let text = |tab: &Tab| {
            let name = format!(" {} {} ", *tab as usize + 1, tab.title());
            match with_count {
                true => format!("{name}{} ", tab.len(snapshot)),
                false => name,
            }
        };
        tabs.iter().map(text).collect()
    };
    let with_counts = texts(true);
    let has_room = text::width(&with_counts.concat()) <= usize::from(area.width);
    let texts = if has_room { with_counts } else { texts(false) };
    let spans = tabs.iter().zip(&texts).map(|(tab, text)| {
        let look = if *tab == state.tab {
            canvas.theme.chosen()
        } else {
            Style::new()
        };
        (text.as_str(), look)
    });
    let spans: Vec<_> = spans.collect();
    canvas.spans(area, &spans);
}
