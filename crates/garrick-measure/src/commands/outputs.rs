//! Outputs of a measurement in addition to the printed table.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Ended, console};
use crate::report::{Report, unwritable};
use crate::scenario::Result;
use crate::stop::Stop;

#[derive(Debug, Args)]
pub(super) struct Outputs {
    /// Write the results to this file as JSON, in addition to the table. With `-`, they go to
    /// standard output, and the table goes to standard error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the results to this file as CSV, in addition to the table. With `-`, they go to
    /// standard output, and the table goes to standard error.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the results to this file as one self-contained HTML page with pictures and tables.
    /// With `-`, the page goes to standard output, and the table goes to standard error.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write pictures into this folder, as SVG files.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// Compare each row with the JSON file of another run. The exit code is 1 if a row became
    /// slower.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// An earlier run with which the results are compared, if the user has requested a comparison.
pub(super) type Before = Option<Report>;

impl Outputs {
    /// Checks that all files can be written and read, and returns the earlier run. So mistakes are
    /// found before the measurement, which may take minutes. Creates files and folders that do not
    /// exist. Existing files are not changed until the measurement has finished.
    pub(super) fn check(&self) -> std::result::Result<Before, String> {
        if self.files().filter(|file| is_stdout(file)).count() > 1 {
            return Err(
                "standard output (`-`) can be used for one kind of results only".to_owned(),
            );
        }
        // Before any file is created: a missing file must not be found empty.
        let load = |file: &PathBuf| {
            Report::load(file)
                .map_err(|error| format!("cannot compare with '{}': {error}", file.display()))
        };
        let before = self.compare.as_ref().map(load).transpose()?;
        let mut known = Vec::new();
        for file in self.files().filter(|file| !is_stdout(file)) {
            let path = check_writable(file).map_err(|error| unwritable(file, &error))?;
            if path.is_file() && known.contains(&path) {
                return Err(format!(
                    "'{}' can be used for one kind of results only",
                    file.display()
                ));
            }
            known.push(path);
        }
        if let Some(folder) = &self.svg {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        Ok(before)
    }

    /// Prints the table, writes all requested files, and returns the outcome of the command.
    pub(super) fn finish(
        &self,
        title: &str,
        report: &Report,
        before: Option<&Report>,
        stop: &Stop,
    ) -> Result<Ended> {
        let comparison = before.map(|before| report.compare(before));
        write(&self.json, || report.json())?;
        write(&self.csv, || report.csv())?;
        write(&self.html, || report.html(title, comparison.as_ref()))?;
        if let Some(folder) = &self.svg {
            report.write_svg(folder)?;
        }
        let mut text = report.table().trim_end().to_owned();
        if let Some(comparison) = &comparison {
            text += &format!("\n\n{}", comparison.table().trim_end());
        }
        if self.files().any(is_stdout) {
            console::warn(&text);
        } else {
            console::print(&text);
        }
        if stop.is_wanted() {
            let rows = report.rows().len();
            let kept = format!("the results contain the {rows} rows measured so far");
            return Ok(Ended::Interrupted(kept));
        }
        let slower = comparison.map_or(0, |comparison| comparison.slower().count());
        Ok(match slower {
            0 => Ended::Well,
            1 => Ended::Wrong("1 row became slower".to_owned()),
            rows => Ended::Wrong(format!("{rows} rows became slower")),
        })
    }
}

impl Outputs {
    /// Returns the paths of the JSON, CSV and HTML files that the user has requested.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.json, &self.csv, &self.html].into_iter();
        files.flatten().map(PathBuf::as_path)
    }
}

/// Returns true if `file` stands for standard output.
fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

/// Writes `contents` to `file`. Does nothing if `file` is `None`.
fn write(file: &Option<PathBuf>, contents: impl FnOnce() -> String) -> io::Result<()> {
    match file {
        None => Ok(()),
        Some(file) if is_stdout(file) => {
            console::print(contents().trim_end());
            Ok(())
        }
        Some(file) => fs::write(file, contents()),
    }
}

/// Creates `file` if it does not exist, and checks that it can be written. Returns its path without
/// links and relative parts.
fn check_writable(file: &Path) -> io::Result<PathBuf> {
    OpenOptions::new().append(true).create(true).open(file)?;
    fs::canonicalize(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(json: &Path, csv: &Path) -> Outputs {
        Outputs {
            json: Some(json.to_owned()),
            csv: Some(csv.to_owned()),
            html: None,
            svg: None,
            compare: None,
        }
    }

    #[test]
    fn each_file_has_one_kind_of_results() {
        let folder = std::env::temp_dir().join(format!("garrick-outputs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (one, other) = (folder.join("one"), folder.join("other"));
        assert!(outputs(&one, &other).check().is_ok());
        let error = outputs(&one, &folder.join(".").join("one")).check();
        let error = error.expect_err("one result would replace the other");
        assert!(
            error.ends_with("can be used for one kind of results only"),
            "{error}"
        );
        // A file that is created for the results is not read as an earlier run.
        let new = folder.join("new");
        let mut compared = outputs(&new, &other);
        compared.compare = Some(new.clone());
        assert!(compared.check().is_err());
        assert!(!new.exists(), "nothing is created after a mistake");
        fs::remove_dir_all(&folder).unwrap();
    }
}
