//! Tests code that uses a graph in a turn of an actor. A push, a stop and the wake-up of a future
//! take effect at once, so the wake-ups that belong to them must not be undone with the turn.

mod common;

use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use common::Result;
use futures_core::Stream;
use garrick_flow::{AsyncReceiver, AsyncSender, Cx, Graph, Running, Wait, stages};
use garrick_sched::{Address, Flow, Sponsor, Task, Turn};
use garrick_testkit::{HANGS_AFTER, ends, wait};

/// Work that a [`Doer`] does in a turn.
type Deed = Box<dyn FnOnce() -> Flow + Send>;

/// A task that does what its messages contain.
struct Doer;

impl Task for Doer {
    type Message = Deed;

    fn receive(&mut self, deed: Deed, _: &Turn<'_, Deed>) -> Flow {
        deed()
    }
}

/// A task that passes its messages on.
struct Teller(Sender<u32>);

impl Task for Teller {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        self.0.send(number).map_or(Flow::Stop, |()| Flow::Continue)
    }
}

/// Calls `deed` in a turn, which is undone.
fn undo(sponsor: &Sponsor, deed: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let deed: Deed = Box::new(move || {
        deed();
        done.send(()).unwrap();
        Flow::Undo
    });
    let doer = sponsor.handle().spawn(Doer).unwrap();
    assert!(doer.send(deed).is_ok());
    wait(&is_done);
}

fn sponsor() -> Sponsor {
    Sponsor::builder().workers(1).start().unwrap()
}

fn teller(sponsor: &Sponsor) -> (Address<u32>, Receiver<u32>) {
    let (told, heard) = channel();
    let teller = sponsor.handle().spawn(Teller(told)).unwrap();
    (teller, heard)
}

/// Waits until all stages of a graph sleep.
fn rest(running: &Running) {
    while running.totals().stages.iter().any(|stage| stage.rests == 0) {
        thread::yield_now();
    }
}

#[test]
fn a_push_and_a_take_wake_a_stage_even_if_the_turn_is_undone() -> Result {
    let sponsor = sponsor();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u32>(1)?;
    let (output, results) = graph.channel::<u32>(1)?;
    let (told, heard) = channel();
    let note = move |number: &u32| {
        told.send(*number).unwrap();
        *number
    };
    graph.stage("note", stages::map(input, output, note));
    let running = graph.start()?;
    rest(&running);
    let ends = (AsyncSender::from(numbers), AsyncReceiver::from(results));
    let ends = Arc::new(Mutex::new(ends));
    let pushed = ends.clone();
    undo(&sponsor, move || {
        assert!(pushed.lock().unwrap().0.try_push(1).is_ok());
    });
    assert_eq!(wait(&heard), 1);
    // The stage frees the slot of the input a moment after it has called `note`.
    while ends.lock().unwrap().0.try_push(2).is_err() {
        thread::yield_now();
    }
    // The output is full now, so the stage waits for a free slot.
    while running.totals().channels[1].sender_stalls == 0 {
        thread::yield_now();
    }
    let taken = ends.clone();
    undo(&sponsor, move || {
        assert_eq!(taken.lock().unwrap().1.try_pop(), Some(1));
    });
    assert_eq!(wait(&heard), 2);
    drop(ends);
    assert!(running.wait_timeout(HANGS_AFTER), "a close wakes, too");
    Ok(())
}

#[test]
fn an_end_that_is_dropped_closes_its_channel_even_if_the_turn_is_undone() -> Result {
    let sponsor = sponsor();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u32>(1)?;
    graph.stage("read", stages::consume(input, |_| ()));
    let running = graph.start()?;
    rest(&running);
    undo(&sponsor, move || drop(numbers));
    assert!(running.wait_timeout(HANGS_AFTER), "it was not woken");
    Ok(())
}

#[test]
fn a_stop_reaches_all_stages_even_if_the_turn_is_undone() -> Result {
    let sponsor = sponsor();
    let mut graph = Graph::new();
    graph.source("idle", |_: &mut Cx<'_>| Wait::until(u64::MAX));
    let running = graph.start()?;
    rest(&running);
    let stopper = running.stopper();
    undo(&sponsor, move || stopper.stop());
    assert!(running.wait_timeout(HANGS_AFTER), "it was not asked");
    Ok(())
}

/// A stream whose only value is the number that is set, and that then ends.
struct Later(Arc<Mutex<(Option<u32>, Option<Waker>)>>);

impl Stream for Later {
    type Item = u32;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u32>> {
        let mut state = self.0.lock().unwrap();
        match state.0.take() {
            Some(0) => Poll::Ready(None),
            Some(number) => {
                state.0 = Some(0);
                Poll::Ready(Some(number))
            }
            None => {
                state.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[test]
fn a_future_is_polled_again_even_if_the_turn_that_has_woken_it_is_undone() -> Result {
    let sponsor = sponsor();
    let state = Arc::default();
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u32>(1)?;
    let later = Later(Arc::clone(&state));
    graph.source("later", stages::from_stream(numbers, later));
    graph.stage("read", stages::consume(input, |_| ()));
    let running = graph.start()?;
    rest(&running);
    undo(&sponsor, move || {
        let waker = {
            let mut state = state.lock().unwrap();
            state.0 = Some(7);
            state.1.take()
        };
        waker.unwrap().wake();
    });
    assert!(running.wait_timeout(HANGS_AFTER), "it was not woken");
    assert_eq!(running.join().channels()[0].taken, 1);
    Ok(())
}

#[test]
fn what_a_callback_sends_arrives_even_if_the_turn_is_undone() -> Result {
    let sponsor = sponsor();
    let (teller, heard) = teller(&sponsor);
    let mut graph = Graph::new();
    let (numbers, mut input) = graph.channel::<u32>(1)?;
    let numbers = Arc::new(Mutex::new(AsyncSender::from(numbers)));
    // There is room already, so the callback is called in the turn.
    let (to, same) = (teller.clone(), numbers.clone());
    undo(&sponsor, move || {
        let call = move || assert!(to.send(1).is_ok());
        same.lock().unwrap().on_ready(call);
    });
    assert_eq!(wait(&heard), 1);
    // The other end makes room in a turn.
    {
        let mut numbers = numbers.lock().unwrap();
        assert!(numbers.try_push(5).is_ok());
        numbers.on_ready(move || assert!(teller.send(2).is_ok()));
    }
    undo(&sponsor, move || assert_eq!(input.try_pop(), Some(5)));
    assert_eq!(wait(&heard), 2);
    Ok(())
}

#[test]
fn a_graph_that_is_started_in_a_turn_runs_at_once() {
    ends(|| {
        let sponsor = sponsor();
        let (told, heard) = channel();
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel::<u32>(1).unwrap();
        graph.source("numbers", stages::produce(numbers, 0..100));
        graph.stage("read", stages::consume(input, |_| ()));
        undo(&sponsor, move || {
            let report = graph.start().unwrap().join();
            told.send(report.channels()[0].taken).unwrap();
        });
        assert_eq!(wait(&heard), 100);
    });
}
