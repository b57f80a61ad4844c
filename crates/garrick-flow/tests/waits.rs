//! Tests the conditions of `Wait` by stepping one stage by hand, and tests timers in a running
//! graph.
use std::error::Error;
use std::time::Duration;

use garrick_flow::testing::{Seen, StageDriver};
use garrick_flow::{CONDITIONS_MAX, CapacityError, Cx, Graph, Slots, Wait, stages};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Time limit for a test, which is long enough for any graph that ends at all.
const SOON: Duration = Duration::from_secs(30);

/// Creates a stage that does nothing but wait.
fn waiting(wait: Wait) -> impl FnMut(&mut Cx<'_>) -> Wait + Send + 'static {
    move |_| wait
}

#[test]
fn thresholds_hold() -> Result {
    let mut graph = Graph::new();
    let (mut tx, mut rx) = graph.channel::<u8>(8)?;
    let (readable, free) = (Wait::readable(&rx, 3), Wait::free(&tx, 7));
    let (mut reads, mut writes) = (
        StageDriver::new(&graph, waiting(readable)),
        StageDriver::new(&graph, waiting(free)),
    );
    assert_eq!((reads.step(), writes.step()), (Seen::Waits, Seen::Ready));
    tx.push_slice(&[1, 2]);
    assert_eq!((reads.look(), writes.look()), (Seen::Waits, Seen::Waits));
    tx.push_slice(&[3]);
    assert_eq!((reads.look(), writes.look()), (Seen::Ready, Seen::Waits));
    rx.peek().advance(2);
    assert_eq!((reads.look(), writes.look()), (Seen::Waits, Seen::Ready));
    Ok(())
}

#[test]
fn no_threshold_is_beyond_the_capacity() -> Result {
    let mut graph = Graph::new();
    let (mut tx, rx) = graph.channel::<u8>(2)?;
    let (readable, free) = (Wait::readable(&rx, 1_000), Wait::free(&tx, usize::MAX));
    let mut driver = StageDriver::new(&graph, waiting(readable.or(free)));
    assert_eq!(driver.step(), Seen::Ready);
    tx.push_slice(&[1]);
    assert_eq!(driver.look(), Seen::Waits);
    tx.push_slice(&[2]);
    assert_eq!(driver.look(), Seen::Ready);
    Ok(())
}

#[test]
fn a_closed_channel_is_ready_and_an_empty_one_ends_the_wait() -> Result {
    let mut graph = Graph::new();
    let (mut tx, mut rx) = graph.channel::<u8>(8)?;
    let (full, _other) = graph.channel::<u8>(8)?;
    let never = Wait::until(u64::MAX);
    let mut one = StageDriver::new(&graph, waiting(Wait::readable(&rx, 8)));
    let mut both = StageDriver::new(&graph, waiting(Wait::readable(&rx, 8).and(never)));
    let mut gone = StageDriver::new(&graph, waiting(Wait::free(&full, 8).and(never)));
    tx.push_slice(&[1]);
    assert_eq!(
        (one.step(), both.step(), gone.step()),
        (Seen::Waits, Seen::Waits, Seen::Waits)
    );
    drop(tx);
    assert_eq!(
        (one.look(), both.look()),
        (Seen::Ready, Seen::Waits),
        "one value is left"
    );
    rx.try_pop();
    assert_eq!(
        (one.look(), both.look()),
        (Seen::Ready, Seen::Ready),
        "nothing can come"
    );
    drop(_other);
    assert_eq!(gone.look(), Seen::Ready);
    Ok(())
}

#[test]
fn and_spreads_over_or() -> Result {
    let mut graph = Graph::new();
    let (mut a, a_in) = graph.channel::<u8>(8)?;
    let (mut b, b_in) = graph.channel::<u8>(8)?;
    let (mut c, c_in) = graph.channel::<u8>(8)?;
    let wait = Wait::readable(&a_in, 1)
        .or(Wait::readable(&b_in, 1))
        .and(Wait::readable(&c_in, 1));
    let mut driver = StageDriver::new(&graph, waiting(wait));
    assert_eq!(driver.step(), Seen::Waits);
    a.push_slice(&[1]);
    b.push_slice(&[1]);
    assert_eq!(driver.look(), Seen::Waits);
    c.push_slice(&[1]);
    assert_eq!(driver.look(), Seen::Ready);
    Ok(())
}

#[test]
fn again_and_done_combine() {
    let graph = Graph::new();
    let never = Wait::until(u64::MAX);
    let seen = |wait| StageDriver::new(&graph, waiting(wait)).step();
    assert_eq!(seen(Wait::again()), Seen::Ready);
    assert_eq!(seen(Wait::again().or(never)), Seen::Ready);
    assert_eq!(seen(Wait::again().and(never)), Seen::Waits);
    assert_eq!(seen(never.or(Wait::done())), Seen::Done);
    assert_eq!(seen(Wait::done().and(never)), Seen::Done);
}

#[test]
#[should_panic(expected = "a `Wait` can combine at most 6 conditions")]
fn too_many_conditions_are_a_bug() {
    let one = Wait::until(1);
    let _ = (0..CONDITIONS_MAX).fold(one, |all, _| all.or(one));
}

#[test]
fn timers_pass() {
    let graph = Graph::new();
    let mut driver = StageDriver::new(&graph, waiting(Wait::timer(Duration::from_nanos(10))));
    assert_eq!(driver.step(), Seen::Waits);
    driver.pass(9);
    assert_eq!(driver.look(), Seen::Waits);
    driver.pass(1);
    assert_eq!(driver.look(), Seen::Ready);
    assert_eq!(driver.step(), Seen::Waits, "the next one counts from here");
}

#[test]
fn timers_wake_stages() -> Result {
    let mut graph = Graph::new();
    let (mut tx, rx) = graph.channel::<u64>(4)?;
    let mut left = 5;
    graph.stage("beats", move |cx: &mut Cx<'_>| {
        let _ = tx.try_push(cx.now());
        left -= 1;
        if left == 0 {
            Wait::done()
        } else {
            Wait::timer(Duration::from_millis(1))
        }
    });
    let mut last = None;
    graph.stage(
        "check",
        stages::consume(rx, move |times: &[u64]| {
            for time in times {
                assert!(
                    last.is_none_or(|last| time - last >= 1_000_000),
                    "too early"
                );
                last = Some(*time);
            }
        }),
    );
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(report.channels()[0].taken, 5);
    Ok(())
}

/// Adds a stage that ends after `wait` to `graph`, and starts the graph. Calls `change` while the
/// stage sleeps, and checks that the stage is woken.
fn wakes(mut graph: Graph, wait: Wait, change: impl FnOnce()) -> Result {
    let mut has_waited = false;
    graph.stage("waits", move |_: &mut Cx<'_>| {
        if std::mem::replace(&mut has_waited, true) {
            return Wait::done();
        }
        wait
    });
    let running = graph.start()?;
    while running.totals().stages[0].rests == 0 {
        std::thread::yield_now();
    }
    change();
    let report = running.join_timeout(SOON)?;
    assert!(report.failures().is_empty(), "{report:?}");
    Ok(())
}

#[test]
fn the_smallest_count_that_is_missing_wakes_a_receiver() -> Result {
    // A larger count does not replace a smaller one, in either order.
    for is_first in [true, false] {
        let mut graph = Graph::new();
        let (mut tx, rx) = graph.channel::<u8>(64)?;
        let (few, many) = (Wait::readable(&rx, 1), Wait::readable(&rx, 64));
        let few = few.and(Wait::until(0));
        let wait = if is_first { few.or(many) } else { many.or(few) };
        wakes(graph, wait, || tx.try_push(1).unwrap())?;
    }
    // A count that is already reached does not replace a larger one.
    for is_first in [true, false] {
        let mut graph = Graph::new();
        let (mut tx, rx) = graph.channel::<u8>(64)?;
        let (mut full, _full_in) = graph.channel::<u8>(1)?;
        full.try_push(1)?;
        tx.try_push(1)?;
        let few = Wait::readable(&rx, 1).and(Wait::free(&full, 1));
        let many = Wait::readable(&rx, 64);
        let wait = if is_first { few.or(many) } else { many.or(few) };
        wakes(graph, wait, || assert_eq!(tx.push_slice(&[2; 63]), 63))?;
    }
    Ok(())
}

#[test]
fn the_smallest_count_that_is_missing_wakes_a_sender() -> Result {
    for is_first in [true, false] {
        let mut graph = Graph::new();
        let (mut tx, mut rx) = graph.channel::<u8>(64)?;
        tx.push_slice(&[1; 64]);
        let (few, many) = (Wait::free(&tx, 1), Wait::free(&tx, 64));
        let wait = if is_first { few.or(many) } else { many.or(few) };
        wakes(graph, wait, || assert_eq!(rx.try_pop(), Some(1)))?;
    }
    for is_first in [true, false] {
        let mut graph = Graph::new();
        let (mut tx, mut rx) = graph.channel::<u8>(64)?;
        let (_empty, empty_in) = graph.channel::<u8>(1)?;
        tx.push_slice(&[1; 63]);
        let few = Wait::free(&tx, 1).and(Wait::readable(&empty_in, 1));
        let many = Wait::free(&tx, 64);
        let wait = if is_first { few.or(many) } else { many.or(few) };
        wakes(graph, wait, || assert_eq!(rx.pop_each(63, drop), 63))?;
    }
    Ok(())
}

#[test]
fn a_bundle_and_one_of_its_channels_wake_a_stage() -> Result {
    for (of_all, of_one) in [(1, 8), (8, 1)] {
        for is_first in [true, false] {
            let mut graph = Graph::new();
            let (mut senders, receivers) = graph.bundle::<u8>(3, 8)?;
            let all = Wait::any_readable(&receivers, of_all);
            let one = Wait::readable(&receivers[1], of_one);
            let wait = if is_first { one.or(all) } else { all.or(one) };
            wakes(graph, wait, || senders[1].try_push(1).unwrap())?;
        }
    }
    // The other channels of the bundle are not affected.
    let mut graph = Graph::new();
    let (mut senders, receivers) = graph.bundle::<u8>(3, 8)?;
    let wait = Wait::any_readable(&receivers, 2).or(Wait::readable(&receivers[1], 1));
    wakes(graph, wait, || {
        assert_eq!(senders[2].push_slice(&[1, 2]), 2);
    })
}

#[test]
fn a_stage_that_was_woken_too_early_waits_for_the_next_count() -> Result {
    let mut graph = Graph::new();
    let (mut tx, rx) = graph.channel::<u8>(8)?;
    let (_other, other_in) = graph.channel::<u8>(1)?;
    let few = Wait::readable(&rx, 1).and(Wait::readable(&other_in, 1));
    let wait = few.or(Wait::readable(&rx, 8));
    wakes(graph, wait, || {
        (0..8).for_each(|value| tx.try_push(value).unwrap());
    })
}

#[test]
fn a_stage_with_two_counts_misses_no_value_of_another_thread() -> Result {
    const VALUES: u64 = 2_000;
    let mut graph = Graph::new();
    let (tx, mut rx) = graph.channel::<u64>(8)?;
    let (mut acks, mut acks_in) = graph.channel::<u64>(1)?;
    graph.source("numbers", stages::produce(tx, 0..VALUES));
    // The stage takes no value while its output is full, unless there are many of them. So the
    // smaller count is often reached, but not enough.
    graph.stage("reads", move |_: &mut Cx<'_>| {
        if rx.is_finished() {
            return Wait::done();
        }
        let least = if acks.free() > 0 { 1 } else { 8 };
        if rx.readable() >= least || rx.is_closed() {
            let last = rx.try_pop();
            let _ = last.map(|value| acks.try_push(value));
        }
        let few = Wait::readable(&rx, 1).and(Wait::free(&acks, 1));
        few.or(Wait::readable(&rx, 8))
    });
    graph.stage("acks", move |_: &mut Cx<'_>| {
        acks_in.pop_each(1, drop);
        if acks_in.is_finished() {
            return Wait::done();
        }
        Wait::readable(&acks_in, 1)
    });
    let report = graph.start()?.join_timeout(SOON)?;
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(report.channels()[0].taken, VALUES);
    Ok(())
}

#[test]
fn batches_are_half_a_channel_and_fit_the_cache() -> Result {
    let mut graph = Graph::new();
    assert_eq!(graph.channel::<u64>(16)?.0.batch(), 8);
    assert_eq!(graph.channel::<u64>(1)?.0.batch(), 1);
    // The batch that stays in the cache depends on the machine, but equal bytes give equal choices.
    let wide = graph.channel::<[u64; 2]>(1 << 20)?.0.batch();
    assert!((1 << 10..=1 << 14).contains(&wide), "{wide}");
    assert_eq!(graph.channel::<u64>(1 << 20)?.0.batch(), 2 * wide);
    assert_eq!(graph.channel::<u8>(Slots::of(16).batch(5))?.1.batch(), 5);
    assert_eq!(graph.channel::<u8>(Slots::of(16).batch(99))?.1.batch(), 16);
    assert_eq!(graph.channel::<u8>(0).err(), Some(CapacityError::Zero));
    Ok(())
}

#[test]
fn a_driver_drives_a_stage() -> Result {
    let mut graph = Graph::new();
    let (tx, mut rx) = graph.channel(4)?;
    let mut driver = StageDriver::new(&graph, stages::produce(tx, 0..10).wait_for(4));
    assert_eq!(driver.run(100), Seen::Waits);
    assert_eq!(rx.pop_each(3, |_| ()), 3);
    assert_eq!(driver.look(), Seen::Waits, "it waits for four");
    rx.try_pop();
    assert_eq!(driver.run(100), Seen::Waits);
    assert_eq!(rx.pop_each(4, |_| ()), 4);
    assert_eq!(driver.run(100), Seen::Done);
    assert_eq!(rx.pop_each(4, |_| ()), 2);
    assert!(rx.is_finished());
    Ok(())
}

#[test]
fn guards_move_what_they_did() -> Result {
    let mut graph = Graph::new();
    let (mut tx, mut rx) = graph.channel::<u8>(4)?;
    let mut poke = tx.poke(4);
    poke.write_slice(&[1, 2, 3]);
    drop(poke);
    assert_eq!((tx.sent(), rx.readable()), (0, 0));
    let mut poke = tx.poke(4);
    poke.write_slice(&[1, 2, 3]);
    assert_eq!((poke.commit(), tx.sent()), (3, 3));
    let mut peek = rx.peek();
    peek.advance(1);
    peek.advance(0);
    assert_eq!((rx.taken(), tx.free()), (1, 2));
    assert_eq!(rx.peek().as_slices().0, [2, 3]);
    Ok(())
}

#[test]
fn ends_of_another_graph_are_refused_at_the_start() -> Result {
    let (mut graph, mut other) = (Graph::new(), Graph::new());
    let (numbers, numbers_in) = other.channel::<u64>(4)?;
    graph.source("numbers", stages::produce(numbers, 0..10));
    let error = graph.start().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stage \"numbers\" has an end of channel 0 of another graph: create the channel by the graph of the \
         stage, or use an `AsyncSender` or `AsyncReceiver`"
    );
    drop(numbers_in);

    let mut graph = Graph::new();
    let (back, _) = other.channel::<u64>(Slots::of(4).named("back"))?;
    graph.feedback(&back);
    assert_eq!(
        graph.start().unwrap_err().to_string(),
        "channel \"back\" is marked as feedback, but another graph has created it"
    );
    Ok(())
}

#[test]
fn a_stage_that_waits_for_a_channel_of_another_graph_fails() -> Result {
    for channels in [0, 3] {
        let (mut graph, mut other) = (Graph::new(), Graph::new());
        // The wait must not concern a channel of this graph with the same number.
        let own: Vec<_> = (0..channels).map(|_| graph.channel::<u64>(4)).collect();
        let (_numbers, numbers_in) = other.channel::<u64>(4)?;
        graph.stage("reads", move |_: &mut Cx<'_>| {
            Wait::readable(&numbers_in, 1)
        });
        let report = graph.start()?.join();
        assert_eq!(report.failures().len(), 1);
        let message = &report.failures()[0].message;
        assert!(message.starts_with("the stage waits for a channel of another graph"));
        drop(own);
    }
    Ok(())
}
