//! The failures and supervision trees that telemetry remembers. The sampler writes them, and
//! requests for `/failures.json` and `/tree.json` read them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_core::text;

use super::reading::{FailureReading, TreeReading};
use super::report::{
    ChildStatus, Effect, FailureReport, LastFailure, RecentFailure, RestartedChild, Supervision,
    SupervisorStatus, TreeReport,
};
use crate::window::Nanos;

/// Maximum number of failures that telemetry remembers.
const FAILURES_MAX: usize = 256;

/// Maximum number of failures in a snapshot.
const SHOWN_MAX: usize = 32;

/// Maximum number of bytes of a reason in a snapshot. A longer reason is truncated.
const SHOWN_REASON_BYTES_MAX: usize = 200;

/// Maximum number of failures from which [`Losses`] are computed. If the most recent time window
/// has more failures, the oldest of these failures are not used.
const COUNTED_MAX: usize = 1024;

/// Maximum number of restarted children in a snapshot.
const RESTARTED_MAX: usize = 100;

const MILLISECOND: Nanos = 1_000_000;

/// A failure that occurred in the most recent time window.
#[derive(Debug)]
struct Counted {
    /// Time of the failure, in nanoseconds since the start of the telemetry. Negative if the actor
    /// had failed before.
    at: i128,
    /// The source and the group that the failed actor belongs to: the number of the source, and the
    /// identifier of the group.
    group: (u64, String),
    path: Option<String>,
    effect: Effect,
}

/// Counts of the failures of a group of actors in the most recent time window.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Number of actors that failed and were not restarted.
    pub(crate) lost: u64,
    /// Largest number of restarts of a single actor.
    pub(crate) restarts_of_one: u64,
}

/// The failures and supervision trees that telemetry remembers.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// Number of failures so far.
    numbered: u64,
    /// Number of times that the remembered failures have changed so far.
    failure_changes: u64,
    /// Latest failures with their sources, the newest last.
    failures: VecDeque<(u64, RecentFailure)>,
    /// Failures that occurred in the most recent time window, the newest last.
    counted: VecDeque<Counted>,
    /// For each source, its supervision trees and a summary of these trees.
    trees: BTreeMap<u64, (Vec<SupervisorStatus>, Supervision)>,
    /// Number of times that the supervision trees have changed so far.
    changes: u64,
}

/// The failures and supervision trees, shared by the sampler and the readers.
#[derive(Debug, Default, Clone)]
pub(crate) struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Book> {
        // No code panics while it holds the lock, so the book is complete even if the lock is
        // poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Adds the failures of a source, the newest last.
    pub(crate) fn add_failures(
        &mut self,
        source: u64,
        failures: impl IntoIterator<Item = FailureReading>,
        now: Nanos,
        unix_ms: u64,
    ) {
        for failure in failures {
            self.count(source, &failure, now);
            self.numbered += 1;
            self.failure_changes += 1;
            if self.failures.len() == FAILURES_MAX {
                self.failures.pop_front();
            }
            let failure = RecentFailure {
                number: self.numbered,
                unix_ms: unix_ms.saturating_sub(failure.age_nanos / MILLISECOND),
                name: failure.name,
                path: failure.path,
                place: failure.place,
                reason: failure.reason,
                effect: failure.effect,
                restarts: failure.restarts,
            };
            self.failures.push_back((source, failure));
        }
    }

    fn count(&mut self, source: u64, failure: &FailureReading, now: Nanos) {
        if self.counted.len() == COUNTED_MAX {
            self.counted.pop_front();
        }
        self.counted.push_back(Counted {
            at: i128::from(now) - i128::from(failure.age_nanos),
            group: (source, failure.actors.clone()),
            path: failure.path.clone(),
            effect: failure.effect,
        });
    }

    /// Replaces the supervision trees of a source.
    pub(crate) fn set_trees(&mut self, source: u64, trees: Vec<TreeReading>, unix_ms: u64) {
        let trees = Vec::from_iter(trees.into_iter().map(|tree| status_of(tree, unix_ms)));
        let summary = summary_of(&trees);
        self.trees.insert(source, (trees, summary));
        self.changes += 1;
    }

    /// Removes all failures and supervision trees of a source.
    pub(crate) fn forget(&mut self, source: u64) {
        self.failures.retain(|(of, _)| *of != source);
        self.failure_changes += 1;
        self.counted.retain(|counted| counted.group.0 != source);
        if self.trees.remove(&source).is_some() {
            self.changes += 1;
        }
    }

    /// Returns the failure counts since `begin`, by source and group of actors. Forgets the
    /// failures before `begin`, a time in nanoseconds since the start of the telemetry.
    pub(crate) fn losses_since(&mut self, begin: i128) -> HashMap<(u64, String), Losses> {
        self.counted.retain(|counted| counted.at >= begin);
        let mut losses: HashMap<(u64, String), Losses> = HashMap::new();
        // A system may be watched twice, and custom sources may use the same path.
        let mut restarts: HashMap<(u64, &str), u64> = HashMap::new();
        for counted in &self.counted {
            let of_group = losses.entry(counted.group.clone()).or_default();
            match (counted.effect, &counted.path) {
                (Effect::Stopped | Effect::GivenUp, _) => of_group.lost += 1,
                (Effect::Restarted, Some(path)) => {
                    let of_one = restarts.entry((counted.group.0, path)).or_default();
                    *of_one += 1;
                    of_group.restarts_of_one = of_group.restarts_of_one.max(*of_one);
                }
                (Effect::Restarted | Effect::Resumed | Effect::Continued, _) => {}
            }
        }
        losses
    }

    /// Returns the newest failures, with shortened reasons.
    pub(crate) fn newest(&self) -> Vec<RecentFailure> {
        let newest = self.failures.iter().rev().take(SHOWN_MAX);
        newest
            .map(|(_, failure)| RecentFailure {
                reason: shortened(&failure.reason),
                ..failure.clone()
            })
            .collect()
    }

    /// Returns a number that grows whenever the remembered failures change.
    pub(crate) fn failure_changes(&self) -> u64 {
        self.failure_changes
    }

    /// Returns a number that grows whenever the supervision trees change.
    pub(crate) fn tree_changes(&self) -> u64 {
        self.changes
    }

    /// Returns all failures that are remembered.
    pub(crate) fn failures(&self) -> FailureReport {
        let newest_first = self.failures.iter().rev();
        FailureReport {
            failures: newest_first.map(|(_, failure)| failure.clone()).collect(),
        }
    }

    /// Returns the summary of all supervision trees.
    pub(crate) fn supervision(&self) -> Supervision {
        let mut sum = Supervision {
            changes: self.changes,
            ..Supervision::default()
        };
        for (_, part) in self.trees.values() {
            sum.supervisors += part.supervisors;
            sum.children += part.children;
            sum.down += part.down;
            sum.restarts += part.restarts;
            sum.restarted.extend_from_slice(&part.restarted);
        }
        rank(&mut sum.restarted);
        sum
    }

    /// Returns all supervision trees.
    pub(crate) fn trees(&self) -> TreeReport {
        let trees = self.trees.values().flat_map(|(trees, _)| trees);
        TreeReport {
            changes: self.changes,
            trees: trees.cloned().collect(),
        }
    }
}

fn shortened(reason: &str) -> String {
    if reason.len() <= SHOWN_REASON_BYTES_MAX {
        return reason.to_owned();
    }
    format!("{}…", text::beginning(reason, SHOWN_REASON_BYTES_MAX))
}

/// Sorts the children by their numbers of restarts, the largest first, and keeps the first 100.
fn rank(restarted: &mut Vec<RestartedChild>) {
    restarted.sort_by(|a, b| (b.restarts, &a.path).cmp(&(a.restarts, &b.path)));
    restarted.truncate(RESTARTED_MAX);
}

fn status_of(tree: TreeReading, unix_ms: u64) -> SupervisorStatus {
    let all = |trees: Vec<TreeReading>| {
        let statuses = trees.into_iter().map(|tree| status_of(tree, unix_ms));
        statuses.collect()
    };
    let last_failure = tree.last_failure.map(|(reason, age_nanos)| LastFailure {
        unix_ms: unix_ms.saturating_sub(age_nanos / MILLISECOND),
        reason,
    });
    SupervisorStatus {
        path: tree.path,
        name: tree.name,
        kind: tree.kind,
        state: tree.state,
        restarts: tree.restarts,
        last_failure,
        strategy: tree.strategy,
        children: all(tree.children),
        omitted: tree.omitted,
        given_up: all(tree.given_up),
    }
}

fn summary_of(trees: &[SupervisorStatus]) -> Supervision {
    let mut sum = Supervision::default();
    for tree in trees {
        add_supervisor(&mut sum, tree);
    }
    rank(&mut sum.restarted);
    sum
}

fn add_supervisor(sum: &mut Supervision, supervisor: &SupervisorStatus) {
    sum.supervisors += 1;
    sum.children += supervisor.children.len() as u64 + supervisor.omitted;
    for child in &supervisor.children {
        sum.down += u64::from(child.state != ChildStatus::Running);
        sum.restarts += child.restarts;
        if child.restarts > 0 {
            sum.restarted.push(RestartedChild {
                path: child.path.clone(),
                restarts: child.restarts,
            });
        }
        if child.strategy.is_some() {
            add_supervisor(sum, child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::report::Effect;

    const SECOND: Nanos = 1_000_000_000;

    fn failure(name: &str, effect: Effect) -> FailureReading {
        FailureReading {
            actors: format!("app::{name}"),
            name: name.to_owned(),
            path: Some(format!("/user/{name}#1")),
            reason: "no money".to_owned(),
            effect,
            age_nanos: SECOND,
            ..FailureReading::default()
        }
    }

    #[test]
    fn the_newest_failures_are_shown_and_their_reasons_are_cut() {
        let mut book = Book::default();
        for _ in 0..1000 {
            let long = FailureReading {
                reason: "ä".repeat(300),
                ..failure("Teller", Effect::Stopped)
            };
            book.add_failures(0, [long], 5 * SECOND, 5000);
        }
        let newest = book.newest();
        assert_eq!((newest.len(), newest[0].number), (SHOWN_MAX, 1000));
        assert_eq!(newest[0].unix_ms, 4000);
        assert_eq!(newest[0].reason, format!("{}…", "ä".repeat(100)));
        let all = book.failures().failures;
        assert_eq!((all.len(), all[255].number), (FAILURES_MAX, 745));
        assert_eq!(all[0].reason.chars().count(), 300);
        book.forget(0);
        assert!(book.failures().failures.is_empty());
    }

    #[test]
    fn losses_are_counted_by_group_and_restarts_by_actor() {
        let mut book = Book::default();
        let group = |name: &str| (0, format!("app::{name}"));
        let add = |book: &mut Book, name, effect, times, now| {
            let failures = (0..times).map(|_| failure(name, effect));
            book.add_failures(0, failures, now, 0);
        };
        add(&mut book, "Teller", Effect::Stopped, 6, 2 * SECOND);
        add(&mut book, "Clerk", Effect::Restarted, 4, 3 * SECOND);
        add(&mut book, "Clerk", Effect::GivenUp, 1, 3 * SECOND);
        add(&mut book, "Clerk", Effect::Resumed, 9, 3 * SECOND);
        add(&mut book, "Clerk", Effect::Continued, 9, 3 * SECOND);
        let losses = book.losses_since(0);
        let of = |lost, restarts_of_one| Losses {
            lost,
            restarts_of_one,
        };
        assert_eq!(losses[&group("Teller")], of(6, 0));
        assert_eq!(losses[&group("Clerk")], of(1, 4));
        let losses = book.losses_since(2 * i128::from(SECOND));
        assert_eq!(losses.get(&group("Teller")), None);
        assert_eq!(losses[&group("Clerk")], of(1, 4));
        add(&mut book, "Clerk", Effect::Restarted, 5000, 3 * SECOND);
        assert_eq!(book.counted.len(), COUNTED_MAX);
    }

    #[test]
    fn restarts_of_two_actors_with_one_path_are_not_added_up() {
        let mut book = Book::default();
        for source in 0..2 {
            let failures = (0..3).map(|_| failure("Clerk", Effect::Restarted));
            book.add_failures(source, failures, 2 * SECOND, 0);
        }
        let losses = book.losses_since(0);
        let of_one = |source| losses[&(source, "app::Clerk".to_owned())].restarts_of_one;
        assert_eq!([of_one(0), of_one(1)], [3, 3]);
    }

    #[test]
    fn a_summary_counts_all_levels_and_ranks_restarts() {
        let child = |number: u64, restarts| TreeReading {
            path: format!("/user/app#1/{number}"),
            restarts,
            state: if restarts == 7 {
                ChildStatus::Restarting
            } else {
                ChildStatus::Running
            },
            last_failure: (restarts > 0).then(|| ("no money".to_owned(), 2 * SECOND)),
            ..TreeReading::default()
        };
        let branch = TreeReading {
            strategy: Some("one for all".to_owned()),
            children: (0..200).map(|number| child(number, number)).collect(),
            omitted: 5,
            ..child(1000, 1)
        };
        let root = TreeReading {
            strategy: Some("one for one".to_owned()),
            children: vec![branch, child(2000, 0)],
            ..TreeReading::default()
        };
        let mut book = Book::default();
        book.set_trees(3, vec![root], 10_000);
        let sum = book.supervision();
        assert_eq!((sum.supervisors, sum.children, sum.down), (2, 207, 1));
        assert_eq!((sum.restarts, sum.changes), (199 * 100 + 1, 1));
        assert_eq!(sum.restarted.len(), RESTARTED_MAX);
        assert_eq!(sum.restarted[0].path, "/user/app#1/199");
        let trees = book.trees().trees;
        let last = trees[0].children[0].children[9].last_failure.as_ref();
        assert_eq!(last.map(|last| last.unix_ms), Some(8000));
        book.forget(3);
        assert_eq!(book.supervision().changes, 2);
        assert!(book.trees().trees.is_empty());
    }
}
