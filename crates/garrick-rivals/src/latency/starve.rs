//! Benchmark of starvation. An actor with a message should run even if other actors are always
//! busy.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use garrick_measure::Result;

use super::busy::{Company, Turns};
use super::peers::{Peer, peers};
use super::turns::{Contender, in_turns, median, shown};
use super::work::Work;
use super::{WAIT_MAX, told};
use crate::actors::framework::{Flow, Role};

/// The parameters of a round: the number of busy actors, and the maximum time to wait until the
/// idle actors have handled their messages.
#[derive(Debug, Clone, Copy)]
struct Plan {
    busy: usize,
    wait: Duration,
}

const WORKERS: usize = 2;
/// Time for which a busy actor works in each turn.
const TURN: Duration = Duration::from_millis(1);
/// Number of actors that are idle until they get a message. Each of these actors gets one message.
const IDLERS: usize = 20;

/// An idle actor, which reports the arrival of its message.
struct Idler {
    turns: Arc<Turns>,
    /// Number of turns that each busy actor had run when this actor was created, shortly before the
    /// message to this actor was sent.
    before: Vec<u64>,
    told: Sender<(Instant, u64)>,
}

impl<F: Peer> Role<F> for Idler {
    type Message = ();

    async fn receive(&mut self, (): ()) -> Flow {
        let turns = self.turns.most_since(&self.before);
        // A driver that has given up no longer receives.
        let _ = self.told.send((Instant::now(), turns));
        Flow::Continue
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Round {
    handled: usize,
    /// Maximum number of turns that a busy actor ran from the creation of an idle actor until the
    /// idle actor handled its message.
    turns: u64,
    /// Time from the first send until the last of the handled messages was handled.
    time: Duration,
}

fn contender<F: Peer>() -> Contender<Plan, Round> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(WORKERS, round::<F>(*plan)),
    }
}

async fn round<F: Peer>(plan: Plan) -> Round {
    let company = Company::gather::<F>(plan.busy, Work::of(TURN)).await;
    company.wait_for_all();
    let (told, heard) = mpsc::channel();
    let mut idlers = Vec::new();
    for _ in 0..IDLERS {
        let idler = Idler {
            turns: company.turns.clone(),
            before: company.turns.all(),
            told: told.clone(),
        };
        idlers.push(F::place(idler).await);
    }
    let begin = Instant::now();
    for idler in &idlers {
        F::tell::<Idler>(idler, ()).await;
    }
    let mut round = Round::default();
    while round.handled < IDLERS {
        let left = (begin + plan.wait).saturating_duration_since(Instant::now());
        let Ok((at, turns)) = heard.recv_timeout(left) else {
            break;
        };
        round.handled += 1;
        round.turns = round.turns.max(turns);
        round.time = round.time.max(at - begin);
    }
    company.disperse();
    round
}

pub(super) fn section(quick: bool) -> Result<String> {
    let rounds = if quick { 1 } else { 5 };
    let mut rows = Vec::new();
    for busy in [2, 3, 4] {
        let plan = Plan {
            busy,
            wait: WAIT_MAX,
        };
        for (name, rounds) in in_turns(&peers!(contender), &plan, rounds)? {
            rows.push([
                busy.to_string(),
                name.to_owned(),
                median(&rounds, |round| round.handled).to_string(),
                median(&rounds, |round| round.turns).to_string(),
                shown(median(&rounds, |round| round.time)),
            ]);
        }
    }
    let sentence = format!(
        "starve: {IDLERS} messages from outside to {IDLERS} idle actors on {WORKERS} workers, \
         beside busy actors that send to themselves and work for 1 ms per turn. The table shows \
         how many messages were handled within {WAIT_MAX:?}, and when the last of these was \
         handled, in turns of the busiest actor and in time. Medians of {rounds} rounds"
    );
    let header = ["busy", "contender", "handled", "turns", "time"];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_comes_to_an_end_whoever_was_starved() {
        let plan = Plan {
            busy: 3,
            wait: Duration::from_millis(50),
        };
        for (name, rounds) in
            in_turns(&peers!(contender), &plan, 1).expect("the system can start threads")
        {
            assert!(rounds[0].handled <= IDLERS, "{name}");
        }
    }
}
