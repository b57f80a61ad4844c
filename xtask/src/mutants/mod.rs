//! `cargo xtask mutants`: weakens memory orderings and breaks the logic of the lock-free code, and
//! reports which models and tests notice it.
//!
//! | module | contents |
//! | --- | --- |
//! | [`weaker`] | the weaker orderings that can replace each ordering |
//! | [`site`] | positions of orderings in the sources |
//! | [`logic`] | mutants of the logic, written by hand |
//! | [`reasons`] | reasons why mutants survive |
//! | [`rewrite`] | insertion of all mutants into one text |
//! | [`plan`] | all mutants with their ids |
//! | [`copied`] | the small workspace in which all mutants are built at once |
//! | [`programs`] | the models and tests of this workspace, and the selection for each mutant |
//! | [`judge`] | runs of the mutants |
//! | [`page`] | the page `docs/mutants.md` |

mod weaker;

mod site;

mod logic;
mod reasons;

mod rewrite;

mod plan;

mod copied;
mod programs;

mod judge;

mod page;

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use crate::tidy::Violation;
use crate::workspace::Workspace;
use judge::{Fate, Judge};
use page::Verdicts;
use plan::{Mutant, Plan};
use programs::Programs;
use reasons::Reason;

/// The selection of the mutants to run, and the settings of the run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only mutants whose id contains one of these texts.
    filters: Vec<String>,
    /// Run only the mutant with exactly this id.
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Show the mutants instead of running them.
    #[arg(long)]
    list: bool,
    /// Number of mutants to run at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Minimum time limit of a model or test program, in seconds. The limit is three times the
    /// program's time without a mutant, if this is longer.
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    time_limit: u64,
    /// Try these bounds on preemptions in this order, until a mutant is killed.
    #[arg(long, value_delimiter = ',', default_values_t = judge::PREEMPTIONS.to_vec())]
    preemptions: Vec<u32>,
    /// Omit models that take more than 5 s without a mutant, and all bounds except the first. A
    /// survivor must then be run again without this flag.
    #[arg(long)]
    quick: bool,
    /// Write the results to `docs/mutants.md`. The rows of mutants that were not run are kept.
    /// After a quick run, the rows of survivors are kept too.
    #[arg(long)]
    write_docs: bool,
}

/// Runs the command. Returns the exit code for failure if a mutant survives without a reason, or if
/// a mutant is killed although there is a reason for its survival.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let start = Instant::now();
    let plan = match Plan::load(workspace) {
        Ok(plan) => plan,
        Err(violations) => {
            violations
                .iter()
                .for_each(|violation| println!("{violation}"));
            bail!("the tables in xtask/src/mutants do not match the sources");
        }
    };
    let chosen: Vec<&Mutant> = plan
        .mutants
        .iter()
        .filter(|mutant| options.choose(mutant))
        .collect();
    if chosen.is_empty() {
        bail!("no mutant matches the filters: `cargo xtask mutants --list` shows all mutants");
    }
    if options.list {
        for mutant in &chosen {
            let breaks = mutant.logic.map_or("", |logic| logic.breaks);
            println!("{:>4}  {}  {breaks}", mutant.number, mutant.id);
        }
        println!("{} of {} mutants", chosen.len(), plan.mutants.len());
        return Ok(ExitCode::SUCCESS);
    }
    let is_tried = |mutant: &&Mutant| mutant.beyond.is_none();
    let tried: Vec<&Mutant> = chosen.iter().copied().filter(is_tried).collect();
    let folder = workspace.target.join("mutants");
    let src = folder.join("src");
    copied::write(workspace, &plan, &src)?;
    let judge = Judge {
        programs: &Programs::build(&folder, &src, &tried)?,
        jobs: options.jobs,
        preemptions: &options.preemptions[..if options.quick {
            1
        } else {
            options.preemptions.len()
        }],
        quick: options.quick,
        limit: Duration::from_secs(options.time_limit),
        logs: judge::logs(&folder),
    };
    let fates = judge.judge(&tried)?;
    let outcome = Outcome::of(&chosen, &tried, &fates);
    if options.write_docs {
        outcome.write_page(workspace, &plan, options.quick)?;
    }
    println!(
        "\n{}\n{:.0} s",
        outcome.summary(),
        start.elapsed().as_secs_f64()
    );
    Ok(if outcome.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Checks that the tables and the page match the sources, without running any mutant.
pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    match Plan::load(workspace) {
        Err(violations) => violations,
        Ok(plan) => {
            let page = fs::read_to_string(workspace.root.join(page::PATH)).ok();
            page::check(&plan, page.as_deref())
        }
    }
}

impl Options {
    fn choose(&self, mutant: &Mutant) -> bool {
        let is_free = self.filters.is_empty() && self.only.is_empty();
        is_free
            || self.only.contains(&mutant.id)
            || self
                .filters
                .iter()
                .any(|filter| mutant.id.contains(filter.as_str()))
    }
}

/// The result of a run.
#[derive(Debug, Default)]
struct Outcome {
    verdicts: Verdicts,
    fates: BTreeMap<String, Fate>,
    killed: usize,
    explained: usize,
    /// Ids of mutants that have survived without a reason.
    survivors: Vec<String>,
    /// Ids of mutants that were killed although there is a reason for their survival.
    unreasonable: Vec<String>,
}

impl Outcome {
    fn of(chosen: &[&Mutant], tried: &[&Mutant], fates: &[Fate]) -> Self {
        let mut outcome = Self::default();
        for mutant in chosen {
            let nth = tried.iter().position(|other| other.number == mutant.number);
            outcome.add(&mutant.id, nth.map(|nth| &fates[nth]), mutant.reason());
        }
        outcome
    }

    /// Records the result of one mutant. `fate` is `None` if the mutant was not run.
    fn add(&mut self, id: &str, fate: Option<&Fate>, reason: Option<Reason>) {
        let verdict = match (fate, reason) {
            (Some(fate @ Fate::Killed { .. }), reason) => {
                self.killed += 1;
                if reason.is_some() {
                    self.unreasonable.push(id.to_owned());
                }
                format!("killed {}", fate.detail())
            }
            (_, Some(reason)) => {
                self.explained += 1;
                reason.text()
            }
            (_, None) => {
                self.survivors.push(id.to_owned());
                page::SURVIVED.to_owned()
            }
        };
        self.fates
            .extend(fate.map(|fate| (id.to_owned(), fate.clone())));
        self.verdicts.insert(id.to_owned(), verdict);
    }

    fn is_good(&self) -> bool {
        self.survivors.is_empty() && self.unreasonable.is_empty()
    }

    fn summary(&self) -> String {
        let mut lines = Vec::new();
        let survivors = self
            .survivors
            .iter()
            .map(|id| format!("survived without a reason: {id}"));
        lines.extend(survivors);
        let unreasonable = self.unreasonable.iter();
        lines.extend(
            unreasonable
                .map(|id| format!("was killed although there is a reason for its survival: {id}")),
        );
        lines.push(format!(
            "{} mutants: {} killed, {} survived for a reason, {} survived without a reason",
            self.verdicts.len(),
            self.killed,
            self.explained,
            self.survivors.len()
        ));
        lines.join("\n")
    }

    /// Writes the page, and keeps the rows of mutants that were not run. A quick run writes only
    /// rows of mutants that were killed, or that have a reason to survive.
    fn write_page(&self, workspace: &Workspace, plan: &Plan, quick: bool) -> Result<()> {
        let path = workspace.root.join(page::PATH);
        let mut verdicts = page::read(&fs::read_to_string(&path).unwrap_or_default());
        for (id, fate) in &self.fates {
            // With the last bound, a model may notice a mutant that it does not notice with the
            // first bound. A quick run uses only the first bound.
            let is_refuted = |verdict: &String| {
                !(quick && judge::needs_all_bounds(verdict)) && fate.refutes(verdict)
            };
            if verdicts.get(id).is_some_and(is_refuted) {
                verdicts.remove(id);
            }
        }
        let seen = self.verdicts.iter();
        let seen = seen.filter(|(_, verdict)| !quick || *verdict != page::SURVIVED);
        verdicts.extend(seen.map(|(id, verdict)| (id.clone(), verdict.clone())));
        fs::write(path, page::write(plan, &verdicts))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed() -> Fate {
        Fate::Killed {
            by: "model".to_owned(),
            seconds: 1.0,
            preemptions: Some(2),
            hung: false,
        }
    }

    #[test]
    fn a_survivor_needs_a_reason_and_one_that_is_killed_must_have_none() {
        let lived = Fate::Survived { faced: Vec::new() };
        let reason = Some(Reason::Equivalent("it is"));
        let mut outcome = Outcome::default();
        outcome.add("a", Some(&killed()), None);
        outcome.add("b", Some(&lived), reason);
        outcome.add("c", None, reason);
        assert!(outcome.is_good());
        assert_eq!(outcome.verdicts["a"], "killed by model, 1.0 s");
        assert_eq!(outcome.verdicts["b"], "equivalent because it is");

        outcome.add("d", Some(&lived), None);
        outcome.add("e", Some(&killed()), reason);
        assert_eq!(outcome.survivors, ["d"]);
        assert_eq!(outcome.unreasonable, ["e"]);
        assert!(!outcome.is_good());
    }
}
