//! Tests of the FizzBuzz names of numbers, and of whole runs. The totals of all runs must be equal.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;

static NEVER: AtomicBool = AtomicBool::new(false);

fn config() -> Config<'static> {
    Config {
        rate_ms: 1,
        beats: 20,
        mode: Mode::ZeroCopy,
        capacity: 1 << 12,
        seconds: None,
        one_core: false,
        stop: &NEVER,
    }
}

/// Counts the names of the first `total` numbers with a simple loop.
fn counts_of(total: u64) -> Counts {
    let multiples = |of: u64| total.div_ceil(of);
    let fizz_buzz = multiples(15);
    let (fizz, buzz) = (multiples(3) - fizz_buzz, multiples(5) - fizz_buzz);
    Counts {
        fizz,
        buzz,
        fizz_buzz,
        value: total - fizz - buzz - fizz_buzz,
    }
}

fn totals(config: &Config<'_>) -> Totals {
    run(config, |_| (), |_| ()).unwrap().totals
}

fn check(totals: &Totals) {
    assert!(totals.agree(), "{totals:?}");
    assert!(totals.generated > 0 && totals.rate() > 0.0, "{totals:?}");
    assert_eq!(totals.counts, counts_of(totals.generated), "{totals:?}");
}

/// Largest number for which [`Message::of`] returns the correct name.
const LARGEST: u64 = (1 << 60) - 1;

#[test]
fn numbers_are_called_by_their_names() {
    let called = [0, 1, 2, 3, 4, 5, 14, 15, 16, 9, 10, LARGEST, 0].map(Message::of);
    let expected = {
        use Message::{Buzz, Fizz, FizzBuzz, Value};
        // A multiple of 15.
        [
            FizzBuzz,
            Value(1),
            Value(2),
            Fizz,
            Value(4),
            Buzz,
            Value(14),
            FizzBuzz,
            Value(16),
            Fizz,
            Buzz,
            FizzBuzz,
            FizzBuzz,
        ]
    };
    assert_eq!(called, expected);
    assert_eq!(size_of::<Message>(), 16);
}

#[test]
fn names_are_right_wherever_the_number_is() {
    let slow = |number: u64| match (number % 3, number % 5) {
        (0, 0) => Message::FizzBuzz,
        (0, _) => Message::Fizz,
        (_, 0) => Message::Buzz,
        _ => Message::Value(number),
    };
    let near = |middle: u64| middle.saturating_sub(1000)..=LARGEST.min(middle + 1000);
    let powers = (0..=60).map(|power| 1 << power);
    for number in powers.flat_map(near) {
        assert_eq!(Message::of(number), slow(number), "{number}");
    }
}

#[test]
fn totals_agree_in_both_modes_on_one_core_and_on_two() {
    for mode in [Mode::ZeroCopy, Mode::DoubleBuffer] {
        for one_core in [false, true] {
            for capacity in [1, 2, 1 << 12] {
                let config = Config {
                    mode,
                    one_core,
                    capacity,
                    ..config()
                };
                let totals = totals(&config);
                check(&totals);
                assert_eq!(totals.heartbeats, 20);
            }
        }
    }
}

#[test]
fn hand_written_totals_agree() {
    for mode in [Mode::ZeroCopy, Mode::DoubleBuffer] {
        for one_core in [false, true] {
            check(&hand_written(&Config {
                mode,
                one_core,
                ..config()
            }));
        }
    }
}

#[test]
fn a_stop_and_a_limit_end_it_in_order() {
    let endless = Config {
        beats: u64::MAX,
        ..config()
    };
    check(&totals(&Config {
        seconds: Some(0.02),
        ..endless.clone()
    }));
    let stop = AtomicBool::new(false);
    let mut seen = 0;
    let totals = run(
        &Config {
            stop: &stop,
            ..endless
        },
        |_| (),
        |snapshot| {
            seen = snapshot.counts.total();
            stop.store(true, Relaxed);
        },
    );
    let totals = totals.unwrap().totals;
    check(&totals);
    assert!(seen <= totals.generated);
}

#[test]
fn each_channel_has_its_traffic_and_all_of_it_can_be_watched() {
    let mut monitor = None;
    let config = Config {
        beats: 200,
        ..config()
    };
    let Outcome { totals, traffic } = run(&config, |seen| monitor = Some(seen), |_| ()).unwrap();
    let seen: Vec<_> = traffic
        .iter()
        .map(|channel| {
            (
                &*channel.name,
                channel.message,
                channel.capacity,
                channel.total,
            )
        })
        .collect();
    let total = totals.generated;
    assert_eq!(
        seen,
        [
            ("numbers", "u64", 1 << 12, total),
            ("beats", "u64", 1024, 200),
            ("messages", "Message", 1 << 12, total)
        ]
    );
    for channel in &traffic {
        let fill = channel
            .fill
            .expect("the run was longer than the interval between samples");
        assert!(
            (0.0..=1.0).contains(&fill) && channel.rate > 0.0,
            "{channel:?}"
        );
    }
    let sample = monitor.expect("it was shown").sample();
    let names: Vec<_> = sample.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(names, ["generator", "heartbeat", "worker", "logger"]);
    assert_eq!(sample.channels[0].taken, total);
}

#[test]
fn an_impossible_capacity_is_an_error() {
    let error = run(
        &Config {
            capacity: 0,
            ..config()
        },
        |_| (),
        |_| (),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the channels cannot be created: a ring needs at least one slot"
    );
}
