use std::sync::atomic::AtomicU64;
use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn a_token_given_before_is_taken_at_once() {
    let mut parker = Parker::new();
    parker.unparker().unpark();
    parker.park();
    assert!(!parker.park_timeout(Duration::ZERO), "taken twice");
}

#[test]
fn tokens_do_not_add_up() {
    let mut parker = Parker::new();
    let unparker = parker.unparker();
    unparker.unpark();
    unparker.clone().unpark();
    assert!(parker.park_timeout(LONG));
    assert!(!parker.park_timeout(Duration::ZERO));
}

#[test]
fn a_timeout_without_a_token_says_so() {
    let mut parker = Parker::new();
    let start = Instant::now();
    assert!(!parker.park_timeout(Duration::from_millis(2)));
    assert!(start.elapsed() >= Duration::from_millis(2));
    // The announcement was withdrawn.
    parker.unparker().unpark();
    assert!(parker.park_timeout(Duration::ZERO));
}

#[test]
fn the_longest_timeout_is_none() {
    let mut parker = Parker::new();
    let unparker = parker.unparker();
    let waker = thread::spawn(move || unparker.unpark());
    assert!(parker.park_timeout(Duration::MAX));
    waker.join().unwrap();
}

#[test]
fn handles_show_their_state() {
    let parker = Parker::default();
    parker.unparker().unpark();
    assert_eq!(format!("{parker:?}"), "Parker(\"notified\")");
    assert_eq!(format!("{:?}", parker.unparker()), "Unparker(\"notified\")");
}

/// Two threads increment a number alternately, and wake each other. A lost wake-up makes the test
/// hang.
#[test]
fn ping_pong_loses_no_wake_up() {
    let rounds: u64 = if cfg!(debug_assertions) {
        5_000
    } else {
        50_000
    };
    let ball = Arc::new(AtomicU64::new(0));
    let (mut ours, mut theirs) = (Parker::new(), Parker::new());
    let (wake_us, wake_them) = (ours.unparker(), theirs.unparker());
    let other = {
        let ball = ball.clone();
        thread::spawn(move || play(&ball, 1, rounds, &mut theirs, &wake_us))
    };
    play(&ball, 0, rounds, &mut ours, &wake_them);
    other.join().unwrap();
    assert_eq!(ball.load(Relaxed), 2 * rounds);
}

/// Increments `ball` whenever it is this thread's turn, and then wakes the other thread. It is this
/// thread's turn whenever `ball` modulo 2 is `parity`. The accesses to `ball` are relaxed, so only
/// the parking and waking of the threads orders them.
fn play(ball: &AtomicU64, parity: u64, rounds: u64, parker: &mut Parker, other: &Unparker) {
    for round in 0..rounds {
        let mine = 2 * round + parity;
        while ball.load(Relaxed) != mine {
            if round % 2 == 0 {
                parker.park();
            } else {
                parker.park_timeout(LONG);
            }
        }
        ball.store(mine + 1, Relaxed);
        other.unpark();
    }
}
