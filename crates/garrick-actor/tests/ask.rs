//! Tests of questions that come from plain threads, from futures, and from other actors.
#![forbid(unsafe_code)]

use std::mem::size_of;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::task::{self, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use garrick_actor::{Actor, Address, Ask, Context, Local, Next, NoReply, Reply, System, behavior};

struct Counter(u64);

enum Count {
    Add(u64),
    Get(Reply<u64>),
    Keep(Reply<u64>, mpsc::Sender<Reply<u64>>),
    Undo(Reply<u64>),
}

impl Actor for Counter {
    type Msg = Count;
    type Outcome = Next;

    fn receive(&mut self, msg: Count, _: &mut Context<'_, Count>) -> Next {
        match msg {
            Count::Add(n) => self.0 += n,
            Count::Get(reply) => reply.send(self.0),
            Count::Keep(reply, to) => to.send(reply).unwrap(),
            Count::Undo(reply) => {
                reply.send(self.0);
                return Next::Undo;
            }
        }
        Next::Continue
    }
}

#[test]
fn a_reply_is_small_enough_to_travel_without_an_envelope() {
    #[allow(dead_code)]
    enum Msg {
        Add(u64),
        Get(Reply<u64>),
        Stop,
    }
    assert_eq!(size_of::<Reply<String>>(), 16);
    assert!(size_of::<Msg>() <= 24);
}

#[test]
fn threads_ask_and_wait() {
    let system = System::new().unwrap();
    let counter = system.spawn(Counter(0)).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let mut last = 0;
                for _ in 0..500 {
                    counter.send(Count::Add(1)).unwrap();
                    let now = counter.ask(Count::Get).wait().unwrap();
                    assert!(now > last, "what was sent before is handled before");
                    last = now;
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.ask(Count::Get).wait(), Ok(2000));
    system.shutdown();
}

#[test]
fn large_and_strictly_aligned_answers_arrive() {
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);
    let system = System::builder().workers(1).start().unwrap();
    let large = system.spawn(Once(Some([7_u64; 1000]))).unwrap();
    assert_eq!(large.ask(|reply| reply).wait(), Ok([7; 1000]));
    let aligned = system.spawn(Once(Some(Aligned(3)))).unwrap();
    assert_eq!(aligned.ask(|reply| reply).wait(), Ok(Aligned(3)));
}

/// Answers its first question and drops the replies of all later ones.
struct Once<R>(Option<R>);

impl<R: Send + 'static> Actor for Once<R> {
    type Msg = Reply<R>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<R>, _: &mut Context<'_, Reply<R>>) {
        if let Some(answer) = self.0.take() {
            reply.send(answer);
        }
    }
}

#[test]
fn a_reply_may_be_answered_from_a_plain_thread_or_dropped() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(0));
    let (kept, replies) = mpsc::channel();
    let answered = counter.ask(|reply| Count::Keep(reply, kept.clone()));
    let dropped = counter.ask(|reply| Count::Keep(reply, kept));
    local.run();
    let mut replies = replies.iter();
    let (first, second) = (replies.next().unwrap(), replies.next().unwrap());
    let thread = thread::spawn(move || first.send(9));
    assert_eq!(answered.wait(), Ok(9));
    thread.join().unwrap();
    drop(second);
    assert_eq!(dropped.wait(), Err(NoReply::Dropped));
}

#[test]
fn an_undone_answer_is_none() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(5));
    let undone = counter.ask(Count::Undo);
    let kept = counter.ask(Count::Get);
    local.run();
    assert_eq!(undone.wait(), Err(NoReply::Dropped));
    assert_eq!(kept.wait(), Ok(5));
}

#[test]
fn time_runs_out() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(5));
    let ask = counter.ask(Count::Get);
    // Another thread, because this one is told at once that it should run the actors.
    let stranger = std::thread::spawn(|| ask.wait_timeout(Duration::from_millis(1)));
    assert_eq!(stranger.join().unwrap(), Err(NoReply::TimedOut));
    // The answer that comes too late is dropped.
    local.run();
    let ask = counter.ask(Count::Get);
    local.run();
    assert_eq!(ask.wait_timeout(Duration::ZERO), Ok(5));
    let ask = counter.ask(Count::Get);
    local.run();
    assert_eq!(ask.wait_timeout(Duration::MAX), Ok(5));
}

#[test]
fn an_actor_must_not_wait() {
    let system = System::new().unwrap();
    let counter = system.spawn(Counter(5)).unwrap();
    let (said, heard) = mpsc::channel();
    let waiting = system
        .spawn(behavior(move |counter: Address<Count>, _| {
            said.send(counter.ask(Count::Get).wait()).unwrap();
            Next::Continue
        }))
        .unwrap();
    waiting.send(counter).unwrap();
    assert_eq!(heard.recv(), Ok(Err(NoReply::OnWorker)));
    system.shutdown();
}

/// A waker that counts how often it is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn an_ask_is_a_future() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(5));
    let (first, second) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
    let mut ask = pin!(counter.ask(Count::Get));
    let mut poll = |wakes: &Arc<Wakes>| -> Poll<Result<u64, NoReply>> {
        let waker = Waker::from(wakes.clone());
        ask.as_mut().poll(&mut task::Context::from_waker(&waker))
    };
    assert_eq!(poll(&first), Poll::Pending);
    assert_eq!(poll(&second), Poll::Pending);
    local.run();
    assert_eq!(
        (first.0.load(Relaxed), second.0.load(Relaxed)),
        (0, 1),
        "the last waker counts"
    );
    assert_eq!(poll(&first), Poll::Ready(Ok(5)));
    assert_eq!(Arc::strong_count(&second), 1, "no waker is left behind");
}

#[test]
fn a_future_may_be_dropped_at_any_time() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(5));
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut asks: Vec<Ask<u64>> = (0..3).map(|_| counter.ask(Count::Get)).collect();
    for ask in &mut asks {
        let polled = pin!(ask).poll(&mut task::Context::from_waker(&waker));
        assert_eq!(polled, Poll::Pending);
    }
    drop(asks.pop());
    local.run();
    drop(asks);
    drop(waker);
    assert_eq!(wakes.0.load(Relaxed), 2);
    assert_eq!(Arc::strong_count(&wakes), 1);
}

/// Asks the counter `left` times, one question after another, and sends the answers to the test.
struct Asker {
    counter: Address<Count>,
    left: usize,
    answers: mpsc::Sender<Result<u64, NoReply>>,
}

enum Asking {
    Next,
    Answer(Result<u64, NoReply>),
}

impl Actor for Asker {
    type Msg = Asking;
    type Outcome = Next;

    fn receive(&mut self, msg: Asking, cx: &mut Context<'_, Asking>) -> Next {
        if let Asking::Answer(answer) = msg {
            self.answers.send(answer).unwrap();
        }
        if self.left == 0 {
            return Next::Stop;
        }
        self.left -= 1;
        let _ = cx.send(&self.counter, Count::Add(1));
        cx.ask(&self.counter, Count::Get, Asking::Answer);
        Next::Continue
    }
}

#[test]
fn actors_ask_each_other() {
    for workers in [1, 2] {
        let system = System::builder().workers(workers).start().unwrap();
        let counter = system.spawn(Counter(0)).unwrap();
        let (answers, given) = mpsc::channel();
        let asker = system
            .spawn(Asker {
                counter,
                left: 1000,
                answers,
            })
            .unwrap();
        asker.send(Asking::Next).unwrap();
        drop(asker);
        let given: Vec<_> = given.iter().collect();
        assert_eq!(given, (1..=1000).map(Ok).collect::<Vec<_>>());
        system.shutdown();
    }
}

#[test]
fn an_actor_that_asks_a_stopped_one_gets_an_error() {
    let local = Local::new().unwrap();
    let counter = local.spawn(Counter(0));
    counter.stop();
    local.run();
    let (answers, given) = mpsc::channel();
    let asker = local.spawn(Asker {
        counter,
        left: 2,
        answers,
    });
    asker.send(Asking::Next).unwrap();
    local.run();
    assert_eq!(given.iter().collect::<Vec<_>>(), [Err(NoReply::Dropped); 2]);
}
