//! The rows of a run, with functions that find rows.

use serde_json::Value;

use crate::row::Row;

/// The rows of a run, with methods that find rows.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a>(&'a [Row]);

impl<'a> Rows<'a> {
    /// Creates a view of `rows`.
    pub fn new(rows: &'a [Row]) -> Self {
        Self(rows)
    }

    /// Returns the rows of `contender` in `scenario` that have all of the parameters `params`. A
    /// row may have more parameters. The values in `params` are given as text, such as `"16"`.
    pub fn all<'p>(
        self,
        scenario: &'p str,
        contender: &'p str,
        params: &'p [(&'p str, &'p str)],
    ) -> impl Iterator<Item = &'a Row> + use<'a, 'p> {
        self.0.iter().filter(move |row| {
            row.scenario == scenario
                && row.contender == contender
                && params.iter().all(|(name, text)| is(row, name, text))
        })
    }

    /// Returns the first of the rows that [`all`](Self::all) returns for the same arguments, or
    /// `None` if there is no such row.
    pub fn find(self, scenario: &str, contender: &str, params: &[(&str, &str)]) -> Option<&'a Row> {
        self.all(scenario, contender, params).next()
    }

    /// Returns the row with the smallest median wall time among the rows that [`all`](Self::all)
    /// returns for the same arguments, or `None` if there is no such row.
    pub fn fastest(
        self,
        scenario: &str,
        contender: &str,
        params: &[(&str, &str)],
    ) -> Option<&'a Row> {
        self.all(scenario, contender, params)
            .min_by(|one, other| one.wall.median.total_cmp(&other.wall.median))
    }
}

/// Returns true if the parameter `name` of `row` has the value `text`.
fn is(row: &Row, name: &str, text: &str) -> bool {
    match row.params.get(name) {
        Some(Value::String(value)) => value == text,
        Some(value) => text.parse().is_ok_and(|text: Value| text == *value),
        None => false,
    }
}
