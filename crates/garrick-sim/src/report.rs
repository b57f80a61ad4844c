//! The results of checking a program in many simulated runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use garrick_core::random::mix;

use crate::coverage::Coverage;
use crate::files::{self, Recorded};
use crate::property::Broken;
use crate::run::{End, Move, Outcome, Then};
use crate::trace::Trace;

/// The result of a check without a broken property.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Number of runs.
    pub runs: u64,
    /// Number of steps of all runs.
    pub steps: u64,
    /// Number of runs that were cut off because they had too many steps. Properties that must hold
    /// at the end were not checked in these runs.
    pub cut: u64,
    /// Number of runs that were ended early, because they could only have repeated an earlier run.
    pub redundant: u64,
    /// True if the check has tried all orders of the steps.
    pub complete: bool,
    /// Kinds of events that were seen. Only the runs of every eighth seed contribute to the
    /// coverage.
    pub coverage: Coverage,
    /// Hash of all choices, facts and times of all runs. Two checks with the same hash have made
    /// the same runs.
    pub hash: u64,
    /// Time that the check took.
    pub time: Duration,
}

impl Report {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.hash = mix(self.hash ^ outcome.hash);
        self.steps += outcome.moves.len() as u64;
        self.cut += u64::from(outcome.end == End::Cut);
        self.redundant += u64::from(outcome.end == End::Left);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, {} steps", self.runs, self.steps)?;
        if self.cut > 0 {
            write!(f, ", {} runs were cut", self.cut)?;
        }
        if self.redundant > 0 {
            write!(f, ", {} runs were redundant", self.redundant)?;
        }
        if self.complete {
            write!(f, ", all orders were tried")?;
        }
        write!(f, ", {}, {:.2} s", self.coverage, self.time.as_secs_f64())
    }
}

/// A broken property, and the shortest run known to break this property.
#[derive(Debug)]
pub struct Failed {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) broken: Broken,
    pub(crate) before: usize,
    pub(crate) moves: Vec<Move>,
    pub(crate) steps: usize,
    pub(crate) shrink_runs: u64,
    pub(crate) shrink_time: Duration,
    pub(crate) trace: Trace,
    pub(crate) report: Report,
    pub(crate) folder: Option<PathBuf>,
}

impl Failed {
    /// Returns the broken property.
    #[must_use]
    pub fn broken(&self) -> &Broken {
        &self.broken
    }

    /// Returns the seed of the first run in which the property was broken.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the choices that break the property, after shortening.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Returns the number of steps of the shortest run. This number includes the steps that the run
    /// takes after the choices of [`Failed::moves`].
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the trace of the shortest run.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the result of all runs until the failure.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the time that was spent on shortening the failing run, and the number of runs that
    /// were made for the shortening.
    #[must_use]
    pub fn shortening(&self) -> (Duration, u64) {
        (self.shrink_time, self.shrink_runs)
    }

    /// Writes the trace, the diagram and the choices to files.
    pub(crate) fn write_files(mut self, folder: Option<&Path>) -> Box<Self> {
        let recorded = Recorded {
            seed: self.seed,
            types: files::hash_of_types(self.trace.types()),
            moves: self.moves.clone(),
            then: Then::after(&self.broken),
        };
        let name = |extension| files::name_of(&self.name, self.seed, extension);
        let written = files::write(
            folder,
            &[
                (name("txt"), self.to_string()),
                (name("mmd"), self.trace.mermaid()),
                (name("choices"), recorded.text()),
            ],
        );
        // A failure to write must not hide the failure of the program.
        self.folder = written.ok();
        Box::new(self)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, seed, .. } = self;
        writeln!(f, "{}", self.broken)?;
        writeln!(f)?;
        write!(f, "{}", self.trace)?;
        writeln!(f)?;
        writeln!(
            f,
            "seed {seed} of \"{name}\", after {}. {} steps were shortened to {} choices and {} steps \
             in {} runs and {:.2} s.",
            self.report,
            self.before,
            self.moves.len(),
            self.steps,
            self.shrink_runs,
            self.shrink_time.as_secs_f64(),
        )?;
        writeln!(f, "To run the seed again: GARRICK_SIM_SEED={seed}")?;
        if let Some(folder) = &self.folder {
            let file = folder.join(files::name_of(name, *seed, "choices"));
            writeln!(
                f,
                "To run the short version: GARRICK_SIM_CHOICES={}",
                file.display()
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Failed {}
