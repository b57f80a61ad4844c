//! Thread ring: one token that goes round a ring of many actors. In other versions of this
//! benchmark, the members are threads.
//!
//! ```text
//!   Member 0  -- Token(99,999) -->  Member 1  -- Token(99,998) -->  ..  Member 99  -->  Member 0  -->  ..
//! ```
//!
//! The member that receives the token with zero hops left does not pass the token on. Instead, this
//! member sends a stop message, which goes round once and stops all members.
//!
//! The run is correct if all members together have received the token once for each hop, and once
//! from the main thread.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};

pub(super) const THREAD_RING: Scenario = Scenario {
    name: "savina-thread-ring",
    operation: "one hop of the only token in a ring of actors",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of members of the ring.
    actors: u64,
    /// Number of times that the token is passed to the next member.
    hops: u64,
}

const STANDARD: Size = Size {
    actors: 100,
    hops: 100_000,
};

const QUICK: Size = Size {
    hops: 5_000,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [("actors", size.actors.into()), ("hops", size.hops.into())];
    ours(&THREAD_RING, size, &params, thread_ring)
}

/// A member of the ring, which passes the token on.
struct Member {
    /// Next member of the ring. `None` until the message with its address arrives.
    next: Option<Address<Message>>,
    /// Number of times that this member has received the token so far.
    tokens: u64,
    members: u64,
    reports: Reports<u64>,
}

/// Messages that a [`Member`] handles.
enum Message {
    /// Passes the address of the next member.
    Next(Address<Message>),
    /// Token with the number of hops left.
    Token(u64),
    /// Stops all members of the ring.
    End {
        /// Number of members that must still get this message after the receiver.
        left: u64,
        /// Number of times that the token has visited the members before the receiver. Each member
        /// adds its own count before it passes this message on.
        tokens: u64,
    },
}

impl Actor for Member {
    type Msg = Message;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Message, cx: &mut Context<'_, Message>) -> Next {
        match (message, &self.next) {
            (Message::Next(next), _) => self.next = Some(next),
            (Message::Token(left), Some(next)) => {
                self.tokens += 1;
                let message = match left {
                    0 => Message::End {
                        left: self.members - 1,
                        tokens: 0,
                    },
                    _ => Message::Token(left - 1),
                };
                return go_on(cx.send(next, message).is_ok());
            }
            (Message::End { left: 0, tokens }, _) => {
                self.reports.tell(tokens + self.tokens);
                return Next::Stop;
            }
            (Message::End { left, tokens }, Some(next)) => {
                let tokens = tokens + self.tokens;
                let left = left - 1;
                return end(cx.send(next, Message::End { left, tokens }).is_ok());
            }
            (Message::Token(_) | Message::End { .. }, None) => {
                return cx.fail("the next member is unknown");
            }
        }
        Next::Continue
    }
}

fn thread_ring(size: Size, workers: usize) -> Result<Measured> {
    let (tokens, span) = run(workers, 1, |on, reports| {
        let mut ring = Vec::new();
        for _ in 0..size.actors {
            ring.push(on.spawn(Member {
                next: None,
                tokens: 0,
                members: size.actors,
                reports: reports.clone(),
            })?);
        }
        for (member, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            member.send(Message::Next(next.clone()))?;
        }
        Ok(ring[0].send(Message::Token(size.hops))?)
    })?;
    check(size, &tokens)?;
    Ok(Measured::new(size.hops, span))
}

fn check(size: Size, tokens: &[u64]) -> Result<()> {
    let expected = size.hops + 1;
    tokens
        .iter()
        .try_for_each(|tokens| agree("times that a member had the token", *tokens, expected))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn the_token_makes_all_hops_in_rings_of_any_size() {
        for workers in [1, 2] {
            for (actors, hops) in [(1, 3), (2, 0), (3, 10), (10, 5)] {
                let size = Size { actors, hops };
                assert_eq!(thread_ring(size, workers).unwrap().ops, hops);
            }
        }
    }

    #[test]
    fn a_hop_that_is_missing_is_found() {
        let said = refused(check(QUICK, &[5_000]));
        assert_eq!(said, "times that a member had the token: 5000, not 5001");
    }
}
