//! Tests that combine published figures with rows of invented measurements.

use super::*;
use crate::row::Row;
use crate::row::tests::{at, row};

/// Creates four rows. Three of them are measurements of our system: two trees with different
/// depths, and a ring. The fourth row is a measurement of a tree of another system.
fn rows() -> Vec<Row> {
    let mut wide = at(row("tree", "garrick", &[40.0]), "depth", 16);
    wide.params.insert("queue".to_owned(), "banker".into());
    vec![
        at(row("tree", "garrick", &[20.0]), "depth", 1_000),
        wide,
        at(row("tree", "others", &[90.0]), "depth", 16),
        at(row("ring", "garrick", &[5.0]), "depth", 16),
    ]
}

/// Returns the line for a published figure with the given fields.
fn line(unit: Unit, said: Option<Figure>, here: Here, ours: fn(Rows<'_>) -> Option<f64>) -> Line {
    let published = Published {
        of: "a node",
        unit,
        said,
        here,
        ours,
    };
    let suite = Suite {
        published: Box::leak(Box::new([published])),
        ..Suite::PLAIN
    };
    let beside = Beside::of(&suite, &rows()).expect("something was published");
    beside.lines.into_iter().next().expect("one line")
}

#[test]
fn rows_are_found_by_scenario_contender_and_parameters() {
    let rows = rows();
    let rows = Rows::new(&rows);
    let median = |params: &[(&str, &str)]| {
        let row = rows.find("tree", "garrick", params)?;
        Some(row.cpu.median)
    };
    assert_eq!(median(&[]), Some(20.0), "the first");
    assert_eq!(median(&[("depth", "1000")]), Some(20.0), "not grouped");
    let both = [("depth", "16"), ("queue", "banker")];
    assert_eq!(median(&both), Some(40.0));
    assert_eq!(median(&[("depth", "16"), ("queue", "locked")]), None);
    assert_eq!(median(&[("width", "1")]), None);
    assert!(rows.find("tre", "garrick", &[]).is_none());
    let fastest = rows.fastest("tree", "garrick", &[]).unwrap();
    assert_eq!(fastest.wall.median, 20.0);
    assert_eq!(rows.all("tree", "garrick", &[]).count(), 2);
}

#[test]
fn of_times_the_smaller_wins_and_of_rates_the_larger() {
    let said = Some(Figure::of(40.0));
    let ours: fn(Rows<'_>) -> Option<f64> = |_| Some(20.0);
    let time = line(Unit::NANOSECONDS, said, Here::Unknown, ours);
    assert_eq!(
        (time.ratio, time.standing),
        (Some(0.5), Some(Standing::Ours))
    );
    let rate = line(Unit::MILLIONS_A_SECOND, said, Here::Unknown, ours);
    assert_eq!(rate.standing, Some(Standing::Theirs));
    assert_eq!((time.factor(), rate.factor()), (Some(2.0), Some(2.0)));
}

#[test]
fn a_doubtful_row_decides_nothing_in_either_direction() {
    let mut rows = rows();
    rows[0].doubts = vec!["busy".to_owned()];
    let published = |said, ours| Published {
        said: Some(Figure::of(said)),
        ours,
        ..Published::UNKNOWN
    };
    let doubtful: fn(Rows<'_>) -> Option<f64> =
        |rows| Some(rows.find("tree", "garrick", &[])?.cpu.median);
    let sure: fn(Rows<'_>) -> Option<f64> =
        |rows| Some(rows.find("ring", "garrick", &[])?.cpu.median);
    let lines = vec![
        published(1.0, doubtful),
        published(1000.0, doubtful),
        published(1.0, sure),
    ];
    let suite = Suite {
        published: Box::leak(lines.into_boxed_slice()),
        findings: |rows| {
            let said = |name: &str| {
                Some(format!(
                    "{name} {}",
                    rows.find(name, "garrick", &[])?.cpu.median
                ))
            };
            ["tree", "ring"].into_iter().filter_map(said).collect()
        },
        ..Suite::PLAIN
    };
    let beside = Beside::of(&suite, &rows).expect("something was published");
    let standings: Vec<_> = beside
        .lines
        .iter()
        .filter_map(|line| line.standing)
        .collect();
    let expected = [Standing::Doubtful, Standing::Doubtful, Standing::Theirs];
    assert_eq!(standings, expected);
    let left_out = "1 finding is left out, because it depends on doubtful rows.";
    assert_eq!(beside.findings, ["ring 5", left_out]);
}

#[test]
fn what_differs_by_less_than_a_quarter_is_even() {
    let of = |ours: fn(Rows<'_>) -> Option<f64>| {
        let said = Some(Figure::of(100.0));
        line(Unit::BYTES, said, Here::Unknown, ours).standing
    };
    assert_eq!(of(|_| Some(80.0)), Some(Standing::Ours));
    assert_eq!(of(|_| Some(81.0)), Some(Standing::Even));
    assert_eq!(of(|_| Some(124.0)), Some(Standing::Even));
    assert_eq!(of(|_| Some(125.0)), Some(Standing::Theirs));
}

#[test]
fn the_better_end_of_what_was_measured_here_goes_before_what_was_published() {
    let said = Some(Figure::of(1.0));
    let here = Here::Noted(Figure::between(10.0, 40.0));
    let ours: fn(Rows<'_>) -> Option<f64> = |_| Some(20.0);
    let time = line(Unit::NANOSECONDS, said, here, ours);
    assert_eq!((time.published, time.ratio), (said, Some(2.0)));
    let rate = line(Unit::MILLIONS_A_SECOND, said, here, ours);
    assert_eq!(rate.ratio, Some(0.5));
}

#[test]
fn theirs_can_be_of_the_same_run() {
    let here = Here::InThisRun(|rows| Some(rows.find("tree", "others", &[])?.cpu.median));
    let line = line(Unit::NANOSECONDS, None, here, |rows| {
        Some(rows.find("tree", "garrick", &[("depth", "16")])?.cpu.median)
    });
    assert_eq!(line.here, Some(Figure::of(90.0)));
    assert_eq!(line.ours, Some(40.0));
    assert_eq!(line.standing, Some(Standing::Ours));
}

#[test]
fn what_is_not_known_is_not_compared() {
    let said = Some(Figure::of(40.0));
    for line in [
        line(Unit::BYTES, said, Here::Unknown, |_| None),
        line(Unit::BYTES, None, Here::Unknown, |_| Some(1.0)),
        line(Unit::BYTES, said, Here::Unknown, |_| Some(0.0)),
        line(Unit::BYTES, None, Here::InThisRun(|_| None), |_| Some(1.0)),
    ] {
        assert_eq!((line.ratio, line.standing), (None, None), "{line:?}");
    }
}

#[test]
fn a_suite_without_figures_and_findings_has_nothing_beside() {
    assert_eq!(Beside::of(&Suite::PLAIN, &rows()), None);
    let findings = Suite {
        findings: |rows| vec![format!("{} rows", rows.all("tree", "garrick", &[]).count())],
        ..Suite::PLAIN
    };
    let beside = Beside::of(&findings, &rows()).unwrap();
    assert_eq!(beside.findings, ["2 rows"]);
}

#[test]
fn figures_are_written_as_one_or_as_a_range() {
    assert_eq!(Figure::of(405.0).to_string(), "405");
    assert_eq!(Figure::between(1.2, 90.0).to_string(), "1.20 .. 90.0");
}
