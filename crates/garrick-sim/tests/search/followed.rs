//! Lists of actions: replaying them exactly, following them as far as possible, and shrinking them.

use crate::mock::{Act, Outcome, run, run_once};
use crate::systems::{Bank, Senders};
use garrick_sim::search::{Difference, Follow, Replay, Strategy, Then, Walk, shrink};

fn trigger(to: usize) -> Act {
    Act::Land {
        from: crate::mock::OUTSIDE,
        to,
    }
}

fn report(from: usize) -> Act {
    Act::Land { from, to: 0 }
}

#[test]
fn a_run_is_replayed_exactly() {
    for seed in 0..50 {
        let first = run_once(&Bank(3), Walk::new(seed));
        let mut replay = Replay::new(first.steps.clone());
        assert!(replay.begin());
        assert_eq!(run(&Bank(3), &mut replay), first);
        assert_eq!(replay.finish(), None);
    }
}

#[test]
fn a_replay_reports_what_it_could_not_take() {
    let mut replay = Replay::new(vec![trigger(1), report(2)]);
    assert!(replay.begin());
    let outcome = run(&Senders(2), &mut replay);
    assert_eq!(outcome.steps, [trigger(1)]);
    let difference = Difference {
        step: 1,
        expected: Some(report(2)),
        enabled: vec![report(1), trigger(2)],
    };
    assert_eq!(replay.finish(), Some(difference));
}

#[test]
fn a_replay_reports_a_run_of_another_length() {
    let mut longer = Replay::new(vec![trigger(1)]);
    assert!(longer.begin());
    run(&Senders(1), &mut longer);
    let difference = longer.finish().expect("the replay has more steps");
    assert_eq!((difference.step, difference.expected), (1, None));

    let mut shorter = Replay::new(vec![trigger(1), report(1), report(1)]);
    assert!(shorter.begin());
    run(&Senders(1), &mut shorter);
    let difference = shorter.finish().expect("the replay has fewer steps");
    assert_eq!((difference.step, difference.enabled.len()), (2, 0));
}

#[test]
fn what_cannot_be_taken_is_skipped() {
    let list = vec![report(2), trigger(2), trigger(3), report(2), report(1)];
    let mut follow = Follow::new(list, Then::End);
    for _ in 0..2 {
        assert!(follow.begin());
        let outcome = run(&Senders(2), &mut follow);
        assert_eq!(outcome.steps, [trigger(2), report(2)]);
        assert!(!outcome.is_whole);
        assert_eq!((follow.taken(), follow.skipped()), (2, 3));
    }
}

#[test]
fn a_list_is_continued_in_a_fixed_way() {
    let first = run_once(&Senders(3), Follow::new(vec![trigger(3)], Then::First));
    assert!(first.is_whole);
    assert_eq!(first.steps[..3], [trigger(3), report(3), trigger(1)]);
    let walk = |seed| run_once(&Senders(3), Follow::new(vec![trigger(3)], Then::Walk(seed)));
    assert_eq!(walk(1), walk(1));
    assert!((2..20).any(|seed| walk(seed) != walk(1)));
}

/// Returns true if the account has been written more often than its balance says.
fn is_lost(outcome: &Outcome) -> bool {
    let writes = outcome.seen[0].iter().filter(|&&(_, message)| message >= 0);
    outcome.states[0] < writes.count() as i64
}

#[test]
fn a_lost_update_among_five_tellers_shrinks_to_two_tellers() {
    let runs = (0..).map(|seed| run_once(&Bank(5), Walk::new(seed)));
    let long = runs.into_iter().find(is_lost).expect("some run fails");
    assert_eq!(long.steps.len(), 20);
    let fails = |list: &[Act]| {
        let outcome = run_once(&Bank(5), Follow::new(list.to_vec(), Then::End));
        is_lost(&outcome).then_some(outcome.steps)
    };
    let shrunk = shrink(long.steps, 1_000, || false, fails);
    assert!(shrunk.is_minimal);
    assert_eq!(shrunk.list.len(), 8);
    assert!(shrunk.runs < 50, "{}", shrunk.runs);
}
