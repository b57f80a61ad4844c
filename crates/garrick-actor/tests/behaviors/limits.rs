//! Tests of the `limiter`, with a clock that is set by hand.

use std::time::Duration;

use garrick_actor::Reply;
use garrick_actor::behaviors::limiter;
use garrick_testkit::ms;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::stand::{DROPPED, Stand, heard};

#[test]
fn a_burst_passes_and_the_rest_follow_at_the_rate() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target, ms(10)).burst(3));
    (0..6).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), [0, 1, 2]);
    for n in 3..6 {
        stand.advance(ms(9));
        assert_eq!(heard(&told), []);
        stand.advance(ms(1) + Duration::from_micros(20));
        assert_eq!(heard(&told), [n]);
    }
}

#[test]
fn what_waits_when_the_system_ends_is_dead_letters() {
    let stand = Stand::new();
    let handle = stand.handle();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target, ms(10)));
    (0..3).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), [0]);
    drop(stand);
    assert_eq!(handle.dead_letters(), 2);
}

#[test]
fn a_quiet_time_fills_the_bucket_and_no_more() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target, ms(10)).burst(2));
    stand.advance(ms(1_000));
    (0..4).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), [0, 1]);
}

#[test]
fn what_finds_no_place_to_wait_is_a_dead_letter() {
    let stand = Stand::new();
    let (target, told) = stand.by_hand::<u32, u32>();
    let limiter = stand.spawn(limiter(target, ms(10)).waiting(1));
    let asks: Vec<_> = (0..3)
        .map(|n| limiter.ask(|reply: Reply<u32>| (n, reply)))
        .collect();
    stand.run();
    assert_eq!(stand.dead_letters(), 1);
    stand.advance(ms(11));
    heard(&told)
        .into_iter()
        .for_each(|(n, reply)| reply.send(n));
    let answers: Vec<_> = asks.into_iter().map(|ask| stand.answer(ask)).collect();
    assert_eq!(answers, [Ok(0), Ok(1), Err(DROPPED)]);
}

#[test]
fn when_the_target_stops_those_that_wait_are_dead_letters() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target.clone(), ms(10)));
    (0..4).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), [0]);
    stand.stop(&target);
    stand.advance(ms(11));
    assert_eq!(stand.dead_letters(), 3);
    limiter.send(4).unwrap();
    stand.run();
    assert_eq!(stand.dead_letters(), 4);
    assert!(limiter.is_stopped());
}

#[test]
fn what_waits_is_passed_on_when_nobody_can_reach_the_limiter() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target, ms(10)));
    (0..2).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    drop(limiter);
    stand.advance(ms(11));
    assert_eq!(heard(&told), [0, 1]);
}

#[test]
fn no_limit_is_none() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let limiter = stand.spawn(limiter(target, Duration::ZERO));
    (0..100).for_each(|n| limiter.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told).len(), 100);
}

proptest! {
    /// In each period, the limiter passes at most `burst` messages and one more per 10 ms. At the
    /// end, all messages have passed, in order.
    #[test]
    fn the_rate_is_kept(gaps in vec(0..30u64, 1..60), burst in 1..5u32) {
        let stand = Stand::new();
        let (target, told) = stand.listener();
        let limiter = stand.spawn(limiter(target, ms(10)).burst(burst));
        let (mut now, mut passed) = (0, Vec::new());
        for (n, gap) in gaps.iter().enumerate() {
            for _ in 0..*gap {
                stand.advance(ms(1));
                now += 1;
                passed.extend(heard(&told).into_iter().map(|n: usize| (now, n)));
            }
            limiter.send(n).unwrap();
            stand.run();
            passed.extend(heard(&told).into_iter().map(|n| (now, n)));
        }
        for _ in 0..=10 * gaps.len() {
            stand.advance(ms(1));
            now += 1;
            passed.extend(heard(&told).into_iter().map(|n| (now, n)));
        }
        let order: Vec<_> = passed.iter().map(|&(_, n)| n).collect();
        prop_assert_eq!(order, (0..gaps.len()).collect::<Vec<_>>());
        for (first, &(from, _)) in passed.iter().enumerate() {
            for (last, &(to, _)) in passed.iter().enumerate().skip(first) {
                let allowed = u64::from(burst) + (to - from) / 10;
                // One more, because a timer may be seen a step late.
                prop_assert!((last - first) as u64 <= allowed, "{passed:?}");
            }
        }
    }
}
