//! Tests of random strategies: how often they find planted bugs, and that a run depends only on its
//! seed.

use crate::mock::{Act, Outcome, run, run_once};
use crate::systems::{Bank, Long, Rivals, Senders, Streams, Ticking};
use garrick_sim::search::{Pct, Plan, Portfolio, Pos, Strategy, Walk};
use std::collections::BTreeMap;

/// Returns the senders of the messages to task 0, in the order of their arrival.
fn arrivals(outcome: &Outcome) -> Vec<usize> {
    let from = |&(act, _): &(Act, i64)| match act {
        Act::Land { from, .. } => from,
        Act::Tick => usize::MAX,
    };
    outcome.seen[0].iter().map(from).collect()
}

/// Counts in how many of `runs` runs with successive seeds the function `finds` returns true.
fn count<T: Strategy<Act>>(
    mut strategy: T,
    runs: u64,
    mut finds: impl FnMut(&mut T) -> bool,
) -> u64 {
    let found = (0..runs).filter(|_| strategy.begin() && finds(&mut strategy));
    found.count() as u64
}

/// Number of steps of the system [`Rivals`] with four messages of each sender. These steps belong
/// to four chains.
const RIVAL_STEPS: u64 = 10;

/// Returns true if the messages of the system [`Rivals`] arrive from the senders `blocks`, in this
/// order.
fn in_blocks<T: Strategy<Act>>(strategy: &mut T, blocks: &[usize]) -> bool {
    arrivals(&run(&Rivals(4), strategy)) == blocks
}

#[test]
fn pct_of_depth_two_keeps_its_guarantee() {
    let runs = 8_000;
    let pct = Pct::new(1).with_depth(2).with_length(RIVAL_STEPS);
    let found = count(pct, runs, |pct| in_blocks(pct, &[1, 1, 2, 2, 2, 2, 1, 1]));
    println!("depth 2: {found} of {runs}");
    assert!(found >= runs / (4 * RIVAL_STEPS), "{found}");
}

#[test]
fn pct_of_depth_three_keeps_its_guarantee() {
    let runs = 40_000;
    let pct = Pct::new(1).with_length(RIVAL_STEPS);
    let found = count(pct, runs, |pct| in_blocks(pct, &[1, 1, 2, 2, 1, 1, 2, 2]));
    println!("depth 3: {found} of {runs}");
    assert!(found >= runs / (4 * RIVAL_STEPS * RIVAL_STEPS), "{found}");
}

#[test]
fn pct_of_depth_one_finds_nothing_deeper() {
    let pct = Pct::new(1).with_depth(1);
    assert_eq!(
        count(pct, 500, |pct| in_blocks(pct, &[1, 1, 2, 2, 2, 2, 1, 1])),
        0
    );
}

#[test]
fn pct_takes_the_length_of_the_longest_earlier_run() {
    let mut pct = Pct::new(5);
    for _ in 0..3 {
        assert!(Strategy::<Act>::begin(&mut pct));
        run(&Rivals(20), &mut pct);
    }
    assert!(Strategy::<Act>::begin(&mut pct));
    assert_eq!(pct.length(), 42);
    run(&Rivals(1), &mut pct);
    assert!(Strategy::<Act>::begin(&mut pct));
    assert_eq!(pct.length(), 42);
}

/// Returns true if a chain of eight steps overtakes the message from the outside.
fn is_overtaken<T: Strategy<Act>>(strategy: &mut T) -> bool {
    run(&Long(6), strategy).states[0] == -1
}

#[test]
fn pos_delays_an_action_that_races_with_none_of_many_steps() {
    // The priority of the message must be the lowest of nine.
    let found = count(Pos::new(1), 9_000, is_overtaken);
    assert!(found.abs_diff(1_000) < 150, "{found}");
}

/// The clock tick races with each of four messages, so its priority is drawn again after each
/// message. To come last, the tick needs a lower priority than the next message four times. With a
/// constant priority, the tick would only need the lowest of five priorities.
#[test]
fn pos_seldom_delays_an_action_that_races_with_all() {
    let is_last = |pos: &mut Pos| run(&Ticking(4), pos).steps.last() == Some(&Act::Tick);
    let found = count(Pos::new(1), 1_600, is_last);
    assert!((50..200).contains(&found), "{found}");
}

#[test]
fn a_walk_seldom_delays_an_action_for_long() {
    // The message must lose eight times.
    let found = count(Walk::new(1), 25_600, is_overtaken);
    assert!(found.abs_diff(100) < 50, "{found}");
}

#[test]
fn pct_delays_one_chain_of_four() {
    let pct = Pct::new(1).with_depth(1);
    let found = count(pct, 4_000, is_overtaken);
    assert!(found.abs_diff(1_000) < 150, "{found}");
}

/// Checks that the six orders of three equal senders have about the same frequency.
fn check_even<T: Strategy<Act>>(mut strategy: T) {
    let mut counts = BTreeMap::new();
    for _ in 0..6_000 {
        assert!(strategy.begin());
        let order = run(&Senders(3), &mut strategy).states[0];
        *counts.entry(order).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 6);
    // A count has a standard deviation of 29.
    let is_even = counts.values().all(|count| count.abs_diff(1_000) < 150);
    assert!(is_even, "{counts:?}");
}

#[test]
fn equal_senders_win_equally_often() {
    check_even(Walk::new(1));
    check_even(Pos::new(1));
    check_even(Pct::new(1));
    check_even(Portfolio::new(1, 6));
}

#[test]
fn each_strategy_finds_a_lost_update() {
    let is_lost = |outcome: &Outcome| outcome.states[0] != 2;
    let found = |found: u64| assert!(found > 10, "{found}");
    found(count(Walk::new(1), 100, |s| is_lost(&run(&Bank(2), s))));
    found(count(Pos::new(1), 100, |s| is_lost(&run(&Bank(2), s))));
    found(count(Pct::new(1), 100, |s| is_lost(&run(&Bank(2), s))));
    found(count(Portfolio::new(1, 8), 100, |s| {
        is_lost(&run(&Bank(2), s))
    }));
}

/// Checks that the run of a seed does not depend on earlier runs, and that different seeds lead to
/// different runs.
fn check_seeds<T: Strategy<Act>>(make: impl Fn(u64) -> T) {
    let mut strategy = make(0);
    let mut different = BTreeMap::new();
    for seed in 0..64 {
        assert!(strategy.begin());
        let steps = run(&Bank(3), &mut strategy).steps;
        assert_eq!(steps, run_once(&Bank(3), make(seed)).steps, "seed {seed}");
        different.insert(steps, seed);
    }
    assert!(different.len() > 32, "{}", different.len());
}

#[test]
fn a_run_depends_on_its_seed_only() {
    check_seeds(Walk::new);
    check_seeds(Pos::new);
    check_seeds(|seed| Pct::new(seed).with_depth(5).with_length(12));
    check_seeds(|seed| Portfolio::new(seed, 12));
}

#[test]
fn messages_of_a_pair_arrive_in_their_order() {
    let streams = Streams {
        receivers: 3,
        messages: 5,
    };
    let mut portfolio = Portfolio::new(0, 15);
    for _ in 0..200 {
        assert!(Strategy::<Act>::begin(&mut portfolio));
        let outcome = run(&streams, &mut portfolio);
        assert_eq!(outcome.states, [5, 5, 5]);
        assert!(outcome.is_whole);
    }
}

#[test]
fn a_portfolio_runs_the_strategy_of_its_plan() {
    for seed in 0..16 {
        let steps = run_once(&Bank(3), Portfolio::new(seed, 12)).steps;
        let alone = match Plan::of(seed) {
            Plan::Walk => run_once(&Bank(3), Walk::new(seed)),
            Plan::Pos => run_once(&Bank(3), Pos::new(seed)),
            Plan::Pct(depth) => {
                run_once(&Bank(3), Pct::new(seed).with_depth(depth).with_length(12))
            }
        };
        assert_eq!(steps, alone.steps);
    }
}
