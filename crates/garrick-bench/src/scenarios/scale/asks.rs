//! Many questions to one actor.

use std::time::Duration;

use garrick::{Actor, Address, Context, Local, Next, NoReply, Reply};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::super::actors::{send_in, sent};
use super::{Tally, sized};

pub(crate) const ASKS: Scenario = Scenario {
    name: "scale-asks",
    operation: "one of size questions with a time limit that one actor asks another, on one \
                thread, with all questions open at the same time: the question is asked, and then \
                answered, or its time limit passes",
    contenders,
};

const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

fn contenders(effort: &Effort) -> Vec<Contender> {
    let answered = sized(effort, &SIZES, |size| asked(size, true));
    let late = sized(effort, &SIZES, |size| asked(size, false));
    let answered = answered.into_iter().map(|row| row.with("end", "answered"));
    let late = late.into_iter().map(|row| row.with("end", "late"));
    answered.chain(late).collect()
}

/// An actor that keeps questions until it has received all of them. Then it answers all of them, or
/// none.
struct Asked {
    questions: Vec<Reply<()>>,
    size: usize,
    answers: bool,
}

impl Actor for Asked {
    type Msg = Reply<()>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, question: Reply<()>, _: &mut Context<'_, Reply<()>>) {
        self.questions.push(question);
        if self.answers && self.questions.len() == self.size {
            self.questions
                .drain(..)
                .for_each(|question| question.send(()));
        }
    }
}

enum Msg {
    Ask(u64),
    Answer(std::result::Result<(), NoReply>),
}

struct Asker {
    to: Address<Reply<()>>,
    limit: Duration,
    answers: bool,
    over: Tally,
}

/// Number of questions that are asked in one turn.
const LITTER: u64 = 256;

impl Actor for Asker {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Ask(left) => {
                for _ in 0..left.min(LITTER) {
                    cx.ask_within(self.limit, &self.to, |reply| reply, Msg::Answer);
                }
                match left.saturating_sub(LITTER) {
                    0 => Next::Continue,
                    left => sent(&cx.send(&cx.address(), Msg::Ask(left))),
                }
            }
            Msg::Answer(answer) => {
                assert_eq!(answer.is_ok(), self.answers);
                self.over.count();
                Next::Continue
            }
        }
    }
}

fn asked(size: u64, answers: bool) -> Result<Measured> {
    let local = Local::new()?;
    let over = Tally::default();
    let to = local.spawn(Asked {
        questions: Vec::new(),
        size: usize::try_from(size)?,
        answers,
    });
    let asker = local.spawn(Asker {
        to,
        // Long enough that all questions have been asked before the first time limit passes.
        limit: Duration::from_millis(if answers { 3_600_000 } else { 500 }),
        answers,
        over: over.clone(),
    });
    let stopwatch = Stopwatch::start(Clock::Thread);
    send_in(&asker, Msg::Ask(size));
    local.run_until(|| over.get() == size);
    Ok(Measured::new(size, stopwatch.stop()))
}
