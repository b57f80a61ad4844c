//! Counting: a flood of messages to one actor.
//!
//! ```text
//!   Producer  -- Increment, a million times in one turn -->  Counter
//!             -- Retrieve(reply) ------------------------->
//!             <---------------------------- the count -----
//! ```
//!
//! The run is correct if the count equals the number of increments.

use garrick::{Actor, Address, Context, Next, NoReply, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, ours, run};

pub(super) const COUNTING: Scenario = Scenario {
    name: "savina-counting",
    operation: "one message to an actor that counts it; another actor sends all messages in a \
                single turn",
    contenders,
};

/// Number of messages in a full run.
const MESSAGES: u64 = 1_000_000;

const MESSAGES_QUICK: u64 = 50_000;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let messages = effort.pick(MESSAGES, MESSAGES_QUICK);
    ours(
        &COUNTING,
        messages,
        &[("messages", messages.into())],
        counting,
    )
}

/// An actor that counts increments. The field is the count.
struct Counter(u64);

/// Messages that a [`Counter`] handles.
enum Count {
    Increment,
    /// Requests the count, and stops the counter.
    Retrieve(Reply<u64>),
}

/// An actor that sends the increments to the counter.
struct Producer {
    /// Counter that receives the increments.
    counter: Address<Count>,
    /// Number of increments to send.
    messages: u64,
    reports: Reports<u64>,
}

/// Messages that a [`Producer`] handles.
enum Produce {
    /// Starts sending all increments.
    Begin,
    /// Reports the count.
    Counted(std::result::Result<u64, NoReply>),
}

impl Actor for Counter {
    type Msg = Count;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Count, _: &mut Context<'_, Count>) -> Next {
        match message {
            Count::Increment => {
                self.0 += 1;
                Next::Continue
            }
            Count::Retrieve(reply) => {
                reply.send(self.0);
                Next::Stop
            }
        }
    }
}

impl Actor for Producer {
    type Msg = Produce;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Produce, cx: &mut Context<'_, Produce>) -> Next {
        match message {
            Produce::Begin => {
                for _ in 0..self.messages {
                    if cx.send(&self.counter, Count::Increment).is_err() {
                        return Next::Fail;
                    }
                }
                cx.ask(&self.counter, Count::Retrieve, Produce::Counted);
                Next::Continue
            }
            Produce::Counted(Ok(count)) => {
                self.reports.tell(count);
                Next::Stop
            }
            Produce::Counted(Err(none)) => cx.fail(none),
        }
    }
}

fn counting(messages: u64, workers: usize) -> Result<Measured> {
    let (counts, span) = run(workers, 1, |on, reports| {
        let producer = on.spawn(Producer {
            counter: on.spawn(Counter(0))?,
            messages,
            reports: reports.clone(),
        })?;
        Ok(producer.send(Produce::Begin)?)
    })?;
    check(messages, &counts)?;
    Ok(Measured::new(messages, span))
}

fn check(messages: u64, counts: &[u64]) -> Result<()> {
    counts
        .iter()
        .try_for_each(|count| agree("the count", *count, messages))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn every_message_is_counted() {
        for workers in [1, 2] {
            for messages in [0, 1, 5_000] {
                assert_eq!(counting(messages, workers).unwrap().ops, messages);
            }
        }
    }

    #[test]
    fn a_wrong_count_is_found() {
        assert_eq!(refused(check(10, &[9])), "the count: 9, not 10");
    }
}
