//! Tests user code that panics: wakers, destructors, and panic payloads whose own destructors
//! panic.

mod common;

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use common::Result;
use garrick_flow::{AsyncReceiver, AsyncSender, Cx, Graph, Restarts, Wait, restarting, stages};
use garrick_testkit::{Bomb, HANGS_AFTER, fail, silence_panics};

/// A value whose destructor panics with a [`Bomb`] as its payload.
struct BadEnd;

impl Drop for BadEnd {
    fn drop(&mut self) {
        panic_any(Bomb);
    }
}

#[test]
fn a_call_that_panics_does_not_end_the_stage_that_makes_it() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u32>(2)?;
    let (output, results) = graph.channel::<u32>(2)?;
    graph.stage("same", stages::map(input, output, |n| *n));
    let (mut numbers, mut results) = (AsyncSender::from(numbers), AsyncReceiver::from(results));
    results.on_ready(|| fail());
    let running = graph.start()?;
    pollster::block_on(async {
        for number in 0..8 {
            assert!(numbers.send(number).await.is_ok());
            assert_eq!(results.recv().await, Some(number));
            results.on_ready(|| fail());
        }
    });
    drop(numbers);
    assert!(running.wait_timeout(HANGS_AFTER));
    assert!(running.join().failures().is_empty());
    Ok(())
}

/// A waker that panics when it is dropped.
struct Frail {
    drops: Arc<AtomicUsize>,
    _kept: Mutex<()>,
}

impl Wake for Frail {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Frail {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
        fail();
    }
}

#[test]
fn wakers_that_panic_when_they_go_end_neither_their_successor_nor_the_process() -> Result {
    silence_panics();
    let drops = Arc::new(AtomicUsize::new(0));
    let frail = || {
        let drops = drops.clone();
        let waker = Waker::from(Arc::new(Frail {
            drops,
            _kept: Mutex::default(),
        }));
        move |poll: &mut dyn FnMut(&mut Context<'_>)| {
            let waker = waker;
            poll(&mut Context::from_waker(&waker));
        }
    };
    let mut graph = Graph::new();
    let (sender, receiver) = graph.channel::<u32>(1)?;
    let (mut sender, mut receiver) = (AsyncSender::from(sender), AsyncReceiver::from(receiver));
    frail()(&mut |cx| assert!(receiver.poll_recv(cx).is_pending()));
    assert_eq!(drops.load(SeqCst), 0);
    assert!(
        receiver
            .poll_recv(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    assert_eq!(drops.load(SeqCst), 1, "it was replaced");

    assert!(sender.try_push(1).is_ok());
    frail()(&mut |cx| assert!(sender.poll_ready(cx).is_pending()));
    assert_eq!(receiver.try_pop(), Some(1));
    frail()(&mut |cx| assert!(receiver.poll_recv(cx).is_pending()));
    assert!(sender.try_push(2).is_ok());
    frail()(&mut |cx| assert!(sender.poll_ready(cx).is_pending()));
    Ok(())
}

#[test]
fn a_graph_ends_whatever_the_end_of_its_stages_is() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let end = BadEnd;
    graph.stage("bad end", move |_: &mut Cx<'_>| {
        let _kept = &end;
        Wait::done()
    });
    graph.stage("bad step", |_: &mut Cx<'_>| -> Wait { panic_any(Bomb) });
    let running = graph.start()?;
    assert!(running.wait_timeout(HANGS_AFTER), "it hangs");
    let report = running.join();
    let mut failed: Vec<_> = report
        .failures()
        .iter()
        .map(|failure| &*failure.stage)
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, ["bad end", "bad step"]);
    Ok(())
}

#[test]
fn a_stage_is_started_again_whatever_the_panic_leaves_behind() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let starts = Arc::new(AtomicUsize::new(0));
    let count = starts.clone();
    let stage = restarting(
        (),
        move |()| (count.fetch_add(1, SeqCst), BadEnd),
        |(start, _), (), _| {
            if *start < 2 {
                panic_any(Bomb);
            }
            Wait::done()
        },
    );
    // The drop of the last state panics as well.
    graph.stage("again", stage.policy(Restarts::unlimited()));
    let running = graph.start()?;
    assert!(running.wait_timeout(HANGS_AFTER), "it hangs");
    let report = running.join();
    assert_eq!(starts.load(SeqCst), 3);
    assert_eq!(report.stage("again").map(|stage| stage.restarts), Some(2));
    Ok(())
}

/// A value whose destructor always panics, even during another panic.
struct NeverEasy(Arc<AtomicUsize>);

impl Drop for NeverEasy {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        fail();
    }
}

#[test]
fn futures_that_all_panic_when_they_go_end_only_their_stage() -> Result {
    silence_panics();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u32>(4)?;
    let (begun, drops) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (ours, kept) = (begun.clone(), drops.clone());
    let each = move |_| {
        ours.fetch_add(1, SeqCst);
        let end = NeverEasy(kept.clone());
        async move {
            let _end = end;
            std::future::pending::<()>().await;
        }
    };
    graph.source("numbers", stages::produce(numbers, 0..3));
    graph.stage("futures", stages::for_each_async(input, each).at_once(3));
    let running = graph.start()?;
    while begun.load(SeqCst) < 3 {
        std::thread::yield_now();
    }
    let report = running.abort();
    assert_eq!(drops.load(SeqCst), 3);
    let failed = report.failures().iter().map(|failure| &*failure.stage);
    assert_eq!(failed.collect::<Vec<_>>(), ["futures"]);
    Ok(())
}
