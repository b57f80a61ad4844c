//! The rounds of the study of journals. The raw disk is measured before and after each measurement
//! of a contender.

use std::io;
use std::path::Path;
use std::time::Duration;

use garrick_measure::{Result, Stop};

use super::contender::{Contender, Ready};
use super::disk::{Place, raw};
use super::run::{Outcome, Plan};
use super::strace::Syncs;

/// Numbers of entities to measure. Each entity has one command in progress.
const ENTITIES: [usize; 3] = [1, 32, 1_000];

/// The number of rounds of the study, and the durations of its measurements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) rounds: usize,
    /// Duration of each measurement of a contender.
    lasts: Duration,
    /// Duration of each measurement of the raw disk.
    raw: Duration,
    warm_up: Duration,
    /// Duration of the warm-up on the Java virtual machine, which compiles the code during this
    /// time.
    jvm_warm_up: Duration,
}

pub(super) const FULL: Sizes = Sizes {
    rounds: 3,
    lasts: Duration::from_secs(2),
    raw: Duration::from_millis(500),
    warm_up: Duration::from_millis(200),
    jvm_warm_up: Duration::from_secs(5),
};

pub(super) const QUICK: Sizes = Sizes {
    rounds: 1,
    lasts: Duration::from_millis(300),
    raw: Duration::from_millis(150),
    warm_up: Duration::from_millis(100),
    jvm_warm_up: Duration::from_secs(2),
};

/// A measurement of a contender, and the measurements of the raw disk before and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Rates of the raw disk before and after the contender's run. A rate is the number of times
    /// per second that one thread has written and synced.
    pub(super) raw: [f64; 2],
    pub(super) outcome: Outcome,
}

/// All rounds of one contender with one number of entities, which are one row of the table.
pub(super) struct Row {
    pub(super) contender: &'static Contender,
    pub(super) entities: usize,
    pub(super) rounds: Vec<Round>,
    /// The counted syncs. `None` if the syncs were not counted.
    pub(super) syncs: Option<Syncs>,
}

/// The results of the study of journals.
pub(super) struct Results {
    pub(super) rows: Vec<Row>,
    /// Contenders that could not be measured, with the reasons.
    pub(super) missing: Vec<(&'static str, String)>,
    /// Errors of single runs. After an error, the other runs continue.
    pub(super) failed: Vec<String>,
}

/// The contenders to measure, and the folder for their files.
pub(super) struct Study<'a> {
    pub(super) contenders: &'a [&'static Contender],
    pub(super) sizes: Sizes,
    pub(super) folder: &'a Path,
    /// True if the syncs of each contender are counted in an additional run.
    pub(super) traces: bool,
}

impl Round {
    /// Returns the rate of the raw disk: the mean of its rates before and after the contender's
    /// run.
    pub(super) fn raw_mean(&self) -> f64 {
        let [before, after] = self.raw;
        (before + after) / 2.0
    }

    /// Returns the contender's commands per second, divided by the rate of the raw disk.
    pub(super) fn ratio(&self) -> f64 {
        self.outcome.commands_per_second() / self.raw_mean()
    }
}

impl Study<'_> {
    /// Measures all rows of the table, and calls `show` after each measurement. When `stop` is set,
    /// the method returns the results so far.
    pub(super) fn measure(&self, stop: &Stop, mut show: impl FnMut(&str)) -> Result<Results> {
        let mut results = Results {
            rows: Vec::new(),
            missing: Vec::new(),
            failed: Vec::new(),
        };
        let mut ready = Vec::new();
        for contender in self.contenders {
            match contender.ready() {
                Ok(program) => ready.push((*contender, program)),
                Err(why) => results.missing.push((contender.name, why.to_string())),
            }
        }
        let pairs = || {
            ENTITIES
                .iter()
                .flat_map(|n| ready.iter().map(move |one| (*n, one)))
        };
        results
            .rows
            .extend(pairs().map(|(entities, (contender, _))| Row {
                contender,
                entities,
                rounds: Vec::new(),
                syncs: None,
            }));
        for round in 1..=self.sizes.rounds {
            for (row, (_, (_, program))) in results.rows.iter_mut().zip(pairs()) {
                if stop.is_wanted() {
                    return Ok(results);
                }
                let measured = self.round(row, program);
                // A signal ends the process of a contender, too.
                if measured.is_err() && stop.is_wanted() {
                    return Ok(results);
                }
                match measured {
                    Ok(measured) => {
                        show(&told(row, &measured, round, self.sizes.rounds));
                        row.rounds.push(measured);
                    }
                    Err(why) => {
                        let why = named(row, why.as_ref());
                        show(&why);
                        results.failed.push(why);
                    }
                }
            }
        }
        if self.traces {
            self.trace(&mut results, &ready, stop)?;
        }
        Ok(results)
    }

    fn trace(
        &self,
        results: &mut Results,
        ready: &[(&'static Contender, Ready)],
        stop: &Stop,
    ) -> Result<()> {
        for row in &mut results.rows {
            let is_it =
                |(contender, _): &&(&Contender, Ready)| contender.name == row.contender.name;
            let Some((_, program)) = ready.iter().find(is_it) else {
                continue;
            };
            let place = Place::new(self.folder)?;
            let plan = self.plan(row, &place)?;
            let traced = program.run_traced(&plan, &place.path().join("strace.log"));
            if stop.is_wanted() {
                return Ok(());
            }
            match traced {
                Ok(syncs) => row.syncs = Some(syncs),
                Err(why) => results.failed.push(named(row, why.as_ref())),
            }
        }
        Ok(())
    }

    fn round(&self, row: &Row, program: &Ready) -> Result<Round> {
        let place = Place::new(self.folder)?;
        let plan = self.plan(row, &place)?;
        let before = raw(place.path(), self.sizes.raw)?;
        let outcome = program.run(&plan)?;
        let after = raw(place.path(), self.sizes.raw)?;
        Ok(Round {
            raw: [before, after],
            outcome,
        })
    }

    fn plan(&self, row: &Row, place: &Place) -> io::Result<Plan> {
        let folder = place.path().join("entities");
        std::fs::create_dir(&folder)?;
        let sizes = self.sizes;
        let jvm = row.contender.is_jvm();
        Ok(Plan {
            entities: row.entities,
            warm_up: if jvm {
                sizes.jvm_warm_up
            } else {
                sizes.warm_up
            },
            lasts: sizes.lasts,
            folder,
        })
    }
}

/// Returns an error message: a text that identifies the row, and the message of the error.
fn named(row: &Row, why: &dyn std::error::Error) -> String {
    format!(
        "{} with {} entities: {why}",
        row.contender.name, row.entities
    )
}

fn told(row: &Row, measured: &Round, round: usize, rounds: usize) -> String {
    let rate = measured.outcome.commands_per_second();
    format!(
        "round {round} of {rounds}: {}, {} entities: {rate:.0} commands/s",
        row.contender.name, row.entities
    )
}
