//! Experiments that somebody has published, repeated: scenarios, and what their source says of them.
//!
//! ```text
//!   scenarios --- engine ---> rows ---+
//!                                     +---> Beside: published, measured here, ours, and who wins
//!   published lines ------------------+
//! ```
//!
//! The scenarios of a suite are measured like all others. Each [`Published`] line is then put beside what this very
//! run has measured of us, and beside what the system that it is of takes on a machine like this one, where that is
//! known: two machines cannot be compared, two systems on one machine can.

mod rows;

mod published;

mod beside;

use std::fmt;

use crate::scenario::{Effort, Scenario};

pub use beside::{Beside, Line, Standing};
pub use published::{Figure, Here, Published, Unit};
pub use rows::Rows;

/// An experiment that somebody has published, repeated.
///
/// # Examples
/// ```
/// use garrick_measure::{Figure, Published, Suite, Unit};
///
/// static TREES: Suite = Suite {
///     name: "trees",
///     about: "The trees of a well-known paper",
///     origin: "a paper, on a machine of 1999",
///     published: &[Published {
///         of: "a leaf",
///         unit: Unit::NANOSECONDS,
///         said: Some(Figure::of(900.0)),
///         ours: |rows| Some(rows.find("leaf", "garrick", &[("depth", "4")])?.cpu.median),
///         ..Published::UNKNOWN
///     }],
///     ..Suite::PLAIN
/// };
/// assert_eq!(TREES.published[0].unit, Unit::NANOSECONDS);
/// ```
pub struct Suite {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it repeats: the line about it in `--list`.
    pub about: &'static str,
    /// What is measured.
    pub scenarios: &'static [Scenario],
    /// Bytes of memory that measuring takes at most; 0 if that is not worth a thought.
    pub memory_bytes: fn(&Effort) -> u64,
    /// Whose figures are published, and on which machine they were measured.
    pub origin: &'static str,
    /// Which system was measured on a machine like this one, and how. Empty if none was.
    pub here: &'static str,
    /// What was published.
    pub published: &'static [Published],
    /// What a reader of the lines has to know: what is counted, and how it is converted.
    pub note: &'static str,
    /// What else comes out of the rows, a sentence each.
    pub findings: fn(Rows<'_>) -> Vec<String>,
}

impl Suite {
    /// One of which nothing was published.
    pub const PLAIN: Self = Self {
        name: "",
        about: "",
        scenarios: &[],
        memory_bytes: |_| 0,
        origin: "",
        here: "",
        published: &[],
        note: "",
        findings: |_| Vec::new(),
    };
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
