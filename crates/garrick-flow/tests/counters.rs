//! Tests the samples of a monitor, during a run and after it: the states, and the counts that are
//! the same in every run.
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use garrick_flow::testing::Stepper;
use garrick_flow::{Cx, Graph, Monitor, Slots, StageState, Wait, stages};

type Result = std::result::Result<(), Box<dyn Error>>;

#[test]
fn batches_are_counted_by_their_size() -> Result {
    let mut graph = Graph::new();
    let (mut tx, rx) = graph.channel::<u16>(Slots::of(64).named("sixteen bits"))?;
    graph.stage("send", move |_: &mut Cx<'_>| {
        for size in [1, 1, 2, 3, 4, 7, 8, 0] {
            tx.produce_batch(size, |_| 0);
        }
        Wait::done()
    });
    graph.stage("read", stages::consume(rx, |_| ()));
    let report = graph.start()?.join();
    let channel = &report.channels()[0];
    assert_eq!(channel.batches, [2, 2, 2, 1]);
    assert_eq!(channel.name.as_deref(), Some("sixteen bits"));
    assert_eq!(
        (channel.message, channel.capacity, channel.closed),
        ("u16", 64, true)
    );
    assert_eq!((channel.sent, channel.taken), (26, 26));
    assert_eq!((channel.from, channel.to), (Some(0), Some(1)));
    Ok(())
}

#[test]
fn a_rest_is_a_stall_of_the_end_that_waits() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, numbers_in) = graph.channel::<u8>(4)?;
    let (full, mut full_in) = graph.channel::<u8>(4)?;
    let (go, gone) = mpsc::channel::<()>();
    // The middle stage first rests for lack of numbers, then because its output is full.
    graph.stage("middle", stages::map(numbers_in, full, |n| *n));
    let running = graph.start()?;
    let monitor = running.monitor();
    let feed = std::thread::spawn(move || {
        for _ in 0..4 {
            let _ = gone.recv();
            while numbers.try_push(1).is_err() {}
        }
        let _ = gone.recv();
    });
    until(&monitor, |receiver, sender| (receiver, sender) == (1, 0));
    for sent in 1..=4 {
        go.send(())?;
        if sent < 4 {
            until(&monitor, |receiver, sender| {
                (receiver, sender) == (sent + 1, 0)
            });
        }
    }
    // Now both are missing: a number, and a slot for it.
    until(&monitor, |receiver, sender| (receiver, sender) == (5, 1));
    assert_eq!(monitor.sample().stages[0].rests, 5);
    assert_eq!(full_in.pop_each(4, drop), 4);
    drop(go);
    feed.join().map_err(|_| "the feeder panicked")?;
    let report = running.join();
    assert!(report.failures().is_empty());
    Ok(())
}

#[test]
fn a_rest_is_one_stall_even_if_several_conditions_name_the_channel() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u8>(8)?;
    let (mut full, _full_in) = graph.bundle::<u8>(2, 8)?;
    full[1].push_slice(&[0; 4]);
    let input = Wait::readable(&rx, 1).or(Wait::readable(&rx, 8));
    let one = input.and(Wait::free(&full[1], 8));
    let wait = one.or(Wait::all_free(&full, 8));
    graph.stage("waits", move |_: &mut Cx<'_>| wait);
    let mut stepper = Stepper::new(graph);
    stepper.step();
    let channels = stepper.totals().channels;
    let stalls = channels
        .iter()
        .map(|one| (one.receiver_stalls, one.sender_stalls));
    let stalls: Vec<_> = stalls.collect();
    assert_eq!(stalls, [(1, 0), (0, 0), (0, 1)]);
    drop((tx, full));
    Ok(())
}

/// Waits until `seen` returns true. The arguments of `seen` are how often the middle stage has
/// waited for its input, and how often for its output.
fn until(monitor: &Monitor, seen: impl Fn(u64, u64) -> bool) {
    loop {
        let channels = monitor.sample().channels;
        if seen(channels[0].receiver_stalls, channels[1].sender_stalls) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn busy_stages_are_busy_and_idle_ones_are_not() -> Result {
    let mut graph = Graph::new();
    graph.count_slow_steps(Duration::from_micros(500));
    let mut steps = 0;
    // The stage makes its own time: each step takes a millisecond of the sponsor's clock.
    graph.stage("busy", move |cx: &mut Cx<'_>| {
        let began = cx.now();
        while cx.now() < began + 1_000_000 {}
        steps += 1;
        if steps == 5 {
            Wait::done()
        } else {
            Wait::again()
        }
    });
    graph
        .team("a team")
        .pin_to(0)
        .stage("idle", |_: &mut Cx<'_>| Wait::done());
    let report = graph.start()?.join();
    let [busy, idle] = report.stages() else {
        return Err("two stages".into());
    };
    assert!(busy.busy_nanos >= 5_000_000, "{busy:?}");
    assert_eq!((busy.steps, busy.slow_steps, busy.restarts), (5, 5, 0));
    assert!(idle.busy_nanos < busy.busy_nanos, "{idle:?}");
    assert_eq!((idle.steps, idle.team.as_str()), (1, "a team"));
    assert_eq!((idle.core, busy.core), (Some(0), None));
    assert_eq!(busy.team, "busy");
    Ok(())
}

#[test]
fn a_monitor_outlives_its_graph() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u64>(16)?;
    graph.source("endless", stages::produce(tx, 0..));
    graph.stage("fails", stages::consume(rx, |_| panic!("it was asked to")));
    let (rests, _rests_in) = graph.channel::<u64>(16)?;
    graph.stage("waits", move |_: &mut Cx<'_>| Wait::free(&rests, 17));
    let running = graph.start()?;
    let monitor = running.monitor();
    while monitor.sample().stages[1].state == StageState::Running {
        std::thread::yield_now();
    }
    drop(running);
    let states = monitor.sample().stages.into_iter().map(|stage| stage.state);
    assert_eq!(
        states.collect::<Vec<_>>(),
        [
            StageState::Ended,
            StageState::Failed("it was asked to".to_owned()),
            StageState::Ended
        ]
    );
    fn is_free<T: Clone + Send + Sync + 'static>(_: &T) {}
    is_free(&monitor);
    Ok(())
}

#[test]
fn the_time_of_a_wait_has_the_kind_of_what_is_missing() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, numbers_in) = graph.channel::<u8>(4)?;
    let (full, mut full_in) = graph.channel::<u8>(4)?;
    graph.stage("middle", stages::map(numbers_in, full, |n| *n));
    graph.stage("clock", |_: &mut Cx<'_>| {
        Wait::timer(Duration::from_hours(1))
    });
    let mut stepper = Stepper::new(graph);
    let times = |stepper: &Stepper, stage: usize| {
        let stage = &stepper.totals().stages[stage];
        let nanos = [
            stage.busy_nanos,
            stage.starved_nanos,
            stage.back_pressured_nanos,
        ];
        nanos.map(|nanos| nanos / 1_000_000)
    };
    let pass = |stepper: &mut Stepper, millis| {
        stepper.run_until_idle();
        stepper.advance(Duration::from_millis(millis));
    };
    pass(&mut stepper, 7);
    assert_eq!(
        times(&stepper, 0),
        [0, 7, 0],
        "a wait counts while it goes on"
    );
    numbers.push_slice(&[1, 2, 3]);
    pass(&mut stepper, 20);
    assert_eq!(times(&stepper, 0), [0, 27, 0], "all three were passed on");
    numbers.push_slice(&[4, 5]);
    pass(&mut stepper, 300);
    // One is left over, and there is no room for it.
    assert_eq!(times(&stepper, 0), [0, 27, 300]);
    full_in.pop_each(4, drop);
    pass(&mut stepper, 1);
    assert_eq!(times(&stepper, 0), [0, 28, 300]);
    assert_eq!(times(&stepper, 1), [0, 0, 0], "a timer is neither");
    let report = stepper.finish();
    assert_eq!(report.stages()[0].back_pressured_nanos, 300_000_000);
    Ok(())
}

#[test]
fn a_step_is_busy_while_it_runs() -> Result {
    let (go, gone) = mpsc::channel::<()>();
    let mut graph = Graph::new();
    graph.stage("long", move |_: &mut Cx<'_>| {
        let _ = gone.recv();
        Wait::done()
    });
    let running = graph.start()?;
    let monitor = running.monitor();
    // The first step has not returned, but its time is seen.
    while monitor.sample().stages[0].busy_nanos < 2_000_000 {
        std::thread::yield_now();
    }
    go.send(())?;
    let end = running.join().stages()[0].busy_nanos;
    assert!(end >= 2_000_000, "{end}");
    assert_eq!(monitor.sample().stages[0].busy_nanos, end);
    Ok(())
}
