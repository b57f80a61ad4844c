//! Suites, which repeat published experiments. A suite consists of scenarios and published figures.
//!
//! ```text
//!   scenarios --- engine ---> rows ---+
//!                                     +---> Beside: published, measured here, ours, the better
//!   published lines ------------------+
//! ```
//!
//! The scenarios of a suite are measured like all others. Each [`Published`] line is then shown
//! together with our figure from the same run. The figure of the published system on a machine like
//! this one is also shown, if it is known. Figures from two machines cannot be compared, but two
//! systems on one machine can.

mod rows;

mod published;

mod beside;

use std::fmt;

use crate::scenario::{Effort, Scenario};

pub use beside::{Beside, Line, Standing};
pub use published::{Figure, Here, Published, Unit};
pub use rows::Rows;

/// A repetition of an experiment that others have published.
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
    /// Name of the suite on the command line.
    pub name: &'static str,
    /// Description of the experiment. `--list` shows this description.
    pub about: &'static str,
    /// Scenarios that the suite measures.
    pub scenarios: &'static [Scenario],
    /// Returns the maximum number of bytes that the measurements use, or 0 if the amount is
    /// negligible.
    pub memory_bytes: fn(&Effort) -> u64,
    /// The authors of the published figures, and the machine on which they measured them.
    pub origin: &'static str,
    /// Description of how the published system was measured on a machine like this one. Empty if it
    /// was not measured.
    pub here: &'static str,
    /// The published figures, one line each.
    pub published: &'static [Published],
    /// Notes that are needed to understand the lines, for example what is counted, and how figures
    /// were converted.
    pub note: &'static str,
    /// Returns results that follow from the rows, in addition to the comparison with published
    /// figures. Each entry is one sentence.
    pub findings: fn(Rows<'_>) -> Vec<String>,
}

impl Suite {
    /// A suite without scenarios or published figures. Write `..Suite::PLAIN` at the end of a
    /// struct expression to set the fields that the new suite does not need.
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
