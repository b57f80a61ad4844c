//! Draws the explanation of the keys, either in full or in one line.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, row};
use crate::keys::{HELP, Mode};
use crate::state::{Link, State};
use crate::text;
use crate::values::Mark;

/// Width of the column that shows the names of the keys.
const KEYS: usize = 30;

/// The row marks that the help explains.
const MARKS: [Mark; 4] = [Mark::Warning, Mark::Critical, Mark::Failed, Mark::Ended];

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect) {
    for (line, (keys, what)) in (0..).zip(HELP) {
        let keys = text::pad(keys, KEYS, false);
        canvas.spans(
            row(area, line),
            &[(&keys, canvas.theme.bold()), (what, Style::new())],
        );
    }
    let theme = canvas.theme;
    let signs = MARKS.map(|mark| {
        (
            format!("{} {}   ", mark.sign(), mark.word()),
            theme.row(mark),
        )
    });
    let spans = signs
        .each_ref()
        .map(|(text, style)| (text.as_str(), *style));
    canvas.spans(row(area, HELP.len() as u16), &spans);
}

/// Draws the most urgent information: the filter, a lost connection, or the keys.
pub(super) fn draw_footer(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let theme = canvas.theme;
    if state.mode == Mode::Filter {
        let hint = "Enter keeps, Esc clears";
        let left = canvas.at_right(area, hint, theme.faint());
        let typed = format!("/{}_", state.filter);
        canvas.line(left, &typed, theme.bold());
        return;
    }
    if let Link::Lost { why, wait } = &state.link {
        let retry = format!("trying again in {:.1} s", wait.as_secs_f64());
        let left = canvas.at_right(area, &retry, theme.row(Mark::Failed));
        canvas.line(left, why, theme.row(Mark::Failed));
        return;
    }
    let keys = "q quit  ? help  / filter  <> sort  r reverse  space pause";
    if state.filter.is_empty() {
        canvas.line(area, keys, theme.faint());
    } else {
        let shown = format!(
            "{} of {} with '{}'",
            state.rows.len(),
            state.tab.len(&state.scene().snapshot),
            state.filter
        );
        let left = canvas.at_right(area, &shown, theme.bold());
        canvas.line(left, keys, theme.faint());
    }
}
