//! Tests of the `sequencer`, which puts messages that arrive in any order back into order.

use garrick_actor::behaviors::sequencer;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::stand::{Stand, heard};

#[test]
fn a_number_that_is_missing_holds_back_those_behind_it() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let sequencer = stand.spawn(sequencer(target));
    for n in [0, 2, 3, 5] {
        sequencer.send((n, n)).unwrap();
    }
    stand.run();
    assert_eq!(heard(&told), [0]);
    sequencer.send((1, 1)).unwrap();
    stand.run();
    assert_eq!(heard(&told), [1, 2, 3]);
}

#[test]
fn a_number_that_has_been_there_is_a_dead_letter() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let sequencer = stand.spawn(sequencer(target));
    for numbered in [(0, "a"), (0, "late"), (2, "c"), (2, "again"), (1, "b")] {
        sequencer.send(numbered).unwrap();
    }
    stand.run();
    assert_eq!(heard(&told), ["a", "b", "c"]);
    assert_eq!(stand.dead_letters(), 2);
}

#[test]
fn when_the_target_stops_those_that_wait_are_dead_letters() {
    let stand = Stand::new();
    let sequencer = stand.spawn(sequencer(stand.stopped()));
    for n in [3, 1, 2, 0, 4] {
        sequencer.send((n, ())).unwrap();
    }
    stand.run();
    assert_eq!(stand.dead_letters(), 5);
    assert!(sequencer.is_stopped());
}

#[test]
fn what_waits_when_the_system_ends_is_dead_letters() {
    let stand = Stand::new();
    let handle = stand.handle();
    let (target, told) = stand.listener();
    let sequencer = stand.spawn(sequencer(target));
    for n in [0, 2, 3] {
        sequencer.send((n, n)).unwrap();
    }
    stand.run();
    assert_eq!(heard(&told), [0]);
    drop(stand);
    assert_eq!(handle.dead_letters(), 2);
}

proptest! {
    #[test]
    fn any_order_comes_out_in_order(
        order in (1..80u64).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        runs in vec(any::<bool>(), 80),
        again in vec(0..80u64, 0..10),
    ) {
        let stand = Stand::new();
        let (target, told) = stand.listener();
        let sequencer = stand.spawn(sequencer(target));
        for (&n, run) in order.iter().zip(runs) {
            sequencer.send((n, n)).unwrap();
            if run {
                stand.run();
            }
        }
        let repeated = again.iter().filter(|n| order.contains(n));
        let mut dead = 0;
        for &n in repeated {
            sequencer.send((n, n)).unwrap();
            dead += 1;
        }
        stand.run();
        prop_assert_eq!(heard(&told), (0..order.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(stand.dead_letters(), dead);
    }
}
