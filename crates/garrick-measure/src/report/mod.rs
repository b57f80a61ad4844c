//! Rows, with where they come from, in all forms in which they are wanted.

mod csv;
mod table;

mod beside;

mod compare;

mod html;

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::machine::{COMMIT, Machine};
use crate::plot::{self, Plot};
use crate::row::Row;
use crate::scenario::Result;
use crate::suite::Beside;

pub use compare::{Change, Comparison, Verdict};

/// What a run came to.
///
/// # Examples
/// ```
/// use garrick_measure::{Dut, Experiment, Report};
///
/// let report = Experiment::new("nothing", "doing nothing at all")
///     .dut(Dut::new("unit", |_| || ()))
///     .seconds_per_row(0.01)
///     .run()?;
/// assert!(report.table().contains("nothing"));
/// assert!(report.csv().starts_with("scenario,contender,"));
/// let again = Report::parse(&report.json())?;
/// assert_eq!(again.rows(), report.rows());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where it was measured.
    machine: Machine,
    /// What was measured.
    commit: String,
    /// What came out.
    rows: Vec<Row>,
    /// What was published of the suites that were repeated, beside the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    suites: Vec<Beside>,
}

impl Report {
    /// Rows that were measured on this machine by this command.
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self {
            machine: Machine::this(),
            commit: COMMIT.to_owned(),
            rows,
            suites: Vec::new(),
        }
    }

    /// These rows with what was published beside them.
    pub(crate) fn with_suites(mut self, suites: Vec<Beside>) -> Self {
        self.suites = suites;
        self
    }

    /// What was measured, in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What was published of the suites that were repeated, beside the rows.
    pub fn suites(&self) -> &[Beside] {
        &self.suites
    }

    /// Machine, compiler and commit, in one line.
    pub fn provenance(&self) -> String {
        format!("{}; commit {}", self.machine, self.commit)
    }

    /// The text of a JSON file.
    pub fn json(&self) -> String {
        let json =
            serde_json::to_string_pretty(self).expect("names are strings, figures are finite");
        json + "\n"
    }

    /// Takes a report out of the text of such a file, also of one that an older version wrote.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(json: &str) -> Result<Self> {
        Ok(serde_json::from_str(json)?)
    }

    /// The same for a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not one.
    pub fn load(path: &Path) -> Result<Self> {
        Self::parse(&fs::read_to_string(path)?)
    }

    /// A picture of each scenario or sweep, and a second one where wall time differs from CPU time.
    pub fn plots(&self) -> Vec<Plot> {
        plot::plots(&self.rows, &self.provenance())
    }

    /// Writes all pictures into a folder as SVG files.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_svg(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for plot in self.plots() {
            let file = folder.join(format!("{}.svg", plot.name().replace('/', "-")));
            fs::write(&file, plot.svg()).map_err(|error| unwritable(&file, &error))?;
        }
        Ok(())
    }
}

/// What is wrong with a file that cannot be written.
pub(crate) fn unwritable(file: &Path, error: &io::Error) -> String {
    format!("cannot write to '{}': {error}", file.display())
}

#[cfg(test)]
mod tests;
