//! Questions, and the duties of tasks and threads to answer them.

use std::sync::atomic::Ordering::SeqCst;

use garrick_sched::{Address, NoReply, Reply};

use crate::frame;
use crate::ledger::{self, Kind, REPLIES_TO_TASKS, Token, fate};
use crate::shapes::{Cargo, Letter, Shape};
use crate::will::Will;

/// An answer, with the number of its question.
pub(crate) struct Answer {
    pub(crate) question: u32,
    _token: Token,
    _will: Will,
}

/// The duty to answer a question.
pub(crate) struct Owing {
    pub(crate) reply: Reply<Answer>,
    pub(crate) question: u32,
}

impl Owing {
    /// Answers the question. When the answer is dropped, the actions in `will` are performed.
    pub(crate) fn pay(self, will: Will) {
        let answer = Answer {
            question: self.question,
            _token: Token::new(Kind::Answer),
            _will: will,
        };
        self.reply.send(answer);
    }

    /// Makes a question whose answer comes to a task, as a message.
    pub(crate) fn to_task<M: Shape>(to: Address<M>, question: u32) -> Self {
        REPLIES_TO_TASKS.fetch_add(1, SeqCst);
        let reply = Reply::to_task(to, |answer| convert::<M>(answer, fate::CONVERTED));
        Self { reply, question }
    }

    /// Makes a question whose answer comes to a door. If the turn of the answer is undone, the door
    /// may get the answer and then a refusal.
    pub(crate) fn to_door<M: Shape>(to: Address<M>, question: u32) -> Self {
        let reply = Reply::to_task(to, |answer| convert::<M>(answer, 0));
        Self { reply, question }
    }
}

fn convert<M: Shape>(answer: Result<Answer, NoReply>, fates: u32) -> M {
    if let Err(why) = &answer
        && *why != NoReply::Dropped
    {
        ledger::wrong(format!("a task hears: {why}"));
    }
    let cargo = Cargo {
        answer: Some(answer),
        ..Cargo::default()
    };
    let letter = Letter::unsaid(cargo, fates);
    frame::stage(letter.token.id());
    M::pack(letter)
}

/// Checks the answer that a waiting thread got.
pub(crate) fn check(question: u32, answer: &Result<Answer, NoReply>, allowed: &[NoReply]) {
    match answer {
        Ok(answer) if answer.question == question => {}
        Ok(answer) => ledger::wrong(format!(
            "question {question:#x} got the answer to {:#x}",
            answer.question
        )),
        Err(why) if *why == NoReply::Dropped || allowed.contains(why) => {}
        Err(why) => ledger::wrong(format!("question {question:#x} got: {why}")),
    }
}
