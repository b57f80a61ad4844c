//! Questions to an actor and their answers.

use std::sync::mpsc;
use std::time::Duration;

use garrick::{Actor, Address, Context, Next, NoReply, Reply};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{measure_here, send_in, sent, worker};

pub(super) const ASK: Scenario = Scenario {
    name: "ask",
    operation: "one ask between two actors on the same worker: question sent and handled, answer sent and \
                handled, and then the next one is asked; one is open at a time",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask::<false>)],
};

pub(super) const ASK_WITHIN: Scenario = Scenario {
    name: "ask-within",
    operation: "one ask as that of ask, by ask_within an hour",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask::<true>)],
};

const HOUR: Duration = Duration::from_secs(3_600);

pub(super) const ASK_OUTSIDE: Scenario = Scenario {
    name: "ask-outside",
    operation: "one ask from a plain thread of an actor on a worker of its own, by Address::ask and .wait(): \
                question sent and handled, answer sent and received; one is open at a time",
    contenders: |_: &Effort| {
        let ask = |answerer: &Address<Question>, number| {
            answerer.ask(|reply| Question(number, reply)).wait()
        };
        vec![Contender::fitted("garrick", move |ops| outside(ops, ask))]
    },
};

pub(super) const CALL_OUTSIDE: Scenario = Scenario {
    name: "call-outside",
    operation: "the same by Address::call and .wait(): the question is sent when the answer is waited for, and the thread \
                that waits may run the actor itself; one is open at a time",
    contenders: |_: &Effort| {
        let call = |answerer: &Address<Question>, number| {
            answerer.call(|reply| Question(number, reply)).wait()
        };
        vec![Contender::fitted("garrick", move |ops| outside(ops, call))]
    },
};

/// A question for the number plus one.
pub(super) struct Question(pub(super) u64, pub(super) Reply<u64>);

/// Answers each question.
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

/// Asks again after every answer. `WITHIN` selects a time limit of an hour instead of none.
pub(super) struct Asker<const WITHIN: bool> {
    /// Actor that answers.
    answerer: Address<Question>,
    /// Answer after which the asker stops.
    last: u64,
    /// Channel that reports the end.
    done: mpsc::Sender<()>,
}

impl<const WITHIN: bool> Asker<WITHIN> {
    /// Returns an asker that asks this often, starting at its first message, which is `Ok(0)`.
    pub(super) fn new(answerer: Address<Question>, asks: u64, done: mpsc::Sender<()>) -> Self {
        Self {
            answerer,
            last: asks,
            done,
        }
    }
}

impl<const WITHIN: bool> Actor for Asker<WITHIN> {
    type Msg = std::result::Result<u64, NoReply>;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, answer: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        match answer {
            Ok(number) if number < self.last => {
                let question = |reply| Question(number, reply);
                if WITHIN {
                    cx.ask_within(HOUR, &self.answerer, question, |answer| answer);
                } else {
                    cx.ask(&self.answerer, question, |answer| answer);
                }
                Next::Continue
            }
            Ok(_) => sent(&self.done.send(())),
            Err(_) => Next::Stop,
        }
    }
}

fn ask<const WITHIN: bool>(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let answerer = local.spawn(Answerer);
        let asker = Asker::<WITHIN>::new(answerer, ops, done);
        send_in(&local.spawn(asker), Ok(0));
    });
    waiting.try_recv()?;
    measured
}

/// Makes a plain thread ask this many questions, one after the other.
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
