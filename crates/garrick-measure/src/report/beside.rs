//! Published figures together with our figures, as text.

use crate::suite::{Beside, Figure, Line, Standing};
use crate::units;

use super::table::{Column, in_columns};

impl Beside {
    /// Returns a text table of the published figures and our figures, with the notes that are
    /// needed to understand the table.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n\n", self.title());
        if !self.lines.is_empty() {
            text.push_str(&in_columns(
                &Line::columns(),
                self.lines.iter().map(Line::cells),
            ));
            text.push_str("\n\n");
        }
        for remark in self.remarks() {
            text.push_str(&remark);
            text.push('\n');
        }
        text
    }

    /// Returns the title above the table.
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.suite, self.about)
    }

    /// Returns the remarks below the table, one sentence per entry.
    pub(super) fn remarks(&self) -> Vec<String> {
        let named = |name: &str, text: &str| {
            (!text.is_empty()).then(|| format!("{name}: {text}{}", full_stop(text)))
        };
        let mut remarks = self.findings.clone();
        remarks.extend(named("Published", &self.origin));
        remarks.extend(named("Here", &self.here));
        remarks.extend(named("Note", &self.note));
        if !self.lines.is_empty() {
            remarks.push(
                "The ratio is ours / theirs. Theirs is the best value of 'here', or of 'published' \
                 if nothing was measured here. A difference of less than a quarter counts as even."
                    .to_owned(),
            );
        }
        remarks
    }
}

/// Returns a full stop if `text` does not end with one, and otherwise an empty text.
fn full_stop(text: &str) -> &'static str {
    if text.ends_with('.') { "" } else { "." }
}

impl Line {
    /// Returns the headings of the columns.
    pub(super) fn columns() -> Vec<Column> {
        [
            ("", false),
            ("published", true),
            ("here", true),
            ("ours", true),
            ("unit", false),
            ("ours / theirs", true),
            ("better", false),
        ]
        .map(|(name, figures)| (name.to_owned(), figures))
        .into()
    }

    /// Returns the line's cells, one for each column.
    pub(super) fn cells(&self) -> Vec<String> {
        let figure = |figure: Option<Figure>| figure.map_or("-".to_owned(), |of| of.to_string());
        let better = self.standing.zip(self.factor());
        vec![
            self.of.clone(),
            figure(self.published),
            figure(self.here),
            self.ours.map_or("-".to_owned(), digits),
            self.unit.clone(),
            self.ratio.map_or("-".to_owned(), digits),
            better.map_or("-".to_owned(), |(standing, factor)| match standing {
                Standing::Doubtful => standing.to_string(),
                _ => format!("{standing}, {} x", units::three_digits(factor)),
            }),
        ]
    }
}

/// Formats a figure with its significant digits, even if the figure is small.
fn digits(value: f64) -> String {
    if value < 0.01 {
        format!("{value:.1e}")
    } else {
        units::three_digits(value)
    }
}
