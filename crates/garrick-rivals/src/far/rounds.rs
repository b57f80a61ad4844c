//! The rounds of the study. In each round, all contenders do each work in turn. Their processes
//! run through the whole study, so that each work is measured beside the same work of the others.

use std::time::Duration;

use garrick_measure::{Result, Stop};

use super::contender::{Contender, Pair, Ready};
use super::order::{Order, Outcome, SMALL, Work};

/// All work, in the order of the table.
pub(super) const WORKS: [Work; 5] = [
    Work::Tell { bytes: SMALL },
    Work::Tell { bytes: 256 },
    Work::Tell { bytes: 4_096 },
    Work::Ask { in_flight: 1 },
    Work::Ask { in_flight: 64 },
];

/// The number of rounds of the study, and the durations of its measurements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) rounds: usize,
    /// Duration of each measurement.
    lasts: Duration,
    /// Duration of the warm-up of each row.
    warm_up: Duration,
    /// Duration of the warm-up on the Java virtual machine, which compiles the code during this
    /// time.
    jvm_warm_up: Duration,
}

pub(super) const FULL: Sizes = Sizes {
    rounds: 9,
    lasts: Duration::from_millis(700),
    warm_up: Duration::from_millis(300),
    jvm_warm_up: Duration::from_secs(5),
};

pub(super) const QUICK: Sizes = Sizes {
    rounds: 1,
    lasts: Duration::from_millis(100),
    warm_up: Duration::from_millis(50),
    jvm_warm_up: Duration::from_secs(1),
};

/// Number of messages or questions of the first warm-up of a row.
const FIRST: u64 = 200;

/// Maximum factor from one number of messages to the next, while the warm-up finds the rate.
const GROWTH_MAX: f64 = 16.0;

/// Maximum number of bytes of messages in a measurement. Queues without bound hold them all.
const BYTES_MAX: u64 = 2 << 30;

/// All rounds of one contender with one work, which are one row of the table.
pub(super) struct Row {
    pub(super) contender: &'static Contender,
    pub(super) work: Work,
    /// The outcome of each round. `None` if the measurement has failed.
    pub(super) rounds: Vec<Option<Outcome>>,
    /// Number of messages or questions of the next measurement.
    count: u64,
}

/// The results of the study.
pub(super) struct Results {
    pub(super) rows: Vec<Row>,
    /// Contenders that could not be measured, with the reasons.
    pub(super) missing: Vec<(&'static str, String)>,
    /// Errors of single measurements. After an error, the other measurements continue.
    pub(super) failed: Vec<String>,
}

/// The contenders to measure.
pub(super) struct Study<'a> {
    pub(super) contenders: &'a [&'static Contender],
    pub(super) sizes: Sizes,
    /// Address of the NATS server. Empty if no contender needs one.
    pub(super) server: &'a str,
}

/// A contender in the study, with its processes if they run.
struct Runner<'a> {
    contender: &'static Contender,
    ready: Ready,
    pair: Option<Pair>,
    server: &'a str,
}

impl Runner<'_> {
    /// Does some work. Starts the processes again if they have failed before.
    fn carry_out(&mut self, order: Order) -> Result<Outcome> {
        let mut pair = match self.pair.take() {
            Some(pair) => pair,
            None => self.ready.start(self.server)?,
        };
        let outcome = pair.carry_out(order)?;
        self.pair = Some(pair);
        Ok(outcome)
    }
}

impl Row {
    fn new(contender: &'static Contender, work: Work) -> Self {
        Self {
            contender,
            work,
            rounds: Vec::new(),
            count: FIRST,
        }
    }

    /// Measures the row once. The number of messages for the next time is fitted to the outcome, so
    /// that the next measurement takes as long as wanted.
    fn measure(&mut self, runner: &mut Runner<'_>, lasts: Duration) -> Result<Outcome> {
        let (work, count) = (self.work, self.count);
        let outcome = runner.carry_out(Order { work, count })?;
        self.count = fitted(work, &outcome, lasts);
        Ok(outcome)
    }

    fn warm_up(&mut self, runner: &mut Runner<'_>, sizes: Sizes) -> Result<()> {
        let lasts = match self.contender.is_jvm() {
            true => sizes.jvm_warm_up,
            false => sizes.warm_up,
        };
        let mut seconds = 0.0;
        loop {
            let outcome = self.measure(runner, sizes.lasts)?;
            seconds += outcome.seconds;
            let is_fitted = outcome.seconds * GROWTH_MAX >= sizes.lasts.as_secs_f64();
            if is_fitted && seconds >= lasts.as_secs_f64() {
                return Ok(());
            }
        }
    }

    /// Returns a text for errors and progress.
    fn label(&self) -> String {
        format!("{}, {}", self.contender.name, self.work)
    }
}

/// Returns the number of messages or questions that takes about as long as wanted.
fn fitted(work: Work, outcome: &Outcome, lasts: Duration) -> u64 {
    let factor = lasts.as_secs_f64() / outcome.seconds;
    let count = (outcome.count as f64 * factor.min(GROWTH_MAX)).ceil() as u64;
    let most = match work {
        Work::Tell { bytes } => BYTES_MAX / bytes as u64,
        Work::Ask { .. } => u64::MAX,
    };
    count.clamp(FIRST, most)
}

impl Study<'_> {
    /// Measures all rows of the table, and calls `show` after each measurement. When `stop` is set,
    /// the method returns the results so far.
    pub(super) fn measure(&self, stop: &Stop, mut show: impl FnMut(&str)) -> Results {
        let mut results = Results {
            rows: Vec::new(),
            missing: Vec::new(),
            failed: Vec::new(),
        };
        let mut runners = self.runners(&mut results, &mut show);
        for work in WORKS {
            let of_work = runners
                .iter()
                .map(|runner| Row::new(runner.contender, work));
            results.rows.extend(of_work);
        }
        let count = runners.len();
        for (index, row) in results.rows.iter_mut().enumerate() {
            if stop.is_wanted() {
                return results;
            }
            if let Err(why) = row.warm_up(&mut runners[index % count], self.sizes) {
                show(&format!("{}: {why}", row.label()));
            }
        }
        for round in 1..=self.sizes.rounds {
            for (index, row) in results.rows.iter_mut().enumerate() {
                if stop.is_wanted() {
                    return results;
                }
                let measured = row.measure(&mut runners[index % count], self.sizes.lasts);
                // A signal ends the processes of a contender, too.
                if measured.is_err() && stop.is_wanted() {
                    return results;
                }
                match &measured {
                    Ok(outcome) => show(&told(row, outcome, round, self.sizes.rounds)),
                    Err(why) => {
                        let why = format!("{}: {why}", row.label());
                        show(&why);
                        results.failed.push(why);
                    }
                }
                row.rounds.push(measured.ok());
            }
        }
        results
    }

    /// Builds and starts all contenders. Those that cannot be built or started are missing in the
    /// results.
    fn runners(&self, results: &mut Results, show: &mut impl FnMut(&str)) -> Vec<Runner<'_>> {
        let mut runners = Vec::new();
        for contender in self.contenders {
            let started = contender.ready().and_then(|ready| {
                let pair = ready.start(self.server)?;
                Ok(Runner {
                    contender,
                    ready,
                    pair: Some(pair),
                    server: self.server,
                })
            });
            match started {
                Ok(runner) => runners.push(runner),
                Err(why) => {
                    show(&format!("{}: {why}", contender.name));
                    results.missing.push((contender.name, why.to_string()));
                }
            }
        }
        runners
    }
}

fn told(row: &Row, outcome: &Outcome, round: usize, rounds: usize) -> String {
    format!(
        "round {round} of {rounds}: {}: {:.0}/s",
        row.label(),
        outcome.rate()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::far::order::tests::sample;

    #[test]
    fn the_number_of_messages_is_fitted_to_the_time() {
        // 1,000 in half a second.
        let fits = |work, seconds| fitted(work, &sample(), Duration::from_secs_f64(seconds));
        let (ask, tell) = (Work::Ask { in_flight: 1 }, Work::Tell { bytes: 1 << 22 });
        assert_eq!(fits(ask, 1.0), 2_000);
        assert_eq!(fits(ask, 1_000.0), 16_000);
        assert_eq!(fits(ask, 0.0), FIRST);
        // At most 2 GiB.
        assert_eq!((fits(tell, 0.25), fits(tell, 0.5)), (500, 512));
    }
}
