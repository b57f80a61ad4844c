//! Draws the screen from a [`State`].
//!
//! ```text
//!   header    the process, its use of the machine, the bottleneck, the tables       3 lines, or 4
//!   table     a line of titles, then rows                                           the rest
//!   detail    the row with the cursor: facts, a bar, the line of its rate           4 lines, or 6
//!   footer    the keys, the filter, or why there is no connection                   1 line
//! ```

mod canvas;
mod detail;
mod header;
mod help;
mod table;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};

use crate::keys::Mode;
use crate::state::State;
use crate::theme::Theme;
use canvas::Canvas;

/// Minimum width of the terminal. In a narrower terminal, only a message is shown: the terminal is
/// too small.
const COLUMNS_MIN: u16 = 60;
/// Minimum height of the terminal. In a lower terminal, only a message is shown: the terminal is
/// too small.
const LINES_MIN: u16 = 15;

/// Minimum height of a screen on which the details are shown with all their lines.
const LINES_TALL: u16 = 24;

/// Draws `state`, and records in `state` how many rows fit on the screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, theme: Theme) {
    let area = frame.area();
    let mut canvas = Canvas::new(frame.buffer_mut(), theme);
    if area.width < COLUMNS_MIN || area.height < LINES_MIN {
        let text = format!(
            "{}x{} is too small: {COLUMNS_MIN}x{LINES_MIN} is needed (q quits)",
            area.width, area.height
        );
        canvas.line(area, &text, theme.bold());
        return;
    }
    let detail_lines = if area.height < LINES_TALL { 4 } else { 6 };
    let [head, body, detail, foot] = Layout::vertical([
        Constraint::Length(3 + header::lines(state)),
        Constraint::Min(1),
        Constraint::Length(detail_lines),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw(&mut canvas, head, state);
    if state.mode == Mode::Help {
        help::draw(&mut canvas, body.union(detail));
    } else {
        table::draw(&mut canvas, body, state);
        detail::draw(&mut canvas, detail, state);
    }
    help::draw_footer(&mut canvas, foot, state);
}

#[cfg(test)]
mod tests;
