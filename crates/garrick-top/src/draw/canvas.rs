//! Draws text on a part of the screen, clipped to that part.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::text;
use crate::theme::Theme;

/// Buffer to draw on, with a theme.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub(super) theme: Theme,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, theme: Theme) -> Self {
        Self { buffer, theme }
    }

    /// Writes `text` into the first line of `area`, and returns the number of columns used.
    pub(super) fn line(&mut self, area: Rect, text: &str, style: Style) -> u16 {
        if area.is_empty() {
            return 0;
        }
        let text = text::fit(text, usize::from(area.width));
        let (end, _) =
            self.buffer
                .set_stringn(area.x, area.y, text, usize::from(area.width), style);
        end - area.x
    }

    /// Writes texts one after another into the first line of `area`.
    pub(super) fn spans(&mut self, mut area: Rect, spans: &[(&str, Style)]) {
        for (text, style) in spans {
            let used = self.line(area, text, *style);
            area.x += used;
            area.width -= used;
        }
    }

    /// Writes `text` right-aligned into the first line of `area`, and returns the rest of that
    /// line.
    pub(super) fn at_right(&mut self, area: Rect, text: &str, style: Style) -> Rect {
        let columns = u16::try_from(text::width(text))
            .unwrap_or(u16::MAX)
            .min(area.width);
        let left = area.width - columns;
        let right = Rect {
            x: area.x + left,
            width: columns,
            ..area
        };
        self.line(right, text, style);
        Rect {
            width: left.saturating_sub(1),
            height: 1,
            ..area
        }
    }

    /// Sets the style of the whole `area`.
    pub(super) fn paint(&mut self, area: Rect, style: Style) {
        self.buffer.set_style(area, style);
    }

    pub(super) fn widget(&mut self, area: Rect, widget: impl Widget) {
        widget.render(area, self.buffer);
    }
}

/// Returns line number `index` of `area`. Returns an empty area if `area` has fewer lines.
pub(super) fn row(area: Rect, index: u16) -> Rect {
    Rect {
        y: area.y.saturating_add(index),
        height: u16::from(index < area.height),
        ..area
    }
}
