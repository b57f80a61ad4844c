//! TActors: a comparison of event queues, under light load and under heavy load.
//!
//! ```text
//!   light:  push, pop, push, pop on one thread;      or  one thread <-- one message --> another
//!   heavy:  4096 pushed and then popped on one;      or  producers ---> thousands waiting ---> consumer
//! ```

use std::hint::black_box;
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, JoinHandle};

use garrick::{Actor, Context, Next};
use garrick_measure::{
    Clock, Contender, Effort, Figure, Here, Measured, Published, Result, Row, Rows, Scenario,
    Stopwatch, Suite, Unit, units,
};
use garrick_steal::queue::{Banker, Chunked, Locked};

use super::{TACTORS, TACTORS_HERE};
use crate::channel::{Ours, Parked};
use crate::scenarios::actors::{Pass, measure_here, ring_of, send_in, sent, worker};
use crate::scenarios::ping_pong::ping_pong_cross;
use crate::scenarios::tell::tell;

const LIGHT: Scenario = Scenario {
    name: "event-queue-light",
    operation: "one message of 8 bytes through a queue that is otherwise empty; with threads=1, \
                one thread pushes and pops it, or an actor sends it to itself for its next turn; \
                with threads=2, it is passed to another thread, which parks while the queue is \
                empty and passes a message back through a second queue, or it is sent between two \
                actors on two workers",
    contenders: |_: &Effort| {
        let one = all(Work::OneByOne).map(|contender| contender.with("threads", 1));
        let two = all(Work::HandedOver).map(|contender| contender.with("threads", 2));
        one.into_iter().chain(two).collect()
    },
};

const HEAVY: Scenario = Scenario {
    name: "event-queue-heavy",
    operation: "one message of 8 bytes through a queue in which thousands of messages wait; with \
                producers=0, one thread pushes and pops 4096 messages at a time, or one actor \
                sends them to another; with producers=1 or 4, this number of other threads push as \
                fast as they can, and 8192 messages are waiting when the time begins",
    contenders: |_: &Effort| {
        let one = all(Work::Batches).map(|contender| contender.with("producers", 0));
        let several = [1, 4].into_iter().flat_map(|producers| {
            let all = all(Work::Flood { producers });
            all.map(|contender| contender.with("producers", producers).at_most(FLOOD_MAX))
        });
        one.into_iter().chain(several).collect()
    },
};

/// Number of messages that one thread pushes before it pops them.
const BATCH: u64 = 4096;

/// Number of messages that are waiting when the producers start.
const WAITING: u64 = 8192;

/// Maximum number of messages that the producers push in a repetition. There is a maximum because
/// all messages may wait at the same time.
const FLOOD_MAX: u64 = 1 << 20;

/// Work to measure with each queue.
#[derive(Debug, Clone, Copy)]
enum Work {
    OneByOne,
    HandedOver,
    Batches,
    Flood { producers: u64 },
}

/// Returns the contenders: the three queues, and an actor with its mailbox.
fn all(work: Work) -> [Contender; 4] {
    [
        by::<Ours<Locked>>(work).with("queue", "locked"),
        by::<Ours<Banker>>(work).with("queue", "banker"),
        by::<Ours<Chunked>>(work).with("queue", "chunked"),
        Contender::fitted("garrick", move |ops| work.by_actor(ops)).with("queue", "actor"),
    ]
}

fn by<C: Parked>(work: Work) -> Contender {
    Contender::fitted("garrick", move |ops| work.by_queue::<C>(ops))
}

impl Work {
    fn by_queue<C: Parked>(self, ops: u64) -> Result<Measured> {
        match self {
            Self::OneByOne => batches::<C>(1, ops),
            Self::HandedOver => handed_over::<C>(ops),
            Self::Batches => batches::<C>(BATCH, ops),
            Self::Flood { producers } => flood::<C>(producers, ops),
        }
    }

    fn by_actor(self, ops: u64) -> Result<Measured> {
        match self {
            Self::OneByOne => to_oneself(ops),
            Self::HandedOver => {
                let trips = ops.div_ceil(2);
                let ops = 2 * trips;
                Ok(Measured {
                    ops,
                    ..ping_pong_cross(trips)?
                })
            }
            Self::Batches => tell(ops, BATCH),
            Self::Flood { producers } => flood_of_actor(producers, ops),
        }
    }
}

/// Alternately pushes `batch` messages and pops them.
fn batches<C: Parked>(batch: u64, ops: u64) -> Result<Measured> {
    let batches = ops.div_ceil(batch);
    let (sender, mut receiver) = C::open();
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..batches {
        for message in 0..batch {
            C::push(&sender, black_box(message));
        }
        for _ in 0..batch {
            black_box(C::try_pop(&mut receiver));
        }
    }
    let span = watch.stop();
    assert_eq!(C::try_pop(&mut receiver), None, "every message was popped");
    Ok(Measured::new(batches * batch, span))
}

/// Measures messages that an actor sends to itself.
fn to_oneself(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let one = ring_of(1, &done, |_, relay| local.spawn(relay));
        send_in(&one, Pass::Token(ops));
    });
    assert!(waiting.try_recv().is_ok(), "the last message has arrived");
    measured
}

/// Repeatedly passes a message to another thread through one queue, and back through a second
/// queue.
fn handed_over<C: Parked>(ops: u64) -> Result<Measured> {
    let trips = ops.div_ceil(2);
    let (there, mut from_here) = C::open();
    let (back, mut from_there) = C::open();
    let echo = move || {
        for expected in 0..trips {
            assert_eq!(C::wait_pop(&mut from_here), Some(expected));
            C::push(&back, expected);
        }
    };
    let echo = thread::Builder::new().name("echo".to_owned()).spawn(echo)?;
    let watch = Stopwatch::start(Clock::Process);
    for message in 0..trips {
        C::push(&there, message);
        assert_eq!(C::wait_pop(&mut from_there), Some(message));
    }
    let span = watch.stop();
    echo.join().expect("handing back does not panic");
    Ok(Measured::new(2 * trips, span))
}

/// Threads that start to push at the same moment.
struct Producers {
    /// Barrier for the producers, the measuring thread, and the consumer if it is an actor. All of
    /// them wait at the barrier twice: first until all are ready, and then to start together.
    barrier: Arc<Barrier>,
    threads: Vec<JoinHandle<()>>,
}

impl Producers {
    /// Starts `count` threads. For each thread, `push` returns a closure. The thread waits for
    /// `barrier` twice, and then calls its closure `each` times.
    fn start<P: Fn(u64) + Send + 'static>(
        count: u64,
        each: u64,
        barrier: Arc<Barrier>,
        push: impl Fn() -> P,
    ) -> Result<Self> {
        let start = |number| {
            let (barrier, push) = (barrier.clone(), push());
            let thread = thread::Builder::new().name(format!("producer-{number}"));
            thread.spawn(move || {
                barrier.wait();
                barrier.wait();
                (0..each).for_each(push);
            })
        };
        let threads = (0..count).map(start).collect::<std::io::Result<_>>()?;
        Ok(Self { barrier, threads })
    }

    /// Starts the measurement, and then lets the producers begin.
    fn begin(&self) -> Stopwatch {
        self.barrier.wait();
        let watch = Stopwatch::start(Clock::Process);
        self.barrier.wait();
        watch
    }

    fn end(self) {
        for thread in self.threads {
            thread.join().expect("pushing does not panic");
        }
    }
}

/// Measures how long this thread takes to pop all messages: the messages that are waiting at the
/// start, and the messages that producers push meanwhile.
fn flood<C: Parked>(producers: u64, ops: u64) -> Result<Measured> {
    let each = ops.div_ceil(producers);
    let all = WAITING + producers * each;
    let (sender, mut receiver) = C::open();
    (0..WAITING).for_each(|message| C::push(&sender, message));
    let barrier = Arc::new(Barrier::new(producers as usize + 1));
    let producers = Producers::start(producers, each, barrier, || {
        let sender = sender.clone();
        move |message| C::push(&sender, message)
    })?;
    let watch = producers.begin();
    for _ in 0..all {
        black_box(C::wait_pop(&mut receiver));
    }
    let span = watch.stop();
    producers.end();
    assert_eq!(C::try_pop(&mut receiver), None, "every message was popped");
    Ok(Measured::new(all, span))
}

/// The consumer, which counts messages. At the first message, it blocks its worker until all other
/// threads are ready.
struct Consumer {
    /// Barrier at which the consumer waits during its first message. `None` after the first
    /// message.
    barrier: Option<Arc<Barrier>>,
    /// Number of messages that have not arrived yet.
    left: u64,
    /// Sender for the notification that the last message has arrived.
    done: mpsc::Sender<()>,
}

impl Actor for Consumer {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) -> Next {
        if let Some(barrier) = self.barrier.take() {
            barrier.wait();
            barrier.wait();
        }
        black_box(message);
        self.left -= 1;
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        Next::Continue
    }
}

/// Measures how long an actor on a separate worker takes to handle a flood of messages.
fn flood_of_actor(producers: u64, ops: u64) -> Result<Measured> {
    let each = ops.div_ceil(producers);
    let all = WAITING + producers * each;
    let system = worker("consumer")?;
    let (done, waiting) = mpsc::channel();
    let barrier = Arc::new(Barrier::new(producers as usize + 2));
    let consumer = system.spawn(Consumer {
        barrier: Some(barrier.clone()),
        left: all,
        done,
    })?;
    (0..WAITING).for_each(|message| send_in(&consumer, message));
    let producers = Producers::start(producers, each, barrier, || {
        let consumer = consumer.clone();
        move |message| send_in(&consumer, message)
    })?;
    let watch = producers.begin();
    waiting.recv()?;
    let span = watch.stop();
    producers.end();
    Ok(Measured::new(all, span))
}

pub(super) const EVENT_QUEUE: Suite = Suite {
    name: "event-queue",
    about: "TActors: a locked mailbox, a banker's queue, a lock-free queue and an actor's mailbox, \
            under light load and heavy load",
    scenarios: &[LIGHT, HEAVY],
    memory_bytes: |_| 256 << 20,
    origin: TACTORS,
    here: TACTORS_HERE,
    published: &[
        Published {
            of: "SEND and dispatch, the queue chosen in the end",
            said: Some(Figure::between(46.0, 54.0)),
            here: Here::Noted(Figure::between(22.0, 50.0)),
            ours: |rows| {
                let row = light(rows, "actor", "1")?;
                Some(row.cpu.median)
            },
            ..Published::UNKNOWN
        },
        Published {
            of: "SEND and dispatch, earlier queues",
            said: Some(Figure::between(74.0, 140.0)),
            ours: |rows| {
                let of = |queue| Some(light(rows, queue, "1")?.cpu.median);
                let all = ["locked", "banker", "chunked"].map(of);
                all.into_iter().flatten().max_by(f64::total_cmp)
            },
            ..Published::UNKNOWN
        },
        Published {
            of: "lock-free / locked queue, 4 producers",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(10.0)),
            ours: |rows| {
                let of = |queue| {
                    let params = [("queue", queue), ("producers", "4")];
                    Some(
                        rows.find("event-queue-heavy", "garrick", &params)?
                            .cpu
                            .median,
                    )
                };
                Some(of("chunked")? / of("locked")?)
            },
            ..Published::UNKNOWN
        },
    ],
    note: "The queue chosen in the end is TActors' queue for one thread; our figure is an actor's \
           mailbox, including the actor's turn. The earlier queues are the locked mailbox and the \
           banker's queue; our figure is the slowest of our three queues, a push and a pop without \
           a turn. The source's lock-free queue spins and sleeps when it is empty, and ours parks",
    findings,
};

/// Returns the row of a queue under light load.
fn light<'a>(rows: Rows<'a>, queue: &str, threads: &str) -> Option<&'a Row> {
    let params = [("queue", queue), ("threads", threads)];
    rows.find("event-queue-light", "garrick", &params)
}

/// Reports which of the three queues was the fastest, for each kind of load.
fn findings(rows: Rows<'_>) -> Vec<String> {
    let cases = [
        (
            "event-queue-light",
            "threads",
            "1",
            "Light load, one thread",
        ),
        (
            "event-queue-light",
            "threads",
            "2",
            "Light load, two threads",
        ),
        (
            "event-queue-heavy",
            "producers",
            "0",
            "Heavy load, one thread",
        ),
        (
            "event-queue-heavy",
            "producers",
            "1",
            "Heavy load, one producer",
        ),
        (
            "event-queue-heavy",
            "producers",
            "4",
            "Heavy load, four producers",
        ),
    ];
    let said = |(scenario, name, value, case)| {
        let cost = |queue| {
            let params = [("queue", queue), (name, value)];
            let row = rows.find(scenario, "garrick", &params)?;
            Some((queue, row.cpu.median))
        };
        let all = ["locked", "banker", "chunked"].into_iter().filter_map(cost);
        let mut all: Vec<(&str, f64)> = all.collect();
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (best, least) = *all.first()?;
        let others = all[1..].iter();
        let others = others.map(|(queue, cost)| format!("{queue} {:.1} times that", cost / least));
        let others: Vec<String> = others.collect();
        let least = units::time(least);
        Some(format!(
            "{case}: {best} takes {least}, {}.",
            others.join(", ")
        ))
    };
    cases.into_iter().filter_map(said).collect()
}
