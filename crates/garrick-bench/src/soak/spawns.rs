//! Work of a soak: actors that are created, handle one message each, and stop.

use std::sync::mpsc;

use garrick::{Actor, Address, Ask, Context, Handle, Next, Reply, System, behavior};
use garrick_measure::{Result, sent};

use super::part::{Outcome, PATIENCE, Part, outcome, same, sum_below};

/// Number of actors that the nursery, an actor, creates in a round.
const CHILDREN: u64 = 5_000;

/// Number of actors that the nursery, an actor, creates in one turn.
const LITTER: u64 = 50;

/// Number of actors that a thread creates in each round. The same thread starts the rounds.
const FROM_THREAD: u64 = 200;

pub(super) struct Spawns {
    nursery: Address<Msg>,
    round: Option<Ask<Outcome>>,
    /// Receiver for the reports of the actors that were created in this round by the thread that
    /// starts the rounds.
    greetings: Option<mpsc::Receiver<u64>>,
}

impl Spawns {
    pub(super) fn new(system: &System) -> Result<Self> {
        Ok(Self {
            nursery: system.spawn(Nursery::default())?,
            round: None,
            greetings: None,
        })
    }
}

impl Part for Spawns {
    fn name(&self) -> &'static str {
        "spawned actors"
    }

    fn begin(&mut self, system: &Handle) -> Result<()> {
        self.round = Some(self.nursery.ask(Msg::Round));
        let (greet, greetings) = mpsc::channel();
        self.greetings = Some(greetings);
        for number in 0..FROM_THREAD {
            let greet = greet.clone();
            // The greeter stops when its only address is dropped, after it has handled its
            // messages.
            let greeter = system.spawn(behavior(move |number, _| sent(&greet.send(number))))?;
            greeter.send(number)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        let made = outcome(self.round.take())?;
        let greetings = self.greetings.take().ok_or("no round was started")?;
        let mut sum = 0;
        for _ in 0..FROM_THREAD {
            sum += greetings.recv_timeout(PATIENCE).map_err(|why| {
                format!("an actor that was spawned from outside did not report: {why}")
            })?;
        }
        same("the sum of all greetings", sum, sum_below(FROM_THREAD))?;
        Ok(made + FROM_THREAD)
    }
}

enum Msg {
    Round(Reply<Outcome>),
    Made(u64),
    Litter(u64),
}

/// The nursery, an actor that creates children, and waits for one message from each.
#[derive(Default)]
struct Nursery {
    heard: u64,
    sum: u64,
    reply: Option<Reply<Outcome>>,
}

/// A child, which sends its number, and stops.
struct ChildActor(Address<Msg>);

impl Actor for ChildActor {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, number: u64, cx: &mut Context<'_, u64>) -> Next {
        // The parent waits for this message.
        let _ = cx.send(&self.0, Msg::Made(number));
        Next::Stop
    }
}

impl Actor for Nursery {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Round(reply) => {
                *self = Self {
                    reply: Some(reply),
                    ..Self::default()
                };
                sent(&cx.send(&cx.address(), Msg::Litter(0)))
            }
            Msg::Litter(first) => {
                let me = cx.address();
                for number in first..first + LITTER {
                    let child = cx.spawn(ChildActor(me.clone()));
                    if cx.send(&child, number).is_err() {
                        return Next::Stop;
                    }
                }
                if first + LITTER == CHILDREN {
                    return Next::Continue;
                }
                sent(&cx.send(&me, Msg::Litter(first + LITTER)))
            }
            Msg::Made(number) => {
                self.heard += 1;
                self.sum += number;
                if self.heard == CHILDREN
                    && let Some(reply) = self.reply.take()
                {
                    let sum = same("the sum of all children", self.sum, sum_below(CHILDREN));
                    reply.send(sum.map(|_| CHILDREN));
                }
                Next::Continue
            }
        }
    }
}
