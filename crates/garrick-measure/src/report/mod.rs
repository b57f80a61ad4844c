//! Reports: the rows of a run and their origin, in all output formats.

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

/// The results of a run.
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
    /// Machine on which the rows were measured.
    machine: Machine,
    /// Git commit of the code that was measured.
    commit: String,
    /// Rows of the run.
    rows: Vec<Row>,
    /// Published figures of the repeated suites, together with our figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    suites: Vec<Beside>,
}

impl Report {
    /// Creates a report of rows that were measured on this machine by this command.
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self {
            machine: Machine::this(),
            commit: COMMIT.to_owned(),
            rows,
            suites: Vec::new(),
        }
    }

    /// Adds the published figures of the repeated suites, together with our figures.
    pub(crate) fn with_suites(mut self, suites: Vec<Beside>) -> Self {
        self.suites = suites;
        self
    }

    /// Returns the rows, in the order in which they were measured.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the published figures together with our figures, for each suite that was measured.
    pub fn suites(&self) -> &[Beside] {
        &self.suites
    }

    /// Returns the machine, the compiler and the commit of the run, in one line.
    pub fn provenance(&self) -> String {
        format!("{}; commit {}", self.machine, self.commit)
    }

    /// Returns the whole report as the text of a JSON file.
    pub fn json(&self) -> String {
        let json =
            serde_json::to_string_pretty(self).expect("names are strings, figures are finite");
        json + "\n"
    }

    /// Parses a report from the text of a JSON file. Files that were written by older versions are
    /// accepted as well.
    ///
    /// # Errors
    /// Fails if the text is not a report.
    pub fn parse(json: &str) -> Result<Self> {
        Ok(serde_json::from_str(json)?)
    }

    /// Loads a report from a JSON file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a report.
    pub fn load(path: &Path) -> Result<Self> {
        Self::parse(&fs::read_to_string(path)?)
    }

    /// Returns a picture of the CPU times for each scenario or sweep. If the wall times differ from
    /// the CPU times by a factor of more than 1.2, there is a second picture, which shows the wall
    /// times.
    pub fn plots(&self) -> Vec<Plot> {
        plot::plots(&self.rows, &self.provenance())
    }

    /// Writes all pictures into `folder` as SVG files. Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, or if a file cannot be written.
    pub fn write_svg(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for plot in self.plots() {
            let file = folder.join(format!("{}.svg", plot.name().replace('/', "-")));
            fs::write(&file, plot.svg()).map_err(|error| unwritable(&file, &error))?;
        }
        Ok(())
    }
}

/// Describes the error for a file that cannot be written.
pub(crate) fn unwritable(file: &Path, error: &io::Error) -> String {
    format!("cannot write to '{}': {error}", file.display())
}

#[cfg(test)]
mod tests;
