//! Tests of properties that all suites have in common.

use garrick_measure::{Beside, Contender, Effort, Row, Scenario};

use super::*;
use crate::rows::row;

const QUICK: Effort = Effort {
    quick: true,
    seconds_per_row: 0.01,
};

fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    SUITES.iter().flat_map(|suite| suite.scenarios)
}

#[test]
fn names_are_unique_and_all_is_stated() {
    for (index, suite) in SUITES.iter().enumerate() {
        let before = &SUITES[..index];
        assert!(before.iter().all(|other| other.name != suite.name));
        assert!(!suite.scenarios.is_empty() && suite.about.len() > 20);
        let source = !suite.origin.is_empty();
        assert!(source || suite.published.is_empty(), "{}", suite.name);
    }
    let names: Vec<&str> = scenarios().map(|scenario| scenario.name).collect();
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name), "{name}");
    }
}

/// Returns the rows of a full run with all contenders. Each contender takes the same time.
fn rows(suite: &Suite) -> Vec<Row> {
    let full = Effort {
        quick: false,
        ..QUICK
    };
    let of = |scenario: &Scenario| {
        let name = scenario.name;
        let contenders = (scenario.contenders)(&full).into_iter();
        let row = contenders.map(move |contender| Row {
            params: contender.params,
            bytes_per_actor: Some(48.0),
            ..row(name, contender.name, 2.0)
        });
        row.collect::<Vec<_>>()
    };
    suite.scenarios.iter().flat_map(of).collect()
}

#[test]
fn every_published_line_finds_our_row() {
    for suite in SUITES {
        let lines = Beside::of(suite, &rows(suite)).map_or(Vec::new(), |beside| beside.lines);
        assert_eq!(lines.len(), suite.published.len());
        for line in lines {
            assert!(line.ours.is_some(), "{}: {}", suite.name, line.of);
        }
    }
}

#[test]
fn the_best_queue_is_named_in_each_case() {
    let suite = SUITES
        .iter()
        .find(|suite| suite.name == "event-queue")
        .unwrap();
    let findings = Beside::of(suite, &rows(suite)).unwrap().findings;
    assert_eq!(findings.len(), 5);
    let expected = "Light load, one thread: locked takes 2.00 ns, banker 1.0 times that, chunked 1.0 times that.";
    assert_eq!(findings[0], expected);
}

#[test]
fn a_quick_run_needs_less_memory() {
    for suite in SUITES {
        let full = Effort {
            quick: false,
            ..QUICK
        };
        assert!((suite.memory_bytes)(&QUICK) <= (suite.memory_bytes)(&full));
    }
}

/// Returns the number of operations that each contender reports, in the named scenario of a suite.
fn counts(name: &str, ops: u64) -> Vec<u64> {
    let scenario = scenarios().find(|scenario| scenario.name == name).unwrap();
    let measured = |mut contender: Contender| (contender.measure)(ops).unwrap().ops;
    (scenario.contenders)(&QUICK)
        .into_iter()
        .map(measured)
        .collect()
}

#[test]
fn every_queue_hands_on_what_it_is_given() {
    for ops in [1, 3] {
        let light = counts("event-queue-light", ops);
        assert_eq!(light[..4], [ops; 4]);
        assert_eq!(light[4..], [ops.next_multiple_of(2); 4]);
    }
    let heavy = counts("event-queue-heavy", 5_000);
    assert_eq!(heavy[..4], [8192; 4], "two batches");
    assert_eq!(heavy[4..], [8192 + 5_000; 8]);
}

#[test]
fn trees_with_loads_have_as_many_leaves_with_all_contenders() {
    let erfc = counts("leaf-load-erfc", 0);
    assert_eq!(erfc, [256; 8]);
}

#[test]
fn trees_of_all_sizes_are_complete() {
    let sizes = scenarios()
        .find(|scenario| scenario.name == "fork-bomb-sizes")
        .unwrap();
    let of = |depth: u64, mut contender: Contender| {
        let asked = contender.params["depth"] == depth;
        asked.then(|| (contender.measure)(0).unwrap().ops)
    };
    for (depth, nodes) in [(5, 2080 * 63), (16, 131_071)] {
        let all = (sizes.contenders)(&QUICK).into_iter();
        let grown: Vec<u64> = all.filter_map(|contender| of(depth, contender)).collect();
        assert_eq!(grown, [nodes; 4]);
    }
    let depths = (sizes.contenders)(&QUICK).len() / 4;
    assert_eq!(depths, 6, "up to 16 in a quick run");
}
