//! Tests of the engine, with contenders whose times are invented.

use super::*;
use std::cell::{Cell, RefCell};

const PACE: Pace = Pace {
    rounds: 7,
    seconds_per_row: 0.007,
};

/// Creates a contender that takes exactly `ns` for each operation.
fn steady(name: &'static str, ns: f64) -> Contender {
    Contender::fitted(name, move |ops| Ok(made_up(ops, ns)))
}

fn made_up(ops: u64, ns: f64) -> Measured {
    let total = ops as f64 * ns;
    Measured {
        ops,
        cpu_ns: total,
        wall_ns: 2.0 * total,
        bytes_per_actor: Some(32.0),
    }
}

fn plan(contenders: impl FnOnce() -> Vec<Contender> + 'static) -> Plan<'static> {
    let once = RefCell::new(Some(contenders));
    Plan {
        scenario: "test",
        contenders: Box::new(move || Ok(once.take().expect("it is called once")())),
    }
}

fn measured(plans: Vec<Plan<'_>>, reference: Option<&str>) -> Vec<Row> {
    run(plans, PACE, reference, &Stop::new(), &mut |_| {}).unwrap()
}

/// Returns the names of the contenders, in the order of their trials.
fn order(plans: Vec<Plan<'_>>) -> Vec<String> {
    let mut order = Vec::new();
    run(plans, PACE, None, &Stop::new(), &mut |progress| {
        order.push(progress.contender.to_owned());
    })
    .unwrap();
    order
}

#[test]
fn rows_tell_what_was_measured() {
    let both = || vec![steady("a", 10.0).with("depth", 3), steady("b", 40.0)];
    let rows = measured(vec![plan(both)], None);
    assert_eq!(rows.len(), 2);
    assert_eq!((&*rows[0].scenario, &*rows[0].contender), ("test", "a"));
    assert_eq!(rows[0].cpu.median, 10.0);
    assert_eq!(rows[0].wall.median, 20.0);
    assert_eq!(rows[0].ops_per_s, 5e7);
    assert_eq!(rows[0].bytes_per_actor, Some(32.0));
    assert_eq!(rows[0].params["depth"], 3);
    assert!(rows[0].ratio_to_rmw > 0.0);
    assert_eq!((rows[0].rounds, rows[0].outliers), (7, 0));
    assert_eq!(rows[0].to_reference, None);
    assert_eq!(rows[1].cpu.max, 40.0);
}

#[test]
fn times_are_put_in_relation_to_the_reference() {
    let both = || vec![steady("a", 10.0), steady("b", 40.0)];
    let rows = measured(vec![plan(both), plan(|| vec![steady("c", 1.0)])], Some("a"));
    let relative = rows[1].to_reference.as_ref().unwrap();
    assert_eq!((&*relative.contender, relative.ratio.median), ("a", 4.0));
    assert_eq!(rows[0].to_reference.as_ref().unwrap().ratio.max, 1.0);
    assert_eq!(rows[2].to_reference, None, "there is no a");
}

#[test]
fn the_reference_is_the_one_with_the_same_parameters() {
    let pairs = || {
        let pair = |depth, ns| {
            [steady("a", ns), steady("b", 3.0 * ns)].map(|contender| contender.with("depth", depth))
        };
        pair(0, 10.0).into_iter().chain(pair(64, 50.0)).collect()
    };
    let rows = measured(vec![plan(pairs)], Some("a"));
    let ratios: Vec<f64> = rows
        .iter()
        .map(|row| row.to_reference.as_ref().unwrap().ratio.median)
        .collect();
    assert_eq!(ratios, [1.0, 3.0, 1.0, 3.0]);
}

#[test]
fn contenders_take_turns_and_sets_follow_one_another() {
    let three = || vec![steady("a", 1e4), steady("b", 1e4), steady("c", 1e4)];
    let order = order(vec![plan(three), plan(|| vec![steady("d", 1e4)])]);
    assert_eq!(order.concat(), "abc".repeat(8) + &"d".repeat(8));
}

#[test]
fn fixed_work_is_not_repeated_more_often_than_it_says() {
    let fixed = || {
        vec![
            Contender::fixed("once", || Ok(made_up(1, 1e9))).rounds(1),
            Contender::fixed("twice", || Ok(made_up(1, 1e9))).rounds(5),
        ]
    };
    let order = order(vec![plan(fixed)]);
    assert_eq!(order, ["twice", "once", "twice", "twice"]);
}

#[test]
fn a_failure_ends_the_run() {
    let failing = || vec![Contender::fixed("f", || Err("no thread".into()))];
    let error = run(vec![plan(failing)], PACE, None, &Stop::new(), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "no thread");
}

#[test]
fn contenders_before_are_gone_when_the_next_are_made() {
    let alive = Rc::new(Cell::new(0));
    let one = |name: &'static str| {
        let alive = alive.clone();
        let make = move || {
            assert_eq!(alive.get(), 0, "{name} is alone");
            let guard = Guard::new(alive);
            vec![Contender::fitted(name, move |ops| {
                assert_eq!(guard.0.get(), 1);
                Ok(made_up(ops, 1e4))
            })]
        };
        plan(make)
    };
    assert_eq!(measured(vec![one("a"), one("b")], None).len(), 2);
    assert_eq!(alive.get(), 0);
}

/// A guard. The shared cell counts the guards that are alive.
struct Guard(Rc<Cell<u32>>);

impl Guard {
    fn new(alive: Rc<Cell<u32>>) -> Self {
        alive.set(alive.get() + 1);
        Self(alive)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Runs a contender that starts its own system on this thread. This works because a contender does
/// not run inside a turn of the engine.
#[test]
fn a_contender_can_run_actors_on_the_measuring_thread() {
    let nested = || {
        vec![Contender::fitted("local", |ops| {
            let local = Local::new()?;
            let heard = Rc::new(Cell::new(false));
            let hears = heard.clone();
            let timer = local.spawn(Hears(hears));
            timer.send(())?;
            assert!(!heard.get(), "it has not run");
            local.run();
            assert!(heard.get(), "it has run");
            Ok(made_up(ops, 1e4))
        })]
    };
    assert_eq!(measured(vec![plan(nested)], None).len(), 1);
}

struct Hears(Rc<Cell<bool>>);

impl garrick_actor::Actor for Hears {
    type Msg = ();
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut garrick_actor::Context<'_, ()>) {
        self.0.set(true);
    }
}

/// Returns a plan with two contenders. The trial number `at` of the second contender requests a
/// stop.
fn stopping(stop: &Stop, at: u32) -> Plan<'static> {
    let (stop, mut calls) = (stop.clone(), 0);
    plan(move || {
        let b = Contender::fitted("b", move |ops| {
            calls += 1;
            if calls == at {
                stop.wish();
            }
            Ok(made_up(ops, 1e4))
        });
        vec![steady("a", 1e4), b]
    })
}

#[test]
fn what_was_measured_before_a_stop_is_kept() {
    let stop = Stop::new();
    let first = plan(|| vec![steady("first", 1e4)]);
    // The first trial is the warm-up. The trial that requests the stop is lost, because the
    // yardstick after it is not measured.
    let plans = vec![
        first,
        stopping(&stop, 4),
        plan(|| vec![steady("never", 1.0)]),
    ];
    let rows = run(plans, PACE, None, &stop, &mut |_| {}).unwrap();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (&*row.contender, row.rounds))
        .collect();
    assert_eq!(seen, [("first", 7), ("a", 3), ("b", 2)]);
}

#[test]
fn a_stop_while_warming_up_leaves_nothing_half_done() {
    let stop = Stop::new();
    let rows = run(vec![stopping(&stop, 1)], PACE, None, &stop, &mut |_| {}).unwrap();
    assert_eq!(rows, []);
}

#[test]
fn a_measurement_that_is_no_number_is_refused_with_the_names() {
    let of = |measured: Measured| {
        let contender = Contender::fitted("odd", move |_| Ok(measured));
        let plans = vec![plan(move || vec![steady("a", 10.0), contender])];
        let rows = run(plans, PACE, None, &Stop::new(), &mut |_| {});
        rows.expect_err("the figures are no numbers").to_string()
    };
    let none = of(made_up(0, 10.0));
    assert_eq!(
        none,
        "'odd' of 'test' has reported 0 operations, so the time of one operation is unknown"
    );
    for ns in [f64::NAN, f64::INFINITY, -1.0] {
        let why = of(made_up(10, ns));
        assert!(why.starts_with("'odd' of 'test' has reported "), "{why}");
        assert!(why.ends_with("must be finite and not negative"), "{why}");
    }
}

#[test]
fn a_contender_that_fails_after_a_stop_does_not_take_the_other_rows_with_it() {
    let stop = Stop::new();
    let (wish, trials) = (stop.clone(), Cell::new(0));
    // As if Ctrl-C had also ended a process that the contender has started.
    let killed = Contender::fixed("killed", move || {
        trials.set(trials.get() + 1);
        if trials.get() < 3 {
            return Ok(made_up(1, 1e6));
        }
        wish.wish();
        Err("the process was killed".into())
    });
    let plans = vec![
        plan(|| vec![steady("a", 10.0)]),
        plan(|| vec![steady("b", 10.0), killed]),
    ];
    let rows = run(plans, PACE, None, &stop, &mut |_| {}).expect("the rows are kept");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (&*row.contender, row.rounds))
        .collect();
    assert_eq!(rows, [("a", 7), ("b", 2), ("killed", 1)]);
}
