//! Work of a soak: questions with a time limit. Most are answered in time, some are never answered,
//! and some are answered close to the limit.

use std::time::Duration;

use garrick::{Actor, Address, Ask, Context, Handle, Next, NoReply, Reply, System};
use garrick_measure::{Result, sent};

use super::part::{Outcome, Part, outcome, same};

/// Number of questions that the actor asks in a round.
const ASKS: u64 = 10_000;

/// Number of the actor's questions that wait for an answer at the same time.
const OPEN: u64 = 64;

/// Length of the cycle of question kinds. In each cycle, one question is never answered, one is
/// rejected, and one is answered close to its time limit.
const KINDS: u64 = 64;

/// Number of questions that a thread asks in each round by each of three methods. The same thread
/// starts the rounds.
const FROM_THREAD: u64 = 100;

const HOUR: Duration = Duration::from_secs(3_600);

/// Time limit of a question that is never answered.
const SHORT: Duration = Duration::from_millis(1);

/// Time limit of a question that is answered at about the moment when the limit is reached.
const TIGHT: Duration = Duration::from_micros(200);

pub(super) struct Asks {
    oracle: Address<Question>,
    asker: Address<Msg>,
    round: Option<Ask<Outcome>>,
    /// Number of right answers in this round to questions from the thread that starts the rounds.
    answered: u64,
}

impl Asks {
    pub(super) fn new(system: &System) -> Result<Self> {
        let oracle = system.spawn(Oracle::default())?;
        let asker = system.spawn(Asker::new(oracle.clone()))?;
        Ok(Self {
            oracle,
            asker,
            round: None,
            answered: 0,
        })
    }
}

impl Part for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn begin(&mut self, system: &Handle) -> Result<()> {
        self.round = Some(self.asker.ask(Msg::Round));
        self.answered = 0;
        for number in 0..FROM_THREAD {
            let question = |reply| Question::Now(number, reply);
            let answers = [
                system.ask_within(HOUR, &self.oracle, question).wait()?,
                self.oracle.ask(question).wait()?,
                self.oracle.call(question).wait()?,
            ];
            self.answered += answers
                .into_iter()
                .filter(|it| *it == right(number))
                .count() as u64;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        let asked = outcome(self.round.take())?;
        Ok(asked
            + same(
                "right answers to the thread",
                self.answered,
                3 * FROM_THREAD,
            )?)
    }
}

/// Returns the right answer to the question with this number.
pub(super) fn right(number: u64) -> u64 {
    3 * number + 1
}

/// Messages to the oracle, an actor that answers questions.
pub(super) enum Question {
    /// Requests an immediate answer.
    Now(u64, Reply<u64>),
    /// Requests an answer after the time [`TIGHT`].
    Later(u64, Reply<u64>),
    /// Tells the receiver to keep the reply, and not to answer.
    Never(Reply<u64>),
    /// Tells the receiver to drop the reply at once.
    Refuse(Reply<u64>),
    /// Tells the receiver to drop all replies that it keeps. The askers of these questions no
    /// longer wait for an answer.
    Forget,
}

/// The oracle, an actor that answers questions, or keeps their replies.
#[derive(Default)]
pub(super) struct Oracle {
    kept: Vec<Reply<u64>>,
}

impl Actor for Oracle {
    type Msg = Question;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, question: Question, cx: &mut Context<'_, Question>) -> Next {
        match question {
            Question::Now(number, reply) => reply.send(right(number)),
            Question::Later(number, reply) => {
                let later = Question::Now(number, reply);
                return sent(&cx.send_after(TIGHT, &cx.address(), later));
            }
            Question::Never(reply) => self.kept.push(reply),
            Question::Refuse(reply) => drop(reply),
            Question::Forget => self.kept.clear(),
        }
        Next::Continue
    }
}

enum Msg {
    Round(Reply<Outcome>),
    Answer(u64, std::result::Result<u64, NoReply>),
}

/// Counts of how the questions of a round ended: answered, timed out, dropped, or with a wrong
/// outcome.
#[derive(Default)]
struct Ends {
    right: u64,
    timed_out: u64,
    dropped: u64,
    /// Number of questions that ended in another way than their kind requires.
    wrong: u64,
    /// Description of the first wrong outcome.
    first_wrong: Option<String>,
}

impl Ends {
    fn add(&mut self, number: u64, answer: std::result::Result<u64, NoReply>) {
        match (number % KINDS, answer) {
            (0, Err(NoReply::TimedOut)) | (2, Err(NoReply::TimedOut)) => self.timed_out += 1,
            (1, Err(NoReply::Dropped)) => self.dropped += 1,
            (2.., Ok(answer)) if answer == right(number) => self.right += 1,
            (_, other) => {
                self.wrong += 1;
                self.first_wrong
                    .get_or_insert_with(|| format!("question {number} ended with {other:?}"));
            }
        }
    }

    fn all(&self) -> u64 {
        self.right + self.timed_out + self.dropped + self.wrong
    }
}

struct Asker {
    oracle: Address<Question>,
    /// Sequence number of the next question. The first question of a round has the number 0.
    next: u64,
    ends: Ends,
    reply: Option<Reply<Outcome>>,
}

impl Asker {
    fn new(oracle: Address<Question>) -> Self {
        Self {
            oracle,
            next: 0,
            ends: Ends::default(),
            reply: None,
        }
    }

    /// Asks the next question, if there is one.
    fn ask(&mut self, cx: &Context<'_, Msg>) {
        if self.next == ASKS {
            return;
        }
        let number = self.next;
        self.next += 1;
        let (limit, kind): (_, fn(u64, Reply<u64>) -> Question) = match number % KINDS {
            0 => (SHORT, |_, reply| Question::Never(reply)),
            1 => (HOUR, |_, reply| Question::Refuse(reply)),
            2 => (TIGHT, Question::Later),
            _ => (HOUR, Question::Now),
        };
        let question = |reply| kind(number, reply);
        let convert = move |answer| Msg::Answer(number, answer);
        cx.ask_within(limit, &self.oracle, question, convert);
    }

    /// Checks the counts of the round. Returns the number of questions, or an error if a count is
    /// wrong.
    fn checked(&self) -> Outcome {
        let ends = &self.ends;
        if let Some(wrong) = &ends.first_wrong {
            return Err(wrong.clone());
        }
        same("questions refused", ends.dropped, number_of(1))?;
        let in_time = ends.timed_out.saturating_sub(number_of(0));
        if in_time > number_of(2) || ends.timed_out < number_of(0) {
            return Err(format!("{} questions ran out of time", ends.timed_out));
        }
        same("questions that have ended", ends.all(), ASKS)
    }
}

/// Returns the number of questions of this kind in a round.
fn number_of(kind: u64) -> u64 {
    (ASKS - kind).div_ceil(KINDS)
}

impl Actor for Asker {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Round(reply) => {
                self.reply = Some(reply);
                (self.next, self.ends) = (0, Ends::default());
                (0..OPEN).for_each(|_| self.ask(cx));
            }
            Msg::Answer(number, answer) => {
                self.ends.add(number, answer);
                self.ask(cx);
                if self.ends.all() == ASKS
                    && let Some(reply) = self.reply.take()
                {
                    reply.send(self.checked());
                    return sent(&cx.send(&self.oracle, Question::Forget));
                }
            }
        }
        Next::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_a_question_cannot_have_are_wrong() {
        let ended = |number, answer| {
            let mut ends = Ends::default();
            ends.add(number, answer);
            ends.first_wrong
        };
        for (number, answer) in [
            (0, Err(NoReply::TimedOut)),
            (KINDS + 1, Err(NoReply::Dropped)),
            (2, Err(NoReply::TimedOut)),
            (2, Ok(7)),
            (3, Ok(10)),
        ] {
            assert_eq!(ended(number, answer), None, "{number} {answer:?}");
        }
        for (number, answer) in [
            (0, Ok(1)),
            (1, Ok(4)),
            (2, Err(NoReply::Dropped)),
            (3, Ok(11)),
            (3, Err(NoReply::TimedOut)),
        ] {
            assert!(ended(number, answer).is_some(), "{number} {answer:?}");
        }
    }

    #[test]
    fn kinds_of_a_round_add_up() {
        let counted: u64 = (0..KINDS).map(number_of).sum();
        assert_eq!(counted, ASKS);
    }
}
