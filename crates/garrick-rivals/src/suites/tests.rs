//! Tests for all suites.

use garrick_measure::{Beside, Contender, Effort, Figure, Row};
use serde_json::json;

use super::*;

const FULL: Effort = Effort {
    quick: false,
    seconds_per_row: 1.0,
};

#[test]
fn names_are_unique_and_all_is_stated() {
    for (index, suite) in SUITES.iter().enumerate() {
        let before = &SUITES[..index];
        assert!(before.iter().all(|other| other.name != suite.name));
        assert!(!suite.scenarios.is_empty() && suite.about.len() > 20);
        assert!(!suite.published.is_empty() && !suite.origin.is_empty());
    }
    let scenarios = SUITES.iter().flat_map(|suite| suite.scenarios);
    let mut names: Vec<&str> = scenarios.map(|scenario| scenario.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// Returns a row of 2 ns of CPU time and 4 ns of wall time.
fn row(scenario: &str, contender: &Contender) -> Row {
    let row = json!({
        "scenario": scenario, "contender": contender.name, "params": contender.params, "unit": "ns",
        "cpu": {"median": 2.0, "min": 2.0, "max": 2.0}, "wall": {"median": 4.0, "min": 4.0, "max": 4.0},
        "ops_per_s": 2.5e8, "bytes_per_actor": null, "ratio_to_rmw": 1.0,
    });
    serde_json::from_value(row).expect("it is a row")
}

/// Returns the lines of a suite. Each contender has a row, and all rows have the same times.
fn beside(name: &str) -> Beside {
    let suite = SUITES.iter().find(|suite| suite.name == name).unwrap();
    let rows = suite.scenarios.iter().flat_map(|scenario| {
        let contenders = (scenario.contenders)(&FULL).into_iter();
        contenders.map(|contender| row(scenario.name, &contender))
    });
    Beside::of(suite, &rows.collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_published_line_finds_our_row() {
    // Without the feature `steady`, the suite `pipeline` has no rival.
    let has_rivals = |suite: &&Suite| cfg!(feature = "steady") || suite.name != "pipeline";
    for suite in SUITES.iter().filter(has_rivals) {
        for line in beside(suite.name).lines {
            assert!(line.ours.is_some(), "{}: {}", suite.name, line.of);
            assert!(line.ratio.is_some(), "{}: {}", suite.name, line.of);
        }
    }
}

#[test]
fn rivals_of_the_same_run_are_found_and_in_the_lines_unit() {
    let pipeline = beside("pipeline").lines;
    let by_feature = |figure| cfg!(feature = "steady").then(|| Figure::of(figure));
    assert_eq!(pipeline[0].here, by_feature(250.0), "millions a second");
    assert_eq!(pipeline[4].here, by_feature(2.0), "CPU time");
    for line in beside("async").lines {
        assert_eq!(line.here.map(|here| here.low), line.ours, "{}", line.of);
    }
}

#[test]
fn ours_are_in_the_unit_that_was_published() {
    let cajun = beside("cajun").lines;
    let ours = |of: &str| {
        let line = cajun.iter().find(|line| line.of == of).unwrap();
        (line.unit.as_str(), line.ours.unwrap())
    };
    assert_eq!(ours("slowdown, one task"), ("x cost", 1.0));
    assert_eq!(ours("an actor created"), ("us", 0.004));
    assert_eq!(ours("latency of a message between threads"), ("us", 0.002));
    assert_eq!(ours("offer to MpscMailbox"), ("ns", 4.0));
    assert_eq!(ours("messages from a thread, MpscMailbox"), ("M/s", 250.0));
    assert_eq!(beside("work-stealing").lines[3].ours, Some(250.0));
}
