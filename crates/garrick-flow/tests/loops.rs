//! Tests cycles of stages: a graph with an unintended cycle does not start, and an intended loop
//! ends.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_flow::testing::Stepper;
use garrick_flow::{
    Cx, Graph, Receiver, Report, Restarts, Running, Sender, Slots, Stage, Wait, map_batch, stages,
    with_ends,
};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Time limit for a test, which is long enough for any graph that ends at all.
const SOON: Duration = Duration::from_secs(30);

/// Creates a stage that declares its channel ends, and passes values on.
fn pass(input: Receiver<u64>, output: Sender<u64>) -> impl Stage {
    stages::map(input, output, |n| *n)
}

/// Creates a closure that passes values on, and cannot declare its channel ends.
fn silent(mut input: Receiver<u64>, mut output: Sender<u64>) -> impl Stage {
    move |_: &mut Cx<'_>| {
        map_batch(&mut input, &mut output, 16, |n| *n);
        if input.is_finished() || output.is_closed() {
            return Wait::done();
        }
        Wait::readable(&input, 1).and(Wait::free(&output, 1))
    }
}

/// Returns the error that the start of `graph` returns.
fn refusal(graph: Graph) -> String {
    graph.start().map(drop).unwrap_err().to_string()
}

fn join(running: Running) -> Report {
    running
        .join_timeout(SOON)
        .unwrap_or_else(|late| panic!("{late}"))
}

#[test]
fn a_cycle_is_refused_by_the_names_of_its_stages() -> Result {
    for (names, words) in [
        (vec!["a"], "the stage \"a\" -> \"a\" forms a cycle"),
        (
            vec!["a", "b"],
            "the stages \"a\" -> \"b\" -> \"a\" form a cycle",
        ),
        (
            vec!["a", "b", "c"],
            "the stages \"a\" -> \"b\" -> \"c\" -> \"a\" form a cycle",
        ),
    ] {
        let mut graph = Graph::new();
        let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
        for _ in &names {
            let (output, input) = graph.channel(4)?;
            outputs.push(output);
            inputs.push(input);
        }
        // The first stage reads what the last one sends.
        inputs.rotate_right(1);
        for ((name, input), output) in names.iter().zip(inputs).zip(outputs) {
            graph.stage(*name, pass(input, output));
        }
        let refusal = refusal(graph);
        assert!(refusal.starts_with(words), "{refusal}");
        assert!(refusal.ends_with("with `Graph::feedback`"), "{refusal}");
    }
    Ok(())
}

#[test]
fn a_cycle_beside_a_good_part_is_refused_and_nothing_has_run() -> Result {
    let mut graph = Graph::new();
    let (numbers, mut inputs) = graph.bundle(2, 4)?;
    let (parts, mut parts_in) = graph.bundle(2, 4)?;
    let (all, all_in) = graph.channel(4)?;
    let ran = Arc::new(AtomicU64::new(0));
    let mut numbers = numbers.into_iter();
    let counted = Arc::clone(&ran);
    let source = (0..10).inspect(move |_| _ = counted.fetch_add(1, Relaxed));
    graph.source(
        "numbers",
        stages::produce(numbers.next().ok_or("one")?, source),
    );
    inputs[0].readable();
    graph.stage("gather", stages::merge(inputs, all));
    graph.stage("deal", stages::distribute(all_in, parts));
    parts_in[0].readable();
    let mut parts_in = parts_in.into_iter();
    let back = numbers.next().ok_or("two")?;
    graph.stage("back", pass(parts_in.next().ok_or("one")?, back));
    graph.stage(
        "read",
        stages::consume(parts_in.next().ok_or("two")?, |_: &[u64]| ()),
    );
    let refusal = refusal(graph);
    let words = "the stages \"gather\" -> \"deal\" -> \"back\" -> \"gather\" form a cycle";
    assert!(refusal.starts_with(words), "{refusal}");
    assert_eq!(ran.load(Relaxed), 0);
    Ok(())
}

#[test]
fn a_diamond_is_no_cycle() -> Result {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel(4)?;
    let (left, left_in) = graph.bundle(3, 4)?;
    let (right, right_in) = graph.bundle(3, 4)?;
    let (all, all_in) = graph.channel(4)?;
    graph.source("numbers", stages::produce(numbers, 0..100));
    graph.stage("copy", stages::broadcast(numbers_in, left));
    for (input, output) in left_in.into_iter().zip(right) {
        graph.stage("side", pass(input, output));
    }
    graph.stage("gather", stages::merge(right_in, all));
    graph.stage("read", stages::consume(all_in, |_| ()));
    let report = join(graph.start()?);
    assert_eq!(report.stage("read").map(|read| read.messages_in), Some(300));
    Ok(())
}

#[test]
fn a_cycle_of_closures_fails_once_it_is_seen() -> Result {
    let mut graph = Graph::new();
    let (mut there, there_in) = graph.channel(4)?;
    let (back, back_in) = graph.channel(4)?;
    there.push_slice(&[1]);
    graph.stage("a", silent(back_in, there));
    graph.stage("b", silent(there_in, back));
    let report = join(graph.start()?);
    let [failure] = report.failures() else {
        panic!("one of the two fails: {report:?}");
    };
    assert!(
        failure.message.contains("form a cycle"),
        "{}",
        failure.message
    );
    Ok(())
}

#[test]
fn each_cycle_of_closures_fails_once_it_is_seen() -> Result {
    let mut graph = Graph::new();
    for pair in 0..3 {
        let (mut there, there_in) = graph.channel(4)?;
        let (back, back_in) = graph.channel(4)?;
        there.push_slice(&[1]);
        graph.stage(format!("a {pair}"), silent(back_in, there));
        graph.stage(format!("b {pair}"), silent(there_in, back));
    }
    let report = join(graph.start()?);
    let mut cycles = Vec::new();
    for failure in report.failures() {
        assert!(failure.message.contains("form a cycle"), "{report:?}");
        // The names end with the number of the pair.
        cycles.extend(failure.stage.chars().last());
    }
    cycles.sort_unstable();
    assert_eq!(cycles, ['0', '1', '2'], "one of each pair: {report:?}");
    Ok(())
}

#[test]
fn a_channel_that_does_not_lead_back_is_no_feedback() -> Result {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(Slots::of(4).named("numbers"))?;
    graph.feedback(&numbers);
    graph.source("count", stages::produce(numbers, 0..10u64));
    graph.stage("read", stages::consume(input, |_| ()));
    assert_eq!(
        refusal(graph),
        "channel \"numbers\" is marked as feedback, but no path of declared channel ends leads from \"read\", which has \
         its receiver, back to \"count\", which has its sender; declare the ends of a closure with `with_ends`"
    );

    let mut graph = Graph::new();
    let (there, there_in) = graph.channel(4)?;
    let (back, back_in) = graph.channel(4)?;
    graph.feedback(&back_in);
    graph.stage("a", pass(back_in, there));
    graph.stage("b", silent(there_in, back));
    assert_eq!(
        refusal(graph),
        "channel 1 is marked as feedback, but no stage declares its sender; declare the ends of a closure with `with_ends`"
    );
    Ok(())
}

#[test]
#[should_panic(expected = "the stage \"echo\" -> \"echo\" forms a cycle")]
fn a_stepper_refuses_a_cycle_too() {
    let mut graph = Graph::new();
    let (output, input) = graph.channel(4).unwrap();
    graph.stage("echo", pass(input, output));
    Stepper::new(graph);
}

/// Adds a loop of three stages. The stage "gather" takes values from `numbers` and from the
/// feedback channel, and "halve" halves them. "sort" sends a value to `out` if `is_done` returns
/// true for it, and back to "gather" otherwise.
fn add_loop(
    graph: &mut Graph,
    room: usize,
    is_team: bool,
    is_done: impl Fn(u64) -> bool + Send + 'static,
) -> std::result::Result<(Sender<u64>, Receiver<u64>), Box<dyn Error>> {
    let (inputs, inputs_in) = graph.bundle::<u64>(2, room)?;
    let (all, all_in) = graph.channel(4)?;
    let (halves, halves_in) = graph.channel(4)?;
    let (out, out_in) = graph.channel(4)?;
    graph.feedback(&inputs[1]);
    let mut inputs = inputs.into_iter();
    let (numbers, again) = (inputs.next().ok_or("one")?, inputs.next().ok_or("two")?);
    let gather = stages::merge(inputs_in, all);
    let halve = stages::map(all_in, halves, |n| n / 2).restarting(Restarts::unlimited());
    let sort = with_ends(
        (halves_in, again, out),
        move |(halves, again, out), _: &mut Cx<'_>| {
            while again.free() > 0
                && out.free() > 0
                && let Some(number) = halves.try_pop()
            {
                let to = if is_done(number) {
                    &mut *out
                } else {
                    &mut *again
                };
                assert!(to.try_push(number).is_ok(), "both have room");
            }
            if halves.is_finished() || again.is_closed() {
                return Wait::done();
            }
            Wait::readable(halves, 1)
                .and(Wait::free(again, 1))
                .and(Wait::free(out, 1))
        },
    );
    if is_team {
        graph
            .team("loop")
            .stage("gather", gather)
            .stage("halve", halve)
            .stage("sort", sort);
    } else {
        graph.stage("gather", gather);
        graph.stage("halve", halve);
        graph.stage("sort", sort);
    }
    Ok((numbers, out_in))
}

/// Creates a source that lets at most 64 numbers be in the graph at a time. The source checks every
/// 50 us how many numbers have left the graph.
fn count_with_care(numbers: Sender<u64>, out: &Arc<AtomicU64>) -> impl Stage + use<> {
    let out = Arc::clone(out);
    with_ends(numbers, move |numbers, _: &mut Cx<'_>| {
        let sent = numbers.sent();
        let room = 64 - (sent - out.load(Relaxed)) as usize;
        numbers.produce_batch(room, |index| sent + index as u64);
        Wait::timer(Duration::from_micros(50))
    })
}

#[test]
fn a_loop_ends_with_its_source() -> Result {
    for is_team in [false, true] {
        let mut graph = Graph::new();
        let (numbers, out) = add_loop(&mut graph, 1024, is_team, |n| n < 10)?;
        graph.source("numbers", stages::produce(numbers, 0..1000));
        graph.stage("read", stages::consume(out, |_| ()));
        let report = join(graph.start()?);
        assert!(report.failures().is_empty(), "{report:?}");
        assert_eq!(
            report.stage("read").map(|read| read.messages_in),
            Some(1000)
        );
        assert!(report.channels()[1].feedback && !report.channels()[0].feedback);
        assert!(report.channels()[1].taken > 1000, "they went round");
        assert!(report.channels().iter().all(|channel| channel.left() == 0));
    }
    Ok(())
}

#[test]
fn a_stop_ends_a_loop_and_loses_nothing() -> Result {
    for is_team in [false, true] {
        let mut graph = Graph::new();
        let (numbers, results) = add_loop(&mut graph, 64, is_team, |n| n == 0)?;
        let out = Arc::new(AtomicU64::new(0));
        graph.source("numbers", count_with_care(numbers, &out));
        let counted = Arc::clone(&out);
        graph.stage(
            "read",
            stages::consume(results, move |zeros| {
                counted.fetch_add(zeros.len() as u64, Relaxed);
            }),
        );
        let running = graph.start()?;
        while running.totals().channels[0].taken < 1000 {
            std::thread::yield_now();
        }
        running.stop();
        let report = join(running);
        assert!(report.failures().is_empty(), "{report:?}");
        assert_eq!(report.channels()[0].sent, out.load(Relaxed), "{report:?}");
        assert!(report.channels().iter().all(|channel| channel.left() == 0));
    }
    Ok(())
}

#[test]
fn a_loop_that_rests_takes_no_steps_and_ends_with_what_leads_into_it() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, results) = add_loop(&mut graph, 64, false, |n| n == 0)?;
    numbers.push_slice(&[1 << 20; 10]);
    graph.stage("read", stages::consume(results, |_| ()));
    let mut stepper = Stepper::new(graph);
    assert!(stepper.run_until_idle() > 20);
    assert_eq!(stepper.totals().channels[4].taken, 10);
    // Nothing moves until something comes from outside, here the end.
    assert_eq!(stepper.run_until_idle(), 0);
    assert!(!stepper.has_ended());
    drop(numbers);
    stepper.run_until_idle();
    assert!(stepper.has_ended());
    Ok(())
}

#[test]
fn messages_that_never_leave_go_round_until_they_are_overruled() -> Result {
    let mut graph = Graph::new();
    let (numbers, results) = add_loop(&mut graph, 64, false, |_| false)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    graph.stage("read", stages::consume(results, |_| ()));
    let running = graph.start()?;
    running.stop();
    let late = running.join_timeout(Duration::from_millis(50)).unwrap_err();
    late.running.overrule();
    let report = join(*late.running);
    assert!(report.failures().is_empty(), "{report:?}");
    Ok(())
}

#[test]
fn messages_that_never_leave_go_round_until_the_grace_is_over() -> Result {
    for is_team in [false, true] {
        let mut graph = Graph::new();
        graph.grace(Duration::from_millis(5));
        let (numbers, results) = add_loop(&mut graph, 64, is_team, |_| false)?;
        graph.source("numbers", stages::produce(numbers, 0..10));
        graph.stage("read", stages::consume(results, |_| ()));
        let running = graph.start()?;
        while running.totals().channels[1].taken < 100 {
            std::thread::yield_now();
        }
        running.stop();
        let report = join(running);
        assert!(report.failures().is_empty(), "{report:?}");
        assert!(report.cut_short().is_empty(), "{report:?}");
    }
    Ok(())
}

#[test]
fn the_grace_begins_when_all_have_agreed_to_the_stop() -> Result {
    const GRACE: Duration = Duration::from_secs(3);
    let mut graph = Graph::new();
    graph.grace(GRACE);
    let (numbers, results) = add_loop(&mut graph, 64, false, |_| false)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    graph.stage("read", stages::consume(results, |_| ()));
    let vetoes = Arc::new(AtomicBool::new(true));
    graph.stage("against", {
        let vetoes = Arc::clone(&vetoes);
        move |cx: &mut Cx<'_>| {
            if cx.is_stopping() && !vetoes.load(Relaxed) {
                return Wait::done();
            }
            cx.veto("not yet");
            Wait::timer(Duration::from_secs(1))
        }
    });
    let mut stepper = Stepper::new(graph);
    stepper.run(1_000);
    stepper.stop();
    for _ in 0..10 {
        stepper.advance(GRACE);
        stepper.run(1_000);
    }
    assert!(!stepper.has_ended(), "somebody is against it");
    vetoes.store(false, Relaxed);
    stepper.advance(GRACE);
    stepper.run(1_000);
    stepper.advance(GRACE - Duration::from_nanos(1));
    stepper.run(1_000);
    assert!(!stepper.has_ended(), "the grace has begun");
    stepper.advance(Duration::from_nanos(1));
    stepper.run_until_idle();
    assert!(stepper.has_ended(), "it is over");
    Ok(())
}

#[test]
fn a_loop_without_a_limit_goes_on() -> Result {
    let mut graph = Graph::new();
    graph.grace(Duration::MAX);
    let (numbers, results) = add_loop(&mut graph, 64, false, |_| false)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    graph.stage("read", stages::consume(results, |_| ()));
    let mut stepper = Stepper::new(graph);
    stepper.stop();
    stepper.run(1_000);
    stepper.advance(Duration::from_hours(24 * 365 * 500));
    assert_eq!(stepper.run(1_000), 1_000);
    assert!(!stepper.has_ended());
    stepper.overrule();
    stepper.run_until_idle();
    assert!(stepper.has_ended());
    Ok(())
}

#[test]
fn a_loop_that_is_full_ends_at_the_stop() -> Result {
    let mut graph = Graph::new();
    let (inputs, inputs_in) = graph.bundle(2, 4)?;
    let (all, all_in) = graph.channel(4)?;
    graph.feedback(&inputs[1]);
    let mut inputs = inputs.into_iter();
    let (numbers, again) = (inputs.next().ok_or("one")?, inputs.next().ok_or("two")?);
    graph.source("numbers", stages::produce(numbers, 0u64..));
    graph.stage("gather", stages::merge(inputs_in, all));
    let double = |(all, again): &mut (Receiver<u64>, Sender<u64>), _: &mut Cx<'_>| {
        while again.free() >= 2
            && let Some(number) = all.try_pop()
        {
            again.push_iter([number, number]);
        }
        if all.is_finished() || again.is_closed() {
            return Wait::done();
        }
        Wait::readable(all, 1).and(Wait::free(again, 2))
    };
    graph.stage("double", with_ends((all_in, again), double));
    let running = graph.start()?;
    let is_full = |running: &Running| {
        let channels = running.totals().channels;
        channels
            .iter()
            .all(|channel| channel.left() + 1 >= channel.capacity)
    };
    while !is_full(&running) {
        std::thread::yield_now();
    }
    running.stop();
    let report = join(running);
    assert!(report.failures().is_empty(), "{report:?}");
    assert!(report.channels()[0].left() > 0, "{report:?}");
    Ok(())
}

#[test]
fn what_is_too_little_for_a_stage_of_a_loop_is_shown_at_the_end() -> Result {
    let mut graph = Graph::new();
    let (inputs, inputs_in) = graph.bundle(2, 64)?;
    let (all, all_in) = graph.channel(64)?;
    graph.feedback(&inputs[1]);
    let mut inputs = inputs.into_iter();
    let (numbers, again) = (inputs.next().ok_or("one")?, inputs.next().ok_or("two")?);
    graph.source("numbers", stages::produce(numbers, 0..5u64));
    graph.stage("gather", stages::merge(inputs_in, all));
    let seen = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&seen);
    graph.stage(
        "dozens",
        with_ends((all_in, again), move |(all, again), _: &mut Cx<'_>| {
            if all.is_closed() || all.readable() >= 12 {
                let count = all.pop_each(12, |_| ());
                counted.fetch_add(count as u64, Relaxed);
            }
            if all.is_finished() {
                return Wait::done();
            }
            let _ = &again;
            Wait::readable(all, 12)
        }),
    );
    join(graph.start()?);
    assert_eq!(seen.load(Relaxed), 5);
    Ok(())
}

#[test]
fn a_loop_ends_whoever_steps_first() -> Result {
    for seed in 0..300 {
        let mut graph = Graph::new();
        let (numbers, results) = add_loop(&mut graph, 64, false, |n| n < 3)?;
        graph.source("numbers", stages::produce(numbers, 0..40));
        graph.stage("read", stages::consume(results, |_| ()));
        let mut stepper = Stepper::new(graph).seeded(seed);
        stepper.run(seed);
        stepper.stop();
        stepper.run_until_idle();
        assert!(stepper.has_ended(), "seed {seed}: {stepper:?}");
        let report = stepper.finish();
        assert_eq!(report.channels()[0].sent, report.channels()[4].taken);
    }
    Ok(())
}

#[test]
fn a_source_in_a_loop_gets_its_answers_and_the_stop_ends_both() -> Result {
    let mut graph = Graph::new();
    let (orders, orders_in) = graph.channel::<u64>(4)?;
    let (answers, answers_in) = graph.channel(4)?;
    graph.feedback(&answers);
    let ask = with_ends((orders, answers_in), |(orders, answers), _: &mut Cx<'_>| {
        answers.consume_batch(usize::MAX, |_| ());
        // One order at a time.
        if orders.sent() == answers.taken() {
            let order = orders.sent();
            orders.push_iter([order]);
        }
        Wait::readable(answers, 1)
    });
    graph.source("ask", ask);
    graph.stage("answer", pass(orders_in, answers));
    let running = graph.start()?;
    while running.totals().channels[1].taken < 1000 {
        std::thread::yield_now();
    }
    running.stop();
    let report = join(running);
    assert_eq!(report.channels()[0].left(), 0);
    Ok(())
}
