//! Big: many actors that ping one another. Each actor has one ping in flight at a time, to a random
//! actor.
//!
//! ```text
//!   Actor 3  -- Ping(3) -->  Actor 81        120 actors at once; after its last pong, an actor notifies the sink,
//!            <-- Pong(81) -                  which stops all actors once it was notified by all
//! ```
//!
//! Each actor draws the target of a ping from its own generator, which has the actor's number as
//! its seed. The target may be the actor itself.
//!
//! The run is correct if each actor has sent its pings, and each pong came from the actor to which
//! the last ping was sent. A plain loop draws the targets of all pings again. Each actor must have
//! answered as many pings as this loop has drawn for it.

use std::sync::Arc;

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, go_on, ours, run};
use super::work::Random;

pub(super) const BIG: Scenario = Scenario {
    name: "savina-big",
    operation: "one ping from an actor to a random one of 120 actors, and the pong that answers \
                it; each actor has one ping in flight",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of pings that each actor sends.
    pings: u64,
    actors: u32,
}

const STANDARD: Size = Size {
    pings: 20_000,
    actors: 120,
};

const QUICK: Size = Size {
    pings: 200,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("pings_per_actor", size.pings.into()),
        ("actors", size.actors.into()),
    ];
    ours(&BIG, size, &params, big)
}

/// The number of an actor, and the counts of its pings and pongs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tally {
    /// Number of the actor.
    id: u32,
    /// Number of pings that the actor has sent.
    pings: u64,
    /// Number of pings that the actor has answered.
    answered: u64,
    /// Number of received pongs that were not sent by the target of the latest ping.
    strays: u64,
}

/// Addresses of all actors. The index of an address is the actor's number.
type Neighbors = Arc<[Address<Message>]>;

/// An actor that pings other actors.
struct Pinger {
    tally: Tally,
    /// Total number of pings to send.
    pings: u64,
    random: Random,
    /// Number of the actor to which the latest ping was sent, and which must send the next pong.
    /// `None` before the first ping.
    expected: Option<u32>,
    /// Addresses of all actors, including this one. Empty until the message [`Message::Neighbors`]
    /// arrives.
    neighbors: Neighbors,
    sink: Address<ToSink>,
    reports: Reports<Tally>,
}

/// Messages that a [`Pinger`] handles.
enum Message {
    /// Passes the addresses of all actors.
    Neighbors(Neighbors),
    /// Starts the first ping.
    Begin,
    /// Requests a pong for the actor with this number.
    Ping(u32),
    /// Reports that the actor with this number has answered.
    Pong(u32),
    /// Reports that all actors are done.
    Exit,
}

/// The sink, which waits until all actors are done.
struct Sink {
    /// Number of actors that are not done yet.
    left: u32,
    neighbors: Neighbors,
}

/// Messages that a [`Sink`] handles.
enum ToSink {
    /// Passes the addresses of all actors.
    Neighbors(Neighbors),
    /// Reports that an actor is done.
    Done,
}

impl Pinger {
    fn send(&self, to: u32, message: Message, cx: &Context<'_, Message>) -> Next {
        match self.neighbors.get(to as usize) {
            Some(to) => go_on(cx.send(to, message).is_ok()),
            None => cx.fail("there is no neighbor with this number"),
        }
    }

    /// Sends the next ping to a random actor, or reports that this actor is done.
    fn go(&mut self, cx: &Context<'_, Message>) -> Next {
        if self.tally.pings == self.pings {
            return go_on(cx.send(&self.sink, ToSink::Done).is_ok());
        }
        let target = self.random.below(self.neighbors.len() as u32);
        self.tally.pings += 1;
        self.expected = Some(target);
        self.send(target, Message::Ping(self.tally.id), cx)
    }
}

impl Actor for Pinger {
    type Msg = Message;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Message, cx: &mut Context<'_, Message>) -> Next {
        match message {
            Message::Neighbors(all) => self.neighbors = all,
            Message::Begin => return self.go(cx),
            Message::Ping(from) => {
                self.tally.answered += 1;
                return self.send(from, Message::Pong(self.tally.id), cx);
            }
            Message::Pong(from) => {
                self.tally.strays += u64::from(self.expected != Some(from));
                return self.go(cx);
            }
            Message::Exit => {
                self.reports.tell(self.tally);
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

impl Actor for Sink {
    type Msg = ToSink;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToSink, cx: &mut Context<'_, ToSink>) -> Next {
        match message {
            ToSink::Neighbors(all) => self.neighbors = all,
            ToSink::Done => {
                self.left -= 1;
                if self.left == 0 {
                    let mut all = self.neighbors.iter();
                    let well = all.all(|one| cx.send(one, Message::Exit).is_ok());
                    return if well { Next::Stop } else { Next::Fail };
                }
            }
        }
        Next::Continue
    }
}

fn big(size: Size, workers: usize) -> Result<Measured> {
    let (tallies, span) = run(workers, size.actors as usize, |on, reports| {
        let sink = on.spawn(Sink {
            left: size.actors,
            neighbors: Arc::default(),
        })?;
        let mut all = Vec::new();
        for id in 0..size.actors {
            all.push(on.spawn(pinger(id, size, &sink, reports))?);
        }
        let all = Neighbors::from(all);
        sink.send(ToSink::Neighbors(all.clone()))?;
        for one in &*all {
            one.send(Message::Neighbors(all.clone()))?;
        }
        for one in &*all {
            one.send(Message::Begin)?;
        }
        Ok(())
    })?;
    check(size, &tallies)?;
    Ok(Measured::new(size.pings * u64::from(size.actors), span))
}

fn pinger(id: u32, size: Size, sink: &Address<ToSink>, reports: &Reports<Tally>) -> Pinger {
    Pinger {
        tally: Tally {
            id,
            pings: 0,
            answered: 0,
            strays: 0,
        },
        pings: size.pings,
        random: Random::new(u64::from(id)),
        expected: None,
        neighbors: Arc::default(),
        sink: sink.clone(),
        reports: reports.clone(),
    }
}

fn check(size: Size, tallies: &[Tally]) -> Result<()> {
    let answered = drawn(size);
    for tally in tallies {
        let id = tally.id;
        agree(format!("pings of actor {id}"), tally.pings, size.pings)?;
        agree(format!("stray pongs to actor {id}"), tally.strays, 0)?;
        let what = format!("pings that actor {id} has answered");
        agree(what, tally.answered, answered[id as usize])?;
    }
    Ok(())
}

/// Returns how often the random number generators choose each actor as the target of a ping.
fn drawn(size: Size) -> Vec<u64> {
    let mut drawn = vec![0; size.actors as usize];
    for id in 0..size.actors {
        let mut random = Random::new(u64::from(id));
        for _ in 0..size.pings {
            drawn[random.below(size.actors) as usize] += 1;
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        pings: 20,
        actors: 5,
    };

    #[test]
    fn every_ping_is_answered() {
        for workers in [1, 2] {
            assert_eq!(big(TINY, workers).unwrap().ops, 100);
        }
    }

    #[test]
    fn whatever_is_wrong_with_an_actor_is_found() {
        let right = Tally {
            id: 1,
            pings: 20,
            answered: drawn(TINY)[1],
            strays: 0,
        };
        assert!(check(TINY, &[right]).is_ok());
        let strays = Tally { strays: 1, ..right };
        assert!(refused(check(TINY, &[right, strays])).starts_with("stray pongs to actor 1: 1"));
        let pings = Tally { pings: 19, ..right };
        assert!(refused(check(TINY, &[pings])).starts_with("pings of actor 1: 19"));
        let answered = right.answered + 1;
        let answered = Tally { answered, ..right };
        assert!(refused(check(TINY, &[answered])).starts_with("pings that actor 1 has answered"));
    }
}
