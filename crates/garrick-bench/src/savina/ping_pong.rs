//! Ping pong: two actors and one message in flight.
//!
//! ```text
//!   Pinger  -- Ping(own address) -->  Ponger
//!     | ^   <-------- Pong ---------
//!     |_| Next, to itself, before each ping but the first, which main asks for
//! ```
//!
//! The run is correct if the pinger has received all pongs, and the ponger has received all pings.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};

pub(super) const PING_PONG: Scenario = Scenario {
    name: "savina-ping-pong",
    operation: "one ping from an actor to another and the pong that answers it, after a message of \
                the first actor to itself: three messages",
    contenders,
};

/// Number of pings in a full run.
const PINGS: u64 = 40_000;

const PINGS_QUICK: u64 = 4_000;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let pings = effort.pick(PINGS, PINGS_QUICK);
    ours(&PING_PONG, pings, &[("pings", pings.into())], ping_pong)
}

/// Name of an actor, and the number of pings or pongs that it has received.
type Count = (&'static str, u64);

/// An actor that sends pings. The next ping is sent after the answer to the previous one.
struct Pinger {
    /// Actor that answers the pings.
    ponger: Address<ToPonger>,
    /// Number of pings that have not been sent yet.
    left: u64,
    /// Number of pongs received so far.
    pongs: u64,
    reports: Reports<Count>,
}

/// Messages that a [`Pinger`] handles.
enum ToPinger {
    /// Starts the next ping.
    Next,
    /// Reports that a ping was answered.
    Pong,
}

/// An actor that answers each ping with a pong.
struct Ponger {
    /// Number of pings received so far.
    pings: u64,
    reports: Reports<Count>,
}

/// Messages that a [`Ponger`] handles.
enum ToPonger {
    /// Requests a pong for this actor.
    Ping(Address<ToPinger>),
    /// Reports that no more pings will come.
    Stop,
}

impl Actor for Pinger {
    type Msg = ToPinger;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToPinger, cx: &mut Context<'_, ToPinger>) -> Next {
        match message {
            ToPinger::Next => {
                self.left -= 1;
                go_on(cx.send(&self.ponger, ToPonger::Ping(cx.address())).is_ok())
            }
            ToPinger::Pong => {
                self.pongs += 1;
                if self.left > 0 {
                    return go_on(cx.send(&cx.address(), ToPinger::Next).is_ok());
                }
                self.reports.tell(("pongs", self.pongs));
                end(cx.send(&self.ponger, ToPonger::Stop).is_ok())
            }
        }
    }
}

impl Actor for Ponger {
    type Msg = ToPonger;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToPonger, cx: &mut Context<'_, ToPonger>) -> Next {
        match message {
            ToPonger::Ping(pinger) => {
                self.pings += 1;
                go_on(cx.send(&pinger, ToPinger::Pong).is_ok())
            }
            ToPonger::Stop => {
                self.reports.tell(("pings", self.pings));
                Next::Stop
            }
        }
    }
}

fn ping_pong(pings: u64, workers: usize) -> Result<Measured> {
    let (counts, span) = run(workers, 2, |on, reports| {
        let ponger = on.spawn(Ponger {
            pings: 0,
            reports: reports.clone(),
        })?;
        let pinger = on.spawn(Pinger {
            ponger,
            left: pings,
            pongs: 0,
            reports: reports.clone(),
        })?;
        Ok(pinger.send(ToPinger::Next)?)
    })?;
    check(pings, &counts)?;
    Ok(Measured::new(pings, span))
}

fn check(pings: u64, counts: &[Count]) -> Result<()> {
    counts
        .iter()
        .try_for_each(|(what, count)| agree(what, *count, pings))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn every_ping_is_answered() {
        for workers in [1, 2] {
            for pings in [1, 2, 100] {
                assert_eq!(ping_pong(pings, workers).unwrap().ops, pings);
            }
        }
    }

    #[test]
    fn a_ping_that_is_missing_is_found() {
        let said = refused(check(3, &[("pongs", 3), ("pings", 2)]));
        assert_eq!(said, "pings: 2, not 3");
    }
}
