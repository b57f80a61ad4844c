//! Colours of the screen, which the user can disable. All information in colours is also shown by a
//! sign or a word.

use std::env;

use ratatui::style::{Color, Modifier, Style};

use crate::values::Mark;

/// Theme of the screen, with or without colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    has_colors: bool,
}

impl Theme {
    pub(crate) const COLORS: Self = Self { has_colors: true };
    pub(crate) const PLAIN: Self = Self { has_colors: false };

    /// Returns the theme that the user has chosen by the environment variable `NO_COLOR`, as
    /// described in <https://no-color.org>.
    pub(crate) fn wanted() -> Self {
        match env::var_os("NO_COLOR") {
            Some(value) if !value.is_empty() => Self::PLAIN,
            _ => Self::COLORS,
        }
    }

    fn colored(self, color: Color) -> Style {
        if self.has_colors {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    /// Returns the style of a row's text.
    pub(crate) fn row(self, mark: Mark) -> Style {
        match mark {
            Mark::Ok => Style::new(),
            Mark::Ended => Style::new().add_modifier(Modifier::DIM),
            Mark::Warning => self.colored(Color::Yellow),
            Mark::Critical => self.colored(Color::Red),
            Mark::Failed => self.colored(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    /// Returns the style of a bar, a graph or the name of a state, if it has the mark `mark`.
    pub(crate) fn bar(self, mark: Mark) -> Style {
        match mark {
            Mark::Ok => self.colored(Color::Green),
            _ => self.row(mark),
        }
    }

    pub(crate) fn title(self) -> Style {
        self.colored(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of the current selection, such as a table's name or the selected row.
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
