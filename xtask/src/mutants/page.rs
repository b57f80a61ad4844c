//! The page `docs/mutants.md`, with a row for each mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::judge::PREEMPTIONS;
use super::plan::{Mutant, Plan};
use crate::tidy::Violation;

/// Path of the page, relative to the workspace.
pub(super) const PATH: &str = "docs/mutants.md";

/// The possible first words of a verdict. The table of sums has a column for each of them.
const WORDS: &[&str] = &["killed", "equivalent", "not modelled", SURVIVED, NOT_RUN];

/// The verdict on a mutant that has survived without a reason.
pub(super) const SURVIVED: &str = "survived";

/// The verdict on a mutant that has not been run.
const NOT_RUN: &str = "not run";

/// The verdicts, by the ids of their mutants.
pub(super) type Verdicts = BTreeMap<String, String>;

const INTRODUCTION: &str = "\
# Mutants

A model is good only if it fails when any ordering that it covers is weakened. `cargo xtask mutants` checks this. It
weakens each memory ordering of `garrick-core`, `garrick-steal` and `garrick-sched` that is stronger than `Relaxed`,
applies hand-written mutants of the logic (`xtask/src/mutants/logic`), and runs the models and tests that should fail.

The id of an ordering's mutant consists of its file, function, operation and change. The id of a logic mutant consists
of its file and a name. The verdict on a killed mutant contains the model or test program that failed,
and how long it ran on two shared cores. The verdict on any other mutant contains the reason why no test fails (from
`xtask/src/mutants/reasons.rs`). The verdict `survived` marks a gap in the tests.

In the tables, a *cell* is the memory block of one task. The *token* of a cell is the right to notify the worker that
owns the cell. A *sponsor* is a group of workers, together with their threads.
";

/// Parses the verdicts of a page.
pub(super) fn read(page: &str) -> Verdicts {
    page.lines()
        .filter_map(|line| {
            let (id, rest) = line.strip_prefix("| `")?.split_once("` |")?;
            let verdict = rest
                .strip_suffix('|')?
                .rsplit_once('|')
                .map_or(rest.strip_suffix('|')?, |(_, last)| last);
            Some((id.to_owned(), verdict.trim().to_owned()))
        })
        .collect()
}

/// Returns the text of the page with these verdicts.
pub(super) fn write(plan: &Plan, verdicts: &Verdicts) -> String {
    let verdict = |mutant: &Mutant| verdicts.get(&mutant.id).map_or(NOT_RUN, String::as_str);
    let mut parts: Vec<String> = Vec::new();
    for mutant in &plan.mutants {
        if !parts.contains(&mutant.part()) {
            parts.push(mutant.part());
        }
    }
    let bounds: Vec<String> = PREEMPTIONS.iter().map(u32::to_string).collect();
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(
        page,
        "\nThis page is written by `cargo xtask mutants --write-docs`. Each model runs with at most {} preemptions.\n",
        bounds.join(", and then with at most ")
    );
    let _ = writeln!(page, "| part | mutants | {} |", WORDS.join(" | "));
    let _ = writeln!(page, "| --- |{}", " ---: |".repeat(WORDS.len() + 1));
    let sums = |page: &mut String, name: &str, verdicts: &[&str]| {
        let count = |word: &&str| {
            verdicts
                .iter()
                .filter(|verdict| verdict.starts_with(*word))
                .count()
        };
        let counts: Vec<String> = WORDS.iter().map(|word| count(word).to_string()).collect();
        let _ = writeln!(
            page,
            "| {name} | {} | {} |",
            verdicts.len(),
            counts.join(" | ")
        );
    };
    for part in &parts {
        let of_part = plan.mutants.iter().filter(|mutant| mutant.part() == *part);
        sums(&mut page, part, &of_part.map(verdict).collect::<Vec<_>>());
    }
    sums(
        &mut page,
        "all",
        &plan.mutants.iter().map(verdict).collect::<Vec<_>>(),
    );
    for part in &parts {
        let _ = writeln!(page, "\n## {part}");
        let of_part = || plan.mutants.iter().filter(|mutant| mutant.part() == *part);
        table(
            &mut page,
            "| ordering | verdict |",
            of_part().filter(|m| m.logic.is_none()),
            verdict,
        );
        table(
            &mut page,
            "| logic | what it breaks | verdict |",
            of_part().filter(|m| m.logic.is_some()),
            verdict,
        );
    }
    page
}

fn table<'a>(
    page: &mut String,
    head: &str,
    mutants: impl Iterator<Item = &'a Mutant>,
    verdict: impl Fn(&'a Mutant) -> &'a str,
) {
    let mut mutants = mutants.peekable();
    if mutants.peek().is_none() {
        return;
    }
    let columns = head.matches('|').count() - 1;
    let _ = writeln!(page, "\n{head}\n|{}", " --- |".repeat(columns));
    for mutant in mutants {
        let breaks = mutant
            .logic
            .map_or(String::new(), |logic| format!(" {} |", logic.breaks));
        let _ = writeln!(page, "| `{}` |{breaks} {} |", mutant.id, verdict(mutant));
    }
}

/// Reports mutants without a row, and rows without a mutant.
pub(super) fn check(plan: &Plan, page: Option<&str>) -> Vec<Violation> {
    let violation =
        |wrong: String, allowed: &str| Violation::new(Path::new(PATH), 1, wrong, allowed);
    let Some(page) = page else {
        return vec![violation(
            "the page is missing".to_owned(),
            "the page that `cargo xtask mutants --write-docs` writes",
        )];
    };
    let rows: BTreeSet<String> = read(page).into_keys().collect();
    let ids: BTreeSet<String> = plan
        .mutants
        .iter()
        .map(|mutant| mutant.id.clone())
        .collect();
    let missing = ids.difference(&rows).map(|id| {
        violation(
            format!("the mutant `{id}` has no row"),
            "a row for each mutant: `cargo xtask mutants --only ID --write-docs` adds it",
        )
    });
    let unknown = rows.difference(&ids).map(|id| {
        violation(
            format!("there is a row for `{id}`, which is no longer a mutant"),
            "only rows of mutants: `cargo xtask mutants --write-docs` removes it, with any filter",
        )
    });
    missing.chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_two_columns_and_with_three() {
        let page = "# Head\n| part | mutants |\n| --- |\n| `a:b->C` | killed by x |\n| `a:d` | breaks it | survived |\n";
        let verdicts = read(page);
        assert_eq!(verdicts["a:b->C"], "killed by x");
        assert_eq!(verdicts["a:d"], "survived");
        assert_eq!(verdicts.len(), 2);
    }

    #[test]
    fn rows_too_many_and_a_missing_page_are_reported() {
        let plan = Plan::default();
        assert_eq!(check(&plan, Some("| `a` | killed |\n")).len(), 1);
        assert_eq!(check(&plan, None).len(), 1);
        assert_eq!(check(&plan, Some("# Mutants\n")), []);
    }
}
