//! Runs mutants with the models and tests that should kill them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Result, bail};

use super::plan::Mutant;
use super::programs::{Programs, Trial};
use crate::parallel::in_parallel;
use crate::process::{Ended, Job};

/// Bounds on preemptions, in the order in which they are tried. A mutant that survives with the
/// first bound is run with the next one.
pub(super) const PREEMPTIONS: &[u32] = &[2, 3];

/// Number of further runs of a test program that has failed. The mutant is killed if one of these
/// runs fails too. Tests with threads sometimes fail because of the machine, but a model has the
/// same result each time.
const MORE_RUNS: usize = 4;

/// Loom's message about a thread that loops without end.
const ENDLESS: &str = "Model exceeded maximum number of branches";

/// Time limit of a quick model. Slower models run after the tests.
const QUICK: Duration = Duration::from_secs(5);

/// Time limit of a trial with a mutant, as a multiple of the time of the same trial without a
/// mutant. A trial that exceeds the limit counts as hanging. A model may take longer with a mutant,
/// because it may have more orders to try.
const TIMES_THE_BASELINE: u32 = 3;

/// The result of running a mutant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// A model or test failed, or hung.
    Killed {
        by: String,
        seconds: f64,
        /// Bound on preemptions if a model has killed the mutant. `None` if a test has killed the
        /// mutant.
        preemptions: Option<u32>,
        hung: bool,
    },
    /// No model or test has failed. The list contains the names of all trials that passed.
    Survived { faced: Vec<String> },
}

/// Settings for running mutants.
pub(super) struct Judge<'a> {
    pub(super) programs: &'a Programs,
    /// Number of mutants to run at the same time.
    pub(super) jobs: usize,
    /// Bounds on preemptions, in the order in which they are tried.
    pub(super) preemptions: &'a [u32],
    /// True if only models that are quick without a mutant are run. In this case a survivor has not
    /// been run with all models.
    pub(super) quick: bool,
    /// Minimum time limit of a trial.
    pub(super) limit: Duration,
    /// Folder for the output of failed trials.
    pub(super) logs: PathBuf,
}

/// The time of each trial without a mutant, or `None` if the trial did not end. Such a trial may
/// still fail quickly with a mutant, but a hang does not kill the mutant.
type Baseline = HashMap<Trial, Option<Duration>>;

impl Judge<'_> {
    /// Runs all `mutants`. Returns the fate of each mutant, in the order of `mutants`.
    pub(super) fn judge(&self, mutants: &[&Mutant]) -> Result<Vec<Fate>> {
        fs::create_dir_all(&self.logs)?;
        let mut fates: Vec<Option<Fate>> = vec![None; mutants.len()];
        for (round, &preemptions) in self.preemptions.iter().enumerate() {
            let mut left: Vec<(usize, &Mutant, Vec<Trial>)> = Vec::new();
            for (index, mutant) in mutants.iter().enumerate() {
                if matches!(fates[index], None | Some(Fate::Survived { .. })) {
                    let mut trials = self.programs.models(mutant);
                    if round == 0 {
                        trials.extend(self.programs.tests(mutant)?);
                    }
                    left.push((index, mutant, trials));
                }
            }
            let baseline = self.baseline(&left, preemptions)?;
            println!("\n== {} mutants, {preemptions} preemptions", left.len());
            let done = AtomicUsize::new(0);
            let judged = in_parallel(&left, self.jobs, |(_, mutant, trials)| {
                let fate = self.run(mutant, trials, &baseline, preemptions)?;
                let nth = done.fetch_add(1, Relaxed) + 1;
                println!(
                    "{nth:>4}/{} {:<9} {}  {}",
                    left.len(),
                    fate.word(),
                    mutant.id,
                    fate.detail()
                );
                Ok(fate)
            })?;
            for ((index, ..), fate) in left.iter().zip(judged) {
                fates[*index] = Some(fate.with_trials_of(fates[*index].as_ref()));
            }
        }
        Ok(fates.into_iter().flatten().collect())
    }

    /// Runs all trials without a mutant. Returns the time of each trial, or `None` for a model that
    /// hangs. Returns an error if a trial fails, or if a test hangs.
    fn baseline(
        &self,
        mutants: &[(usize, &Mutant, Vec<Trial>)],
        preemptions: u32,
    ) -> Result<Baseline> {
        let trials: BTreeSet<&Trial> = mutants.iter().flat_map(|(.., trials)| trials).collect();
        let trials: Vec<&Trial> = trials.into_iter().collect();
        println!(
            "\n== {} models and test programs without a mutant, {preemptions} preemptions",
            trials.len()
        );
        let times = in_parallel(&trials, self.jobs, |trial| {
            let is_quick = self.quick && trial.is_model;
            let limit = if is_quick {
                QUICK
            } else {
                self.limit * TIMES_THE_BASELINE
            };
            let run = trial.job(0, preemptions, limit).watch()?;
            if run.ended == Ended::Failed || run.ended == Ended::Hung && !trial.is_model {
                bail!(
                    "`{}` must pass without a mutant:\n{}",
                    trial.name,
                    run.output
                );
            }
            let time = (run.ended == Ended::Passed).then_some(run.time);
            let word = time.map_or("no end in ", |_| "");
            println!("{word}{:>8.1} s  {}", run.time.as_secs_f64(), trial.name);
            Ok(time)
        })?;
        Ok(trials.into_iter().cloned().zip(times).collect())
    }

    /// Runs the trials of one mutant until one of them fails. The order is quick models, tests, and
    /// other models. In each group, the trials of the mutant's module come first.
    fn run(
        &self,
        mutant: &Mutant,
        trials: &[Trial],
        baseline: &Baseline,
        preemptions: u32,
    ) -> Result<Fate> {
        let mut trials: Vec<&Trial> = trials.iter().collect();
        let time = |trial: &Trial| baseline[trial];
        trials.retain(|trial| !self.quick || time(trial).is_some());
        trials.sort_by_key(|trial| {
            let is_long = trial.is_model && time(trial).is_none_or(|time| time > QUICK);
            let is_test = !trial.is_model;
            (
                is_long,
                is_test,
                !trial.is_own,
                time(trial).unwrap_or(Duration::MAX),
            )
        });
        let mut hang = None;
        for trial in &trials {
            let limit = self
                .limit
                .max(time(trial).unwrap_or_default() * TIMES_THE_BASELINE);
            let run = trial.job(mutant.number, preemptions, limit).watch()?;
            let killed = |by: &str, hung| Fate::Killed {
                by: by.to_owned(),
                seconds: run.time.as_secs_f64(),
                preemptions: trial.is_model.then_some(preemptions),
                hung,
            };
            match run.ended {
                Ended::Passed => {}
                Ended::Hung if time(trial).is_none() => {}
                // Continue with the other trials, because a failure is a better verdict than a
                // hang. The model may only have too many orders to try.
                Ended::Hung if trial.is_model => hang = hang.or(Some(killed(&trial.name, true))),
                ended => {
                    let job = trial.job(mutant.number, preemptions, limit);
                    if !trial.is_model && !fails_again(&job)? {
                        println!(
                            "once of {} runs: {} with {}",
                            MORE_RUNS + 1,
                            trial.name,
                            mutant.id
                        );
                        continue;
                    }
                    self.keep_log(mutant, &run.output)?;
                    let failed = failed_test(&run.output).filter(|_| !trial.is_model);
                    let by = failed.map_or(trial.name.clone(), |test| {
                        format!("{} ({test})", trial.name)
                    });
                    let hung = ended == Ended::Hung || run.output.contains(ENDLESS);
                    return Ok(killed(&by, hung));
                }
            }
        }
        let faced = trials.iter().map(|trial| trial.name.clone()).collect();
        Ok(hang.unwrap_or(Fate::Survived { faced }))
    }

    fn keep_log(&self, mutant: &Mutant, output: &str) -> Result<()> {
        fs::write(self.logs.join(format!("{}.log", mutant.number)), output)?;
        Ok(())
    }
}

impl Fate {
    /// Returns one word: killed or survived.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Killed { .. } => "killed",
            Self::Survived { .. } => "SURVIVED",
        }
    }

    /// Returns the trial that killed the mutant, and its time.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Survived { faced } => format!("{} models and test programs", faced.len()),
            Self::Killed {
                by,
                seconds,
                preemptions,
                hung,
            } => {
                let hung = if *hung { " (HANG)" } else { "" };
                let last = PREEMPTIONS
                    .last()
                    .filter(|last| Some(**last) == *preemptions);
                let bound = last.map_or(String::new(), |bound| format!(", {bound} preemptions"));
                format!("by {by}{hung}, {seconds:.1} s{bound}")
            }
        }
    }

    /// Merges the trials that a survivor has passed in this round and in the previous round.
    fn with_trials_of(self, before: Option<&Self>) -> Self {
        match (self, before) {
            (Self::Survived { mut faced }, Some(Self::Survived { faced: before })) => {
                faced.extend(before.iter().cloned());
                faced.sort_unstable();
                faced.dedup();
                Self::Survived { faced }
            }
            (fate, _) => fate,
        }
    }

    /// Returns true if this mutant has survived the trial that killed it according to `verdict`.
    pub(super) fn refutes(&self, verdict: &str) -> bool {
        let Self::Survived { faced } = self else {
            return false;
        };
        let by = |name: &String| {
            let rest = verdict
                .strip_prefix("killed by ")?
                .strip_prefix(name.as_str())?;
            Some(rest.starts_with([',', ' ']))
        };
        faced.iter().any(|name| by(name) == Some(true))
    }
}

/// Returns true if `verdict` is a kill that needed more preemptions than the first round allows.
pub(super) fn needs_all_bounds(verdict: &str) -> bool {
    verdict.ends_with(" preemptions")
}

/// Returns true if the job fails or hangs in one of [`MORE_RUNS`] further runs.
fn fails_again(job: &Job) -> Result<bool> {
    for _ in 0..MORE_RUNS {
        if job.watch()?.ended != Ended::Passed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the first test that the harness reports as failed.
fn failed_test(output: &str) -> Option<&str> {
    let mut lines = output.lines();
    lines.find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

/// Returns the folder for the logs of a run.
pub(super) fn logs(folder: &Path) -> PathBuf {
    folder.join("logs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failed_test_is_named() {
        assert_eq!(
            failed_test("test a ... ok\ntest b::c ... FAILED\n"),
            Some("b::c")
        );
        assert_eq!(failed_test("test a ... ok\n"), None);
    }

    #[test]
    fn who_has_faced_its_killer_and_lives_was_not_killed_by_it() {
        let faced = vec!["ends".to_owned(), "ring::wraps".to_owned()];
        let lived = Fate::Survived { faced };
        assert!(lived.refutes("killed by ends (a_test), 0.1 s"));
        assert!(lived.refutes("killed by ring::wraps, 0.1 s"));
        assert!(!lived.refutes("killed by ring::wraps_twice, 9.0 s"));
        assert!(!lived.refutes("not run"));
    }

    #[test]
    fn a_fate_says_what_killed_and_how_fast() {
        let killed = |preemptions, hung| Fate::Killed {
            by: "ring::wraps".to_owned(),
            seconds: 0.25,
            preemptions,
            hung,
        };
        assert_eq!(killed(Some(2), false).detail(), "by ring::wraps, 0.2 s");
        assert_eq!(
            killed(Some(3), false).detail(),
            "by ring::wraps, 0.2 s, 3 preemptions"
        );
        assert!(needs_all_bounds(&killed(Some(3), false).detail()));
        assert!(!needs_all_bounds(&killed(Some(2), false).detail()));
        assert_eq!(killed(None, true).detail(), "by ring::wraps (HANG), 0.2 s");
    }
}
