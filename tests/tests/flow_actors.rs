//! Pipelines and actors: messages that go from a graph to an actor and back into a graph, with
//! back-pressure all the way, none lost and all in order.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use garrick::flow::{AsyncSender, Graph, Receiver, Slots, stages};
use garrick::mailbox::{Mailbox, OnFull};
use garrick::{Actor, Address, Context, Next, Reply, System, behavior};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Number of messages that go all the way.
const MANY: u64 = if cfg!(debug_assertions) {
    200_000
} else {
    1_000_000
};

/// Maximum number of asks in flight to the actor.
const CREDIT: usize = 64;

/// Message to the [`Doubler`].
enum Msg {
    /// Number, answered when its double is in the graph.
    Number(u64, Reply<()>),
    /// There is room in the graph.
    Room,
}

/// Sends the doubles of its numbers to a graph. A double that finds no room waits, and so does its
/// sender.
struct Doubler {
    output: AsyncSender<u64>,
    /// Doubles that wait for room, each with its reply.
    waiting: VecDeque<(u64, Reply<()>)>,
    /// Maximum number of doubles that ever waited.
    waited_max: Arc<AtomicUsize>,
}

impl Doubler {
    fn send_on(&mut self, cx: &mut Context<'_, Msg>) {
        while let Some((double, reply)) = self.waiting.pop_front() {
            if self.output.try_push(double).is_ok() {
                reply.send(());
                continue;
            }
            self.waiting.push_front((double, reply));
            let me = cx.address();
            self.output.on_ready(move || {
                let _ = me.send(Msg::Room);
            });
            return;
        }
    }
}

impl Actor for Doubler {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        let was_waiting = !self.waiting.is_empty();
        match msg {
            Msg::Number(number, reply) => {
                self.waiting.push_back((2 * number, reply));
                self.waited_max.fetch_max(self.waiting.len(), Relaxed);
                if was_waiting {
                    // `Room` will come.
                    return Next::Continue;
                }
            }
            Msg::Room => {}
        }
        self.send_on(cx);
        Next::Continue
    }
}

/// Returns a stage that checks that the even numbers come in order, and counts them.
fn evens(input: Receiver<u64>, seen: Arc<AtomicU64>) -> impl garrick::flow::Stage {
    stages::consume(input, move |numbers: &[u64]| {
        for number in numbers {
            assert_eq!(*number, 2 * seen.load(Relaxed));
            seen.fetch_add(1, Relaxed);
        }
    })
}

#[test]
fn a_graph_an_actor_and_a_graph_with_credit() -> Result {
    let system = System::new()?;
    let (mut first, mut second) = (Graph::new(), Graph::new());
    let (numbers, numbers_in) = first.channel(Slots::of(1024).named("numbers"))?;
    let (doubles, doubles_in) = second.channel(256)?;

    let (seen, waited_max) = (Arc::<AtomicU64>::default(), Arc::<AtomicUsize>::default());
    let doubler = system.spawn(Doubler {
        output: doubles.into(),
        waiting: VecDeque::new(),
        waited_max: Arc::clone(&waited_max),
    })?;
    let theirs = doubler.clone();
    let ask = move |number| {
        let ask = theirs.ask(|reply| Msg::Number(number, reply));
        async move { ask.await.expect("the actor answers all") }
    };
    first.source("numbers", stages::produce(numbers, 0..MANY));
    let ask = stages::for_each_async(numbers_in, ask).at_once(CREDIT);
    first.stage("ask", ask);
    second.stage("check", evens(doubles_in, Arc::clone(&seen)));

    let (first, second) = (first.start()?, second.start()?);
    let report = first.join();
    assert!(report.failures().is_empty(), "{report:?}");
    // No one asks any more. The actor ends, and its sender with it.
    doubler.stop();
    let report = second.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(seen.load(Relaxed), MANY);
    assert!(waited_max.load(Relaxed) <= CREDIT, "{waited_max:?}");
    system.shutdown();
    Ok(())
}

#[test]
fn a_slow_actor_behind_a_bounded_mailbox_slows_the_graph() -> Result {
    const ROOM: usize = 8;
    let system = System::new()?;
    let count = MANY / 20;
    let handled = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&handled);
    let slow = behavior(move |number: u64, _| {
        assert_eq!(number, theirs.load(Relaxed));
        // The actor has to give way to others each time.
        std::thread::yield_now();
        theirs.fetch_add(1, Relaxed);
        Next::Continue
    });
    let inlet: Address<u64> = system
        .actor(slow)
        .mailbox(Mailbox::bounded(ROOM, OnFull::Wait)?)
        .spawn()?;

    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel(16)?;
    graph.source("numbers", stages::produce(numbers, 0..count));
    let (theirs, ours) = (inlet.clone(), Arc::clone(&handled));
    let sent = Arc::new(AtomicU64::new(0));
    let sending = Arc::clone(&sent);
    let send = move |number| {
        let (inlet, sent, handled) = (theirs.clone(), Arc::clone(&sending), Arc::clone(&ours));
        async move {
            inlet.send_async(number).await.expect("the actor goes on");
            let ahead = sent.fetch_add(1, Relaxed) + 1 - handled.load(Relaxed).min(number);
            // The waiting messages, the message in its turn, and one whose place was released
            // before it was counted.
            assert!(ahead <= ROOM as u64 + 2, "{ahead} ahead");
        }
    };
    graph.stage("send", stages::for_each_async(numbers_in, send));
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert_eq!(sent.load(Relaxed), count);
    system.shutdown();
    assert_eq!(handled.load(Relaxed), count, "what was accepted is handled");
    assert_eq!(inlet.dropped(), 0);
    Ok(())
}

#[test]
fn an_actor_that_is_gone_ends_the_graph() -> Result {
    let system = System::new()?;
    let mortal = system.spawn(behavior(|number: u64, _| {
        if number == 100 {
            Next::Stop
        } else {
            Next::Continue
        }
    }))?;
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel(16)?;
    graph.source("numbers", stages::produce(numbers, 0..));
    let mut input = numbers_in;
    graph.stage("tell", move |_: &mut garrick::flow::Cx<'_>| {
        while let Some(number) = input.try_pop() {
            if mortal.send(number).is_err() {
                return garrick::flow::Wait::done();
            }
        }
        garrick::flow::Wait::readable(&input, 1)
    });
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    assert!(report.channels()[0].taken > 100);
    system.shutdown();
    Ok(())
}
