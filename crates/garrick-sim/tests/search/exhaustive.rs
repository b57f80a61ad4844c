//! Exhaustive search: numbers of runs, and a comparison with the search without reduction.

use crate::mock::{Act, Outcome, System, run};
use crate::systems::{Bank, KINDS, REACTIONS, Random, Reaction, Senders, Streams, sparse};
use garrick_sim::search::{Coverage, Exhaustive, Reduction, Statistics, Strategy};
use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Generator;
use std::collections::BTreeSet;

/// Messages and ticks that the tasks have seen in a run. They are the same in all orders of a
/// partial order.
type Seen = Vec<Vec<(Act, i64)>>;

/// Explores a system. Returns the outcomes of the runs that were not ended early.
fn explore<S: System>(system: &S, mut search: Exhaustive<Act>) -> (Vec<Outcome>, Statistics) {
    let mut outcomes = Vec::new();
    while search.begin() {
        let outcome = run(system, &mut search);
        if outcome.is_whole {
            outcomes.push(outcome);
        }
    }
    (outcomes, search.statistics())
}

fn all<S: System>(system: &S, reduction: Reduction) -> (Vec<Outcome>, Statistics) {
    explore(system, Exhaustive::new(reduction))
}

fn seen(outcomes: &[Outcome]) -> BTreeSet<Seen> {
    outcomes
        .iter()
        .map(|outcome| outcome.seen.clone())
        .collect()
}

/// Checks the numbers of plain orders and of partial orders, and that less than a tenth of the runs
/// are redundant.
fn check_numbers<S: System>(system: &S, orders: u64, partial_orders: u64) {
    let (plain, statistics) = all(system, Reduction::Plain);
    assert_eq!(statistics.runs, orders);
    assert_eq!(seen(&plain).len() as u64, partial_orders);
    for reduction in [Reduction::Source, Reduction::Optimal] {
        let (reduced, statistics) = all(system, reduction);
        println!("{reduction:?}: {statistics:?}");
        assert_eq!(seen(&reduced).len() as u64, partial_orders);
        assert_eq!(statistics.runs - statistics.redundant, partial_orders);
        assert!(
            statistics.redundant * 10 < statistics.runs,
            "{statistics:?}"
        );
        assert_eq!(statistics.coverage, Coverage::Everything);
    }
}

#[test]
fn four_senders() {
    check_numbers(&Senders(4), 2_520, 24);
}

#[test]
fn two_tellers() {
    check_numbers(&Bank(2), 70, 6);
}

#[test]
fn three_tellers() {
    check_numbers(&Bank(3), 34_650, 90);
}

/// A system with 113,400 plain orders.
#[test]
fn five_senders_have_a_hundred_and_twenty_runs() {
    for reduction in [Reduction::Source, Reduction::Optimal] {
        let (outcomes, statistics) = all(&Senders(5), reduction);
        let states: BTreeSet<i64> = outcomes.iter().map(|outcome| outcome.states[0]).collect();
        assert_eq!((states.len(), statistics.runs), (120, 120));
    }
    let (_, statistics) = all(&Senders(5), Reduction::Sleep);
    assert_eq!(statistics.runs - statistics.redundant, 120);
}

#[test]
fn messages_to_different_receivers_have_one_run() {
    let streams = Streams {
        receivers: 3,
        messages: 2,
    };
    assert_eq!(all(&streams, Reduction::Plain).1.runs, 90);
    for reduction in [Reduction::Sleep, Reduction::Source, Reduction::Optimal] {
        let (outcomes, statistics) = all(&streams, reduction);
        assert_eq!(outcomes.len(), 1);
        assert_eq!(statistics.coverage, Coverage::Everything);
    }
}

#[test]
fn a_system_in_which_nothing_happens_has_one_run() {
    let nothing = Streams {
        receivers: 0,
        messages: 0,
    };
    let (outcomes, statistics) = all(&nothing, Reduction::Optimal);
    assert_eq!((outcomes.len(), statistics.runs), (1, 1));
    assert_eq!(statistics.coverage, Coverage::Everything);
}

#[test]
fn a_bound_of_runs_ends_the_search() {
    let search = Exhaustive::new(Reduction::Optimal).with_runs_max(7);
    let (outcomes, statistics) = explore(&Bank(3), search);
    assert_eq!((outcomes.len(), statistics.runs), (7, 7));
    assert_eq!(statistics.coverage, Coverage::Bounded);
}

#[test]
fn a_bound_of_steps_cuts_runs() {
    for reduction in [Reduction::Plain, Reduction::Source, Reduction::Optimal] {
        let search = Exhaustive::new(reduction).with_steps_max(5);
        let (outcomes, statistics) = explore(&Bank(2), search);
        assert!(outcomes.is_empty());
        assert_eq!(statistics.cut + statistics.redundant, statistics.runs);
        assert_eq!(statistics.coverage, Coverage::Bounded);
    }
    let search = Exhaustive::new(Reduction::Optimal).with_steps_max(8);
    let (_, statistics) = explore(&Bank(2), search);
    assert_eq!(statistics.coverage, Coverage::Everything);
}

/// When the first run reaches the maximum number of steps, the message of the second sender has not
/// arrived yet. But this message could have arrived before the message of the first sender.
#[test]
fn what_is_enabled_at_the_bound_races_too() {
    for reduction in [Reduction::Source, Reduction::Optimal] {
        let mut search = Exhaustive::new(reduction).with_steps_max(3);
        let mut states = BTreeSet::new();
        while search.begin() {
            states.insert(run(&Senders(2), &mut search).states[0]);
        }
        assert_eq!(states, BTreeSet::from([1, 2]));
    }
}

/// Offers different actions in the second run than in the first one.
#[test]
fn a_difference_ends_the_search() {
    let mut search = Exhaustive::new(Reduction::Plain);
    let land = |from| Act::Land { from, to: 0 };
    assert!(search.begin());
    assert_eq!(search.choose(&[land(1), land(2)]), Some(0));
    assert_eq!(search.choose(&[land(2)]), Some(0));
    assert!(search.begin());
    assert_eq!(search.choose(&[land(1), land(3)]), None);
    assert!(!search.begin());
    assert_eq!(search.statistics().coverage, Coverage::Diverged(0));
}

fn reaction() -> impl Generator<Value = Reaction> {
    let state = 0..KINDS as i64;
    let sends = prop::collection::vec((0_usize..4, 0..KINDS as i64), 0..3);
    (state, sends).prop_map(|(state, sends)| Reaction { state, sends })
}

/// Makes a system of up to four tasks. Few of them have more than 10^5 orders.
fn system() -> impl Generator<Value = Random> {
    let reactions = prop::collection::vec(reaction(), REACTIONS);
    let first = prop::collection::vec((0_usize..4, 0..KINDS as i64), 1..5);
    (2_usize..5, 0..3_i64, reactions, first, 0_usize..3).prop_map(
        |(tasks, hops, reactions, first, ticks)| Random {
            tasks,
            hops,
            reactions,
            first,
            ticks,
        },
    )
}

/// Number of runs after which a search of a random system ends.
const RUNS_MAX: u64 = 1_500;

/// Searches a system with and without a reduction. Both searches must lead to the same messages and
/// ticks at each task. With the reduction, no partial order may be explored twice.
fn compare(system: &Random, reduction: Reduction, runs_max: u64) -> Statistics {
    let plain = Exhaustive::new(Reduction::Plain).with_runs_max(runs_max);
    let (plain, all) = explore(system, plain);
    let search = Exhaustive::new(reduction).with_runs_max(runs_max);
    let (reduced, statistics) = explore(system, search);
    let (expected, found) = (seen(&plain), seen(&reduced));
    assert_eq!(
        found.len(),
        reduced.len(),
        "each run has its own partial order"
    );
    if statistics.coverage == Coverage::Everything {
        assert!(expected.is_subset(&found), "{reduction:?} misses a result");
    }
    if all.coverage == Coverage::Everything {
        assert!(found.is_subset(&expected));
        assert!(statistics.runs <= all.runs);
    }
    statistics
}

/// Checks a system in which wakeup trees would miss results if each sequence ended at the step that
/// races.
#[test]
fn a_sequence_includes_the_steps_after_the_race() {
    let reactions = sparse(&[
        (2, 0, &[(0, 0), (1, 1)]),
        (10, 1, &[(1, 1)]),
        (13, 0, &[(0, 1), (1, 0)]),
    ]);
    let system = Random {
        tasks: 2,
        hops: 2,
        reactions,
        first: vec![(0, 0), (1, 1), (1, 1), (1, 0)],
        ticks: 0,
    };
    compare(&system, Reduction::Source, 20_000);
    compare(&system, Reduction::Optimal, 20_000);
}

/// Checks a system in which wakeup trees would miss results if only the races of new steps were
/// examined.
#[test]
fn old_races_are_looked_at_in_each_run() {
    let reactions = sparse(&[
        (0, 0, &[(3, 0), (2, 0)]),
        (2, 2, &[]),
        (9, 0, &[(3, 0), (1, 0)]),
        (18, 2, &[(1, 1)]),
        (24, 0, &[(3, 0), (1, 0)]),
        (27, 0, &[(1, 0)]),
        (28, 1, &[]),
    ]);
    let system = Random {
        tasks: 4,
        hops: 2,
        reactions,
        first: vec![(2, 0), (0, 2), (0, 0)],
        ticks: 1,
    };
    compare(&system, Reduction::Source, 20_000);
    compare(&system, Reduction::Optimal, 20_000);
}

/// Explores a system. Returns what the tasks have seen in each run that was not redundant.
fn cut(system: &Random, mut search: Exhaustive<Act>) -> (BTreeSet<Seen>, Statistics) {
    let mut found = BTreeSet::new();
    while search.begin() {
        let redundant = search.statistics().redundant;
        let outcome = run(system, &mut search);
        if search.statistics().redundant == redundant {
            found.insert(outcome.seen);
        }
    }
    (found, search.statistics())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sleep_sets_find_every_result_within_a_bound(system in system()) {
        let within = |reduction| {
            let search = Exhaustive::new(reduction).with_steps_max(6);
            cut(&system, search.with_runs_max(RUNS_MAX))
        };
        let (plain, all) = within(Reduction::Plain);
        let (reduced, statistics) = within(Reduction::Sleep);
        if all.runs < RUNS_MAX && statistics.runs < RUNS_MAX {
            prop_assert_eq!(plain, reduced);
        }
    }

    #[test]
    fn sleep_sets_find_every_result(system in system()) {
        compare(&system, Reduction::Sleep, RUNS_MAX);
    }

    #[test]
    fn source_sets_find_every_result(system in system()) {
        compare(&system, Reduction::Source, RUNS_MAX);
    }

    #[test]
    fn wakeup_trees_find_every_result_without_a_redundant_run(system in system()) {
        let statistics = compare(&system, Reduction::Optimal, RUNS_MAX);
        prop_assert_eq!(statistics.redundant, 0);
    }
}
