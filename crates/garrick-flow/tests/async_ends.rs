//! Tests futures at both ends of a graph: no value is lost, no thread polls, and a future that is
//! dropped has no effect.
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures_core::Stream;
use garrick_flow::testing::{Seen, StageDriver};
use garrick_flow::{AsyncReceiver, AsyncSender, Cx, Graph, SendError, Wait, stages};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Number of values that are sent one by one, each of which may cost a thread switch.
const MANY: u64 = if cfg!(debug_assertions) {
    5_000
} else {
    50_000
};

/// Polls `future` once, with a waker that does nothing.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_go_in_and_out_whatever_the_capacity() -> Result {
    for capacity in [1, 2, 64] {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel::<u64>(capacity)?;
        let (output, results) = graph.channel::<u64>(capacity)?;
        graph.stage("double", stages::map(input, output, |n| 2 * n));
        let running = graph.start()?;
        let mut numbers = AsyncSender::from(numbers);
        let sender = thread::spawn(move || {
            pollster::block_on(async move {
                for number in 0..MANY {
                    numbers.send(number).await?;
                }
                Ok::<_, SendError<u64>>(())
            })
        });
        let mut results = AsyncReceiver::from(results);
        pollster::block_on(async {
            for number in 0..MANY {
                assert_eq!(results.recv().await, Some(2 * number));
            }
            assert_eq!(results.recv().await, None);
            assert_eq!(results.recv().await, None, "and again");
        });
        sender.join().map_err(|_| "the sender panicked")??;
        assert!(running.join().failures().is_empty());
    }
    Ok(())
}

#[test]
fn a_dropped_future_has_done_nothing() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u64>(1)?;
    let (mut tx, mut rx) = (AsyncSender::from(tx), AsyncReceiver::from(rx));
    assert!(poll_once(rx.recv()).is_pending());
    assert_eq!(poll_once(tx.send(1)), Poll::Ready(Ok(())));
    assert!(poll_once(tx.send(2)).is_pending());
    assert_eq!(poll_once(rx.recv()), Poll::Ready(Some(1)));
    assert!(poll_once(rx.recv()).is_pending(), "2 was never sent");
    assert_eq!(poll_once(tx.send(3)), Poll::Ready(Ok(())));
    assert_eq!(poll_once(rx.ready()), Poll::Ready(true));
    assert_eq!(rx.try_pop(), Some(3));
    Ok(())
}

#[test]
fn an_end_that_goes_wakes_the_other() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u64>(1)?;
    let (mut tx, rx) = (AsyncSender::from(tx), AsyncReceiver::from(rx));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    tx.try_push(1)?;
    {
        let mut send = pin!(tx.send(2));
        assert!(send.as_mut().poll(&mut cx).is_pending());
        drop(rx);
        assert_eq!(woken.0.load(SeqCst), 1);
        assert_eq!(send.poll(&mut cx), Poll::Ready(Err(SendError(2))));
    }
    let (tx, rx) = graph.channel::<u64>(1)?;
    let mut rx = AsyncReceiver::from(rx);
    let mut recv = pin!(rx.recv());
    assert!(recv.as_mut().poll(&mut cx).is_pending());
    drop(tx);
    assert_eq!(woken.0.load(SeqCst), 2);
    assert_eq!(recv.poll(&mut cx), Poll::Ready(None));
    Ok(())
}

#[test]
fn who_wants_to_be_called_is_called_once() -> Result {
    let mut graph = Graph::new();
    let (tx, rx) = graph.channel::<u64>(1)?;
    let (mut tx, mut rx) = (AsyncSender::from(tx), AsyncReceiver::from(rx));
    let calls = Arc::new(AtomicUsize::new(0));
    let call = || {
        let calls = Arc::clone(&calls);
        move || {
            calls.fetch_add(1, SeqCst);
        }
    };
    tx.on_ready(call());
    assert_eq!(calls.load(SeqCst), 1, "there is room");
    rx.on_ready(call());
    assert_eq!(calls.load(SeqCst), 1, "there is nothing");
    tx.try_push(1)?;
    assert_eq!(calls.load(SeqCst), 2);
    tx.on_ready(call());
    tx.on_ready(call());
    rx.try_pop();
    assert_eq!(
        calls.load(SeqCst),
        3,
        "the second took the first one's place"
    );
    tx.try_push(2)?;
    rx.try_pop();
    assert_eq!(calls.load(SeqCst), 3);
    tx.try_push(3)?;
    tx.on_ready(call());
    drop(rx);
    assert_eq!(calls.load(SeqCst), 4);
    Ok(())
}

/// A stream that yields as many values as its valve allows, and is pending in between.
#[derive(Clone, Default)]
struct Valve(Arc<Mutex<Flow>>);

#[derive(Default)]
struct Flow {
    /// Number of values that the stream may yield.
    open: u64,
    /// Number of values that the stream has yielded.
    out: u64,
    /// True if the stream ends when it has yielded the allowed values.
    ended: bool,
    waker: Option<Waker>,
}

impl Valve {
    fn turn(&self, open: u64, ended: bool) {
        let waker = {
            let mut flow = self.0.lock().unwrap();
            flow.open += open;
            flow.ended |= ended;
            flow.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Stream for Valve {
    type Item = u64;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u64>> {
        let mut flow = self.0.lock().unwrap();
        if flow.out < flow.open {
            flow.out += 1;
            return Poll::Ready(Some(flow.out));
        }
        if flow.ended {
            return Poll::Ready(None);
        }
        flow.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[test]
fn a_pending_stream_rests() -> Result {
    let mut graph = Graph::new();
    let (output, numbers) = graph.channel::<u64>(4)?;
    let valve = Valve::default();
    graph.source("valve", stages::from_stream(output, valve.clone()));
    let running = graph.start()?;
    let mut numbers = AsyncReceiver::from(numbers);
    for round in 0..100 {
        valve.turn(1, false);
        assert_eq!(pollster::block_on(numbers.recv()), Some(round + 1));
    }
    valve.turn(10, true);
    let mut rest = 0;
    while pollster::block_on(numbers.recv()).is_some() {
        rest += 1;
    }
    assert_eq!(rest, 10);
    let report = running.join();
    // At most one step per wake-up and one per batch, and after each batch one more look.
    let steps = report.stages()[0].steps;
    assert!(steps <= 2 * 101 + 2 * 10, "{report:?}");
    Ok(())
}

#[test]
fn a_stream_ends_with_its_reader_or_by_a_stop() -> Result {
    for by_stop in [false, true] {
        let mut graph = Graph::new();
        let (output, numbers) = graph.channel::<u64>(4)?;
        graph.source("valve", stages::from_stream(output, Valve::default()));
        let running = graph.start()?;
        while running.totals().stages[0].rests == 0 {
            thread::yield_now();
        }
        if by_stop {
            running.stop();
        } else {
            drop(numbers);
        }
        assert!(running.join().failures().is_empty());
    }
    Ok(())
}

#[test]
fn futures_are_begun_in_order_and_no_more_than_allowed() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel::<u64>(16)?;
    let begun = Arc::new(Mutex::new(Vec::new()));
    let gates: Vec<_> = (0..5).map(|_| Valve::default()).collect();
    let (ours, valves) = (Arc::clone(&begun), gates.clone());
    let each = move |number: u64| {
        ours.lock().unwrap().push(number);
        let mut valve = valves[number as usize].clone();
        poll_fn(move |cx| Pin::new(&mut valve).poll_next(cx).map(drop))
    };
    let mut probe = StageDriver::new(&graph, stages::for_each_async(input, each).at_once(2));
    let seen = || begun.lock().unwrap().len();
    numbers.push_iter(0..5);
    assert_eq!((probe.run(10), seen()), (Seen::Waits, 2));
    gates[1].turn(1, false);
    assert_eq!(
        (probe.look(), probe.run(10), seen()),
        (Seen::Ready, Seen::Waits, 3)
    );
    gates[2].turn(1, false);
    gates[3].turn(1, false);
    assert_eq!((probe.run(10), seen()), (Seen::Waits, 5));
    drop(numbers);
    assert_eq!(probe.run(10), Seen::Waits, "two are under way");
    gates[0].turn(1, false);
    assert_eq!(probe.run(10), Seen::Waits);
    gates[4].turn(1, false);
    assert_eq!(probe.run(10), Seen::Done);
    assert_eq!(*begun.lock().unwrap(), [0, 1, 2, 3, 4]);
    Ok(())
}

#[test]
fn an_async_sink_keeps_up_with_threads_that_wake_it() -> Result {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u64>(64)?;
    graph.source("numbers", stages::produce(numbers, 0..MANY));
    // Each future is answered by another thread, at any later time.
    let (ask, asked) = mpsc::channel::<(u64, Valve)>();
    let answer = thread::spawn(move || {
        let mut next = 0;
        for (number, valve) in asked {
            assert_eq!(number, next, "in order");
            next += 1;
            valve.turn(1, false);
        }
        next
    });
    let each = move |number| {
        let mut valve = Valve::default();
        let sent = ask.send((number, valve.clone()));
        poll_fn(move |cx| {
            assert!(sent.is_ok());
            Pin::new(&mut valve).poll_next(cx).map(drop)
        })
    };
    graph.stage("ask", stages::for_each_async(input, each).at_once(4));
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(answer.join().map_err(|_| "the thread panicked")?, MANY);
    Ok(())
}

#[test]
fn an_async_source_waits_for_room_and_for_others() -> Result {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u64>(2)?;
    let valve = Valve::default();
    let mut theirs = valve.clone();
    let source = |mut numbers: AsyncSender<u64>| async move {
        while let Some(number) = poll_fn(|cx| Pin::new(&mut theirs).poll_next(cx)).await {
            if numbers.send(number).await.is_err() {
                return;
            }
        }
    };
    graph.source("source", stages::from_async(numbers, source));
    let mut expected = 0;
    let check = move |numbers: &[u64]| {
        for number in numbers {
            expected += 1;
            assert_eq!(*number, expected);
        }
    };
    graph.stage("check", stages::consume(numbers_in, check));
    let running = graph.start()?;
    for _ in 0..MANY / 10 {
        valve.turn(10, false);
    }
    valve.turn(0, true);
    let report = running.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(report.channels()[0].taken, MANY);
    assert_eq!(report.channels()[0].from, Some(0));
    Ok(())
}

#[test]
fn a_failed_future_is_a_failed_stage() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel::<u64>(4)?;
    let fails = |_| async { panic!("it had to") };
    graph.stage("fails", stages::for_each_async(input, fails));
    graph.stage("send", move |_: &mut Cx<'_>| {
        let _ = numbers.try_push(1);
        Wait::done()
    });
    let report = graph.start()?.join();
    assert_eq!(report.failures()[0].message, "it had to");
    Ok(())
}
