//! Tests for the content of pictures, and for positions in them.

use super::scale::{Scale, time};
use super::*;
use crate::row::tests::{at, row};

/// Creates a sweep of two contenders over three sizes.
fn sweep() -> Vec<Row> {
    [1, 100, 10_000]
        .into_iter()
        .flat_map(|n| {
            let ns = n as f64;
            [
                at(row("sort", "a <b>", &[ns, 1.1 * ns, 1.2 * ns]), "n", n),
                at(row("sort", "c", &[2.0 * ns; 3]), "n", n),
            ]
        })
        .collect()
}

#[test]
fn a_sweep_has_a_line_for_each_contender() {
    let plots = plots(&sweep(), "machine");
    assert_eq!(plots.len(), 1);
    assert_eq!(plots[0].name(), "sort");
    let svg = plots[0].svg();
    assert_eq!(svg.matches("<polyline").count(), 2);
    // Each point, and each contender in the legend.
    assert_eq!(svg.matches("<title>").count(), 6 + 2);
    assert!(svg.contains("a &lt;b&gt; n=10,000: 11.0 us"), "{svg}");
    assert!(svg.contains("n (logarithmic)") && svg.contains("machine"));
    assert!(svg.contains("prefers-color-scheme: dark"));
    assert!(!plots[0].inline().contains("<style>"));
}

#[test]
fn rows_that_differ_in_name_have_dots() {
    let mut second = at(row("s", "b", &[40.0]), "depth", 3);
    second.wall = row("s", "b", &[80.0]).wall;
    let plots = plots(&[row("s", "a", &[10.0, 11.0, 12.0]), second], "");
    let names: Vec<_> = plots.iter().map(Plot::name).collect();
    assert_eq!(names, ["s", "s-wall"], "wall time differs");
    assert!(plots[0].svg().contains(">b depth=3<"));
    assert!(plots[0].svg().contains(">40.0 ns<") && plots[1].svg().contains(">80.0 ns<"));
    assert!(!plots[0].svg().contains("logarithmic"));
}

#[test]
fn figures_far_apart_are_on_a_logarithmic_axis() {
    let even = Scale::of([10.0, 40.0].into_iter(), 0.0, 100.0, true);
    assert!(!even.is_log());
    assert_eq!(even.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
    assert_eq!(even.at(0.0), 0.0);
    let log = Scale::of([1.0, 1e4].into_iter(), 0.0, 100.0, true);
    assert!(log.is_log());
    assert_eq!(log.ticks(), [1.0, 10.0, 100.0, 1e3, 1e4]);
    assert!((log.at(100.0) - 50.0).abs() < 1e-9);
}

#[test]
fn axes_stand_whatever_is_on_them() {
    for values in [
        vec![],
        vec![0.0],
        vec![5.0; 3],
        vec![0.0, 1e-9, 1e12],
        vec![f64::NAN, 3.0],
    ] {
        let scale = Scale::of(values.iter().copied(), 0.0, 100.0, true);
        let ticks = scale.ticks();
        assert!(ticks.len() <= 9, "{values:?}: {ticks:?}");
        for value in values.iter().filter(|value| value.is_finite()) {
            assert!((0.0..=100.0).contains(&scale.at(*value)), "{values:?}");
        }
    }
    let wide = Scale::of([1e-9, 1e9].into_iter(), 0.0, 1.0, false).ticks();
    assert!((2..=8).contains(&wide.len()), "{wide:?}");
}

#[test]
fn ticks_have_no_more_digits_than_they_need() {
    assert_eq!(time(0.0), "0 ns");
    assert_eq!(time(20.0), "20 ns");
    assert_eq!(time(2_500.0), "2.5 us");
    assert_eq!(time(200.0), "200 ns");
}
