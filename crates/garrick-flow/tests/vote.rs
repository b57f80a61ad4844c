//! Tests how stages vote on the end of their graph: vetoes that delay the end, reports about them,
//! and overruling.
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use common::Result;
use garrick_flow::testing::Stepper;
use garrick_flow::{Because, Cx, Graph, Receiver, Running, Stage, Straggler, Wait, stages};
use garrick_testkit::{fail, silence_panics};

/// Time limit that is reached only if a graph hangs.
const SOON: Duration = Duration::from_secs(60);

/// Creates a stage that reads its input, and vetoes the end while `objects` is true.
fn reader(
    mut input: Receiver<u64>,
    objects: &Arc<AtomicBool>,
) -> impl FnMut(&mut Cx<'_>) -> Wait + Send + 'static {
    let objects = Arc::clone(objects);
    move |cx| {
        input.consume_batch(usize::MAX, |_| ());
        if objects.load(Relaxed) {
            cx.veto("not yet");
        }
        if input.is_finished() {
            return Wait::done();
        }
        Wait::readable(&input, 1)
    }
}

/// Starts an endless graph whose reading stage vetoes the end while `objects` is true.
fn start_reading(
    objects: &Arc<AtomicBool>,
) -> std::result::Result<Running, Box<dyn std::error::Error>> {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(64)?;
    graph.source("numbers", stages::produce(numbers, 0..));
    graph.stage("reader", reader(input, objects));
    Ok(graph.start()?)
}

#[test]
fn while_one_is_against_it_all_go_on_and_then_they_end() -> Result {
    let objects = Arc::new(AtomicBool::new(true));
    let running = start_reading(&objects)?;
    running.stop();
    let taken = || running.totals().channels[0].taken;
    let before = taken();
    while taken() < before + 10_000 {
        std::thread::yield_now();
    }
    assert!(!running.wait_timeout(Duration::ZERO));
    objects.store(false, Relaxed);
    let report = running.join();
    assert_eq!(report.channels()[0].left(), 0);
    assert!(report.cut_short().is_empty());
    Ok(())
}

#[test]
fn the_vote_is_step_by_step_and_the_last_word_counts() -> Result {
    let objects = Arc::new(AtomicBool::new(false));
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(4)?;
    let other = Arc::new(AtomicBool::new(true));
    let vetoes = Arc::clone(&other);
    graph.source("numbers", stages::produce(numbers, 0..));
    graph.stage("reader", reader(input, &objects));
    graph.stage("other", move |cx: &mut Cx<'_>| {
        if vetoes.load(Relaxed) {
            cx.veto("the other");
        }
        if cx.is_stopping() {
            Wait::timer(SOON)
        } else {
            Wait::timer(SOON * 2)
        }
    });
    let mut stepper = Stepper::new(graph);
    stepper.run(20);
    stepper.stop();
    stepper.run(20);
    assert!(stepper.step_stage("numbers").is_ok(), "one is against it");
    // A stage that agreed may change its vote as long as not all have agreed.
    objects.store(true, Relaxed);
    stepper.step_stage("reader")?;
    other.store(false, Relaxed);
    stepper.step_stage("other")?;
    stepper.step_stage("numbers")?;
    assert!(
        stepper.step_stage("numbers").is_ok(),
        "the reader is against it"
    );
    objects.store(false, Relaxed);
    stepper.step_stage("reader")?;
    stepper.run_until_idle();
    assert!(stepper.step_stage("numbers").is_err(), "all agree");
    assert_eq!(stepper.fill(0), 0);
    Ok(())
}

#[test]
fn a_stage_that_rests_for_long_is_asked_too() -> Result {
    let mut graph = Graph::new();
    let (silent, input) = graph.channel::<u64>(4)?;
    let mut asked = false;
    graph.source("silent", move |cx: &mut Cx<'_>| {
        let _keep = &silent;
        // The stage agrees when it is asked for the second time.
        if !std::mem::replace(&mut asked, cx.is_stopping()) {
            cx.veto("once more");
            return Wait::timer(Duration::from_millis(1));
        }
        Wait::timer(SOON)
    });
    graph.stage("rests", stages::consume(input, |_| ()));
    let running = graph.start()?;
    running.stop();
    assert!(running.join_timeout(SOON).is_ok());
    Ok(())
}

#[test]
fn who_has_ended_or_failed_has_nothing_against_it() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let (failed, fails) = mpsc::channel();
    graph.source("ticks", |_: &mut Cx<'_>| {
        Wait::timer(Duration::from_millis(1))
    });
    graph.stage("done", |cx: &mut Cx<'_>| {
        cx.veto("never");
        Wait::done()
    });
    graph.stage("fails", move |cx: &mut Cx<'_>| {
        cx.veto("never");
        if cx.is_stopping() {
            fail();
        }
        let _ = failed.send(());
        Wait::timer(SOON)
    });
    let running = graph.start()?;
    fails.recv_timeout(SOON)?;
    running.stop();
    let report = running.join_timeout(SOON)?;
    assert_eq!(report.failures().len(), 1);
    Ok(())
}

/// Creates a stage that reports the request to end, and then blocks until the test releases it.
fn stuck(inside: mpsc::Sender<()>, held: mpsc::Receiver<()>) -> impl Stage {
    move |cx: &mut Cx<'_>| {
        if cx.is_stopping() {
            let _ = inside.send(());
            let _ = held.recv_timeout(SOON);
        }
        Wait::timer(SOON)
    }
}

#[test]
fn a_late_end_is_explained() -> Result {
    let mut graph = Graph::new();
    let (hold, held) = mpsc::channel::<()>();
    let (inside, is_inside) = mpsc::channel();
    let (mut numbers, input) = graph.channel::<u64>(8)?;
    let (mut output, _results) = graph.channel::<u64>(4)?;
    output.push_slice(&[1, 2, 3]);
    numbers.push_slice(&[7]);
    let sends = move |_: &mut Cx<'_>| {
        // Send once: the number of steps before the request is not fixed.
        if numbers.sent() < 2 {
            numbers.push_slice(&[8]);
        }
        Wait::free(&numbers, 8)
    };
    let waits = move |_: &mut Cx<'_>| {
        let wait = Wait::readable(&input, 5).and(Wait::free(&output, 3));
        wait.or(Wait::timer(SOON).and(Wait::readable(&input, 8)))
    };
    graph.source("sends", sends);
    graph.stage("waits", waits);
    graph.stage("vetoes", |cx: &mut Cx<'_>| {
        cx.veto(format_args!("{} orders open", 3));
        Wait::timer(SOON)
    });
    graph.stage("stuck", stuck(inside, held));
    let running = graph.start()?;
    running.stop();
    is_inside.recv_timeout(SOON)?;
    let mut late = running.join_timeout(Duration::from_millis(1)).unwrap_err();
    // On a busy machine the others may need longer for their answers too.
    let is_silent = |one: &Straggler| one.because == Because::DoesNotAnswer;
    while late.stragglers.iter().filter(|one| is_silent(one)).count() > 1 {
        late = late.running.join_timeout(Duration::ZERO).unwrap_err();
    }
    let because: Vec<_> = late.stragglers.iter().map(|one| &one.because).collect();
    let [
        Because::Waits(sends),
        Because::Waits(waits),
        Because::Vetoes(reason),
        Because::DoesNotAnswer,
    ] = &because[..]
    else {
        panic!("{late}")
    };
    assert_eq!(sends, "8 free slots in channel 0 (it has 6)");
    assert!(
        waits.starts_with(
            "5 messages in channel 0 (it has 2, its sender is \"sends\") and 3 free slots in channel 1 (it has 1), or its \
             clock to reach "
        ),
        "{waits}"
    );
    assert_eq!(reason, "3 orders open");
    assert!(
        late.to_string()
            .ends_with("; \"stuck\" did not answer in time"),
        "{late}"
    );
    hold.send(())?;
    let report = late.running.abort();
    assert_eq!(report.cut_short().len(), 4);
    assert_eq!(
        (report.channels()[0].left(), report.channels()[1].left()),
        (2, 3)
    );
    Ok(())
}

#[test]
fn who_has_something_to_do_says_so() -> Result {
    let mut graph = Graph::new();
    graph.stage("busy", |_: &mut Cx<'_>| Wait::again());
    let running = graph.start()?;
    let works = Straggler {
        stage: "busy".to_owned(),
        because: Because::Works,
    };
    let mut stragglers = running.stragglers();
    // On a busy machine the stage may need longer for its answer.
    while stragglers[0].because == Because::DoesNotAnswer {
        stragglers = running.stragglers();
    }
    assert_eq!(stragglers, [works]);
    Ok(())
}

#[test]
fn an_end_that_is_overruled_drains() -> Result {
    let objects = Arc::new(AtomicBool::new(true));
    let running = start_reading(&objects)?;
    running.overrule();
    let report = running.join_timeout(SOON)?;
    assert_eq!(report.channels()[0].left(), 0);
    assert!(report.cut_short().is_empty());
    Ok(())
}

#[test]
fn a_veto_before_anybody_asks_is_nothing() -> Result {
    let mut graph = Graph::new();
    graph.source("early", |cx: &mut Cx<'_>| {
        if !cx.is_stopping() {
            cx.veto("nobody asked");
            cx.stop();
        }
        Wait::timer(SOON)
    });
    assert!(graph.start()?.join_timeout(SOON).is_ok());
    Ok(())
}
