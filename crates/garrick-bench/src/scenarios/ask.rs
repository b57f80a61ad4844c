//! Actors and threads that ask an actor questions.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use garrick::{Actor, Address, Context, Next, NoReply, Reply};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{builder, measure_here, send_in, sent, worker};

pub(super) const ASK: Scenario = Scenario {
    name: "ask",
    operation: "one ask between two actors on the same worker: the question is sent and handled, \
                the answer is sent and handled, and then the next question is asked; one question \
                is open at a time",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask::<PLAIN>)],
};

pub(super) const ASK_WITHIN: Scenario = Scenario {
    name: "ask-within",
    operation: "one ask as in 'ask', by ask_within with a time limit of an hour",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask::<WITHIN>)],
};

pub(super) const ASK_ONCE: Scenario = Scenario {
    name: "ask-once",
    operation: "one ask as in 'ask', by ask_once: the function that converts the answer captures \
                an address",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask::<ONCE>)],
};

pub(super) const ASK_ALL: Scenario = Scenario {
    name: "ask-all",
    operation: "one of 16 questions that ask_all asks the same actor on the same worker at once: \
                all questions are handled, the answers arrive as one message, and then the next 16 \
                questions are asked",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask_all)],
};

/// Value of `WAY` that selects [`Context::ask`].
const PLAIN: u8 = 0;
/// Value of `WAY` that selects [`Context::ask_within`], with a time limit of an hour.
pub(super) const WITHIN: u8 = 1;
/// Value of `WAY` that selects [`Context::ask_once`].
const ONCE: u8 = 2;

/// Number of questions that are asked at the same time.
const ALL: u64 = 16;

const HOUR: Duration = Duration::from_secs(3_600);

pub(super) const ASK_OUTSIDE: Scenario = Scenario {
    name: "ask-outside",
    operation: "one ask from a plain thread to an actor on a separate worker, by Address::ask and \
                .wait(): the question is sent and handled, the answer is sent and received; one \
                question is open at a time",
    contenders: |_: &Effort| {
        let ask = |answerer: &Address<Question>, number| {
            answerer.ask(|reply| Question(number, reply)).wait()
        };
        vec![Contender::fitted("garrick", move |ops| outside(ops, ask))]
    },
};

pub(super) const CALL_OUTSIDE: Scenario = Scenario {
    name: "call-outside",
    operation: "one ask as in 'ask-outside', by Address::call and .wait(): the question is sent \
                when the thread waits for the answer, and this thread may run the actor itself; \
                one question is open at a time",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", move |ops| outside(ops, call))],
};

pub(super) const CALL_CROWD: Scenario = Scenario {
    name: "call-crowd",
    operation: "one call as in 'call-outside', from several plain threads at the same time: each \
                thread calls 16 actors in turn, which live on 2 workers",
    contenders: |_: &Effort| {
        let crowd = |threads| {
            let contender = Contender::fitted("garrick", move |ops| crowd(ops, threads));
            contender.with("threads", threads).with("workers", WORKERS)
        };
        [2, 4].map(crowd).into()
    },
};

/// Number of workers that run the [`CALLED`] actors. Several threads call these actors.
const WORKERS: usize = 2;
/// Number of actors that are called.
const CALLED: u64 = 16;

/// A question: a number `n`, and the reply for the answer, which is `n + 1`.
pub(super) struct Question(pub(super) u64, pub(super) Reply<u64>);

/// An actor that answers each question.
pub(super) struct Answerer;

impl Actor for Answerer {
    type Msg = Question;
    type Outcome = ();
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, Question(number, reply): Question, _: &mut Context<'_, Question>) {
        reply.send(number + 1);
    }
}

/// An actor that asks again after every answer, by the method that `WAY` selects.
pub(super) struct Asker<const WAY: u8> {
    /// Actor that answers the questions.
    answerer: Address<Question>,
    /// The answer after which the asker stops.
    last: u64,
    /// Sender for the notification that the asker stops.
    done: mpsc::Sender<()>,
}

impl<const WAY: u8> Asker<WAY> {
    /// Returns an asker that asks `asks` questions. Its first message, `Ok(0)`, makes it ask the
    /// first question.
    pub(super) fn new(answerer: Address<Question>, asks: u64, done: mpsc::Sender<()>) -> Self {
        Self {
            answerer,
            last: asks,
            done,
        }
    }
}

impl<const WAY: u8> Actor for Asker<WAY> {
    type Msg = std::result::Result<u64, NoReply>;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, answer: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        match answer {
            Ok(number) if number < self.last => {
                let question = |reply| Question(number, reply);
                match WAY {
                    WITHIN => cx.ask_within(HOUR, &self.answerer, question, |answer| answer),
                    ONCE => {
                        let captured = self.answerer.clone();
                        cx.ask_once(&self.answerer, question, move |answer| {
                            drop(captured);
                            answer
                        });
                    }
                    _ => cx.ask(&self.answerer, question, |answer| answer),
                }
                Next::Continue
            }
            Ok(_) => sent(&self.done.send(())),
            Err(_) => Next::Stop,
        }
    }
}

fn ask<const WAY: u8>(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let answerer = local.spawn(Answerer);
        let asker = Asker::<WAY>::new(answerer, ops, done);
        send_in(&local.spawn(asker), Ok(0));
    });
    waiting.try_recv()?;
    measured
}

/// An actor that asks [`ALL`] questions at the same time. After all answers, it asks again.
struct AsksAll {
    /// Actors to ask, with one entry for each of the [`ALL`] questions.
    answerers: Vec<Address<Question>>,
    /// Number of remaining rounds.
    left: u64,
    /// Sender for the notification that the asker stops.
    done: mpsc::Sender<()>,
}

impl Actor for AsksAll {
    type Msg = Vec<std::result::Result<u64, NoReply>>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, answers: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        if !answers.iter().all(std::result::Result::is_ok) {
            return Next::Stop;
        }
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        self.left -= 1;
        cx.ask_all(
            &self.answerers,
            |reply| Question(1, reply),
            |answers| answers,
        );
        Next::Continue
    }
}

fn ask_all(ops: u64) -> Result<Measured> {
    let rounds = ops.div_ceil(ALL);
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(rounds * ALL, |local| {
        let answerer = local.spawn(Answerer);
        let asks = AsksAll {
            answerers: (0..ALL).map(|_| answerer.clone()).collect(),
            left: rounds,
            done,
        };
        send_in(&local.spawn(asks), Vec::new());
    });
    waiting.try_recv()?;
    measured
}

/// Calls the actor `answerer` with `number`. Not inlined, so that all scenarios measure the same
/// code.
#[inline(never)]
fn call(answerer: &Address<Question>, number: u64) -> std::result::Result<u64, NoReply> {
    answerer.call(|reply| Question(number, reply)).wait()
}

/// Asks at least `ops` questions from `threads` plain threads.
fn crowd(ops: u64, threads: u64) -> Result<Measured> {
    let system = builder().workers(WORKERS).start()?;
    let spawn = |_| system.spawn(Answerer);
    let called = (0..CALLED)
        .map(spawn)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let each = ops.div_ceil(threads);
    let caller = |thread: u64| {
        let called = &called;
        move || {
            let starts = (thread * CALLED / threads) as usize;
            let actors = called.iter().cycle().skip(starts);
            for (number, answerer) in (0..each).zip(actors) {
                call(answerer, number)?;
            }
            Ok::<_, NoReply>(())
        }
    };
    let watch = Stopwatch::start(Clock::Process);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(caller(thread)))
            .collect();
        callers
            .into_iter()
            .try_for_each(|caller| caller.join().expect("a caller does not panic"))
    })?;
    Ok(Measured::new(each * threads, watch.stop()))
}

/// Asks an actor `ops` questions from a plain thread, one after another.
fn outside(
    ops: u64,
    ask: impl Fn(&Address<Question>, u64) -> std::result::Result<u64, NoReply>,
) -> Result<Measured> {
    let system = worker("answerer")?;
    let answerer = system.spawn(Answerer)?;
    let watch = Stopwatch::start(Clock::Process);
    let mut number = 0;
    while number < ops {
        number = ask(&answerer, number)?;
    }
    Ok(Measured::new(ops, watch.stop()))
}
