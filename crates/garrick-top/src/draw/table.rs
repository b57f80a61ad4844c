//! Draws a table with as many columns and rows as fit.

use ratatui::layout::Rect;

use super::canvas::{Canvas, row};
use crate::state::State;
use crate::tables::{Column, Row};
use crate::text;
use crate::values::Value;

/// Width of the space before the first column. It contains the cursor, the sign of the row's mark,
/// and a blank.
const MARGIN: usize = 4;

/// A column that fits on the screen.
struct Shown {
    /// Index of the column.
    index: usize,
    /// Width of the column on this screen.
    width: usize,
}

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, state: &mut State) {
    let columns = state.tab.columns();
    let shown = choose(columns, usize::from(area.width));
    let titles: Vec<_> = shown
        .iter()
        .map(|column| state.heading(column.index, &columns[column.index]))
        .collect();
    let theme = canvas.theme;
    canvas.line(
        row(area, 0),
        &compose("", &shown, columns, &titles),
        theme.title(),
    );
    let page = usize::from(area.height.saturating_sub(1));
    let first = state.scroll(page);
    if state.rows.is_empty() {
        canvas.line(row(area, 1), &nothing(state), theme.faint());
    }
    for (line, index) in (1..).zip(first..state.rows.len().min(first + page)) {
        let is_chosen = index == state.view().cursor;
        draw_row(
            canvas,
            row(area, line),
            &state.rows[index],
            &shown,
            columns,
            is_chosen,
        );
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: &Row,
    shown: &[Shown],
    columns: &[Column],
    is_chosen: bool,
) {
    let texts: Vec<_> = shown
        .iter()
        .map(|column| row.values[column.index].short())
        .collect();
    let cursor = if is_chosen { '>' } else { ' ' };
    let margin = format!("{cursor}{:2}", row.mark.sign());
    let theme = canvas.theme;
    canvas.line(
        area,
        &compose(&margin, shown, columns, &texts),
        theme.row(row.mark),
    );
    for (column, x) in shown.iter().zip(places(shown)) {
        if let Value::Bar(_) = row.values[column.index] {
            let bar = Rect {
                x: area.x + x as u16,
                width: column.width as u16,
                ..area
            };
            canvas.paint(bar, theme.bar(row.mark));
        }
    }
    if is_chosen {
        canvas.paint(area, theme.chosen());
    }
}

/// Returns the reason why there are no rows.
fn nothing(state: &State) -> String {
    let blanks = " ".repeat(MARGIN);
    if state.filter.is_empty() {
        format!("{blanks}nothing here")
    } else {
        format!("{blanks}nothing here has '{}' in it", state.filter)
    }
}

/// Chooses the columns that fit into `room`. Columns with the lowest ranks are chosen first. The
/// first column gets the remaining width.
fn choose(columns: &[Column], room: usize) -> Vec<Shown> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|index| columns[*index].rank);
    let mut left = room.saturating_sub(MARGIN);
    let mut chosen = Vec::new();
    for index in order {
        let width = columns[index].width + usize::from(index > 0);
        if left < width {
            break;
        }
        left -= width;
        chosen.push(index);
    }
    chosen.sort_unstable();
    let shown = chosen.into_iter().map(|index| Shown {
        index,
        width: columns[index].width + if index == 0 { left } else { 0 },
    });
    shown.collect()
}

/// Returns the position of each column in the line.
fn places(shown: &[Shown]) -> impl Iterator<Item = usize> {
    shown.iter().scan(MARGIN, |next, column| {
        let place = *next;
        *next += column.width + 1;
        Some(place)
    })
}

fn compose(margin: &str, shown: &[Shown], columns: &[Column], texts: &[String]) -> String {
    let mut line = text::pad(margin, MARGIN - 1, false);
    for (column, text) in shown.iter().zip(texts) {
        line.push(' ');
        line += &text::pad(text, column.width, columns[column.index].is_figure);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Tab;

    #[test]
    fn columns_go_by_their_rank_and_the_first_takes_the_rest() {
        for tab in Tab::ALL {
            let columns = tab.columns();
            let mut before = 0;
            for room in 60..300 {
                let shown = choose(columns, room);
                let widths: usize = shown.iter().map(|column| column.width + 1).sum();
                assert_eq!(MARGIN - 1 + widths, room, "{tab:?} {room}");
                assert_eq!(shown[0].index, 0);
                assert!(
                    shown.len() >= before,
                    "{tab:?} {room}: more room, fewer columns"
                );
                before = shown.len();
                let kept = shown.iter().map(|column| columns[column.index].rank).max();
                let index_of = |index| shown.iter().any(|column| column.index == index);
                let gone = (0..columns.len()).filter(|index| !index_of(*index));
                let gone = gone.map(|index| columns[index].rank).min();
                assert!(
                    gone.is_none_or(|gone| kept.unwrap() <= gone),
                    "{tab:?} {room}"
                );
            }
            assert_eq!(before, columns.len(), "{tab:?}: room for all");
        }
    }
}
