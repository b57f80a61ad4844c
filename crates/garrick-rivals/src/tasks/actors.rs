//! Implementations of the trait [`Crew`] that use actors to do tasks.

use garrick::{Actor, Address, Ask, Context, Next, Reply, System};
use garrick_measure::Result;

use super::crew::Crew;
use super::work::work;

/// An actor that does one task, answers the asker, and stops.
struct Temporary;

impl Actor for Temporary {
    type Msg = Reply<u64>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, reply: Reply<u64>, _: &mut Context<'_, Reply<u64>>) -> Next {
        reply.send(work());
        Next::Stop
    }
}

/// An actor that does any number of tasks, and answers the asker of each.
struct Permanent;

impl Actor for Permanent {
    type Msg = Reply<u64>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, reply: Reply<u64>, _: &mut Context<'_, Reply<u64>>) {
        reply.send(work());
    }
}

/// An actor that does one task, answers the actor that has created it, and stops.
struct Hand {
    foreman: Address<ToForeman>,
}

impl Actor for Hand {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        // A foreman that has stopped needs no answer.
        let _ = cx.send(&self.foreman, ToForeman::Answer(work()));
        Next::Stop
    }
}

/// An actor that creates an actor for each task of a batch, and adds up the answers.
struct Foreman {
    /// Number of answers that have not arrived yet.
    open: u64,
    /// Sum of the answers received.
    sum: u64,
    /// Reply through which the sum is sent to the asker. `None` between batches.
    reply: Option<Reply<u64>>,
}

/// A message to a [`Foreman`].
enum ToForeman {
    /// Request to run this number of tasks, and to reply with the sum of the answers.
    Batch(u64, Reply<u64>),
    /// Answer of one of the tasks.
    Answer(u64),
}

impl Actor for Foreman {
    type Msg = ToForeman;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToForeman, cx: &mut Context<'_, ToForeman>) -> Next {
        match message {
            ToForeman::Batch(tasks, reply) => {
                self.open = tasks;
                self.sum = 0;
                self.reply = Some(reply);
                for _ in 0..tasks {
                    let foreman = cx.address();
                    if cx.send(&cx.spawn(Hand { foreman }), ()).is_err() {
                        return Next::Stop;
                    }
                }
            }
            ToForeman::Answer(answer) => {
                self.open -= 1;
                self.sum += answer;
            }
        }
        if self.open == 0
            && let Some(reply) = self.reply.take()
        {
            reply.send(self.sum);
        }
        Next::Continue
    }
}

/// A [`Crew`] that creates a new actor for each task.
#[derive(Debug)]
pub(super) struct Created {
    system: System,
}

impl Crew for Created {
    fn hire() -> Result<Self> {
        let system = System::new()?;
        Ok(Self { system })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        let mut asks = Vec::new();
        for _ in 0..tasks {
            asks.push(ask(&self.system.spawn(Temporary)?));
        }
        wait_for(asks)
    }
}

/// A [`Crew`] whose [`Foreman`] creates a new actor for each task, and replies when all tasks have
/// been answered.
#[derive(Debug)]
pub(super) struct Gathered {
    _system: System,
    foreman: Address<ToForeman>,
}

impl Crew for Gathered {
    fn hire() -> Result<Self> {
        let system = System::new()?;
        let foreman = system.spawn(Foreman {
            open: 0,
            sum: 0,
            reply: None,
        })?;
        Ok(Self {
            _system: system,
            foreman,
        })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        Ok(self
            .foreman
            .ask(|reply| ToForeman::Batch(tasks, reply))
            .wait()?)
    }
}

/// A [`Crew`] with an actor for each task of a batch. The actors are created once and reused.
#[derive(Debug)]
pub(super) struct Reused {
    system: System,
    actors: Vec<Address<Reply<u64>>>,
}

impl Crew for Reused {
    fn hire() -> Result<Self> {
        let system = System::new()?;
        Ok(Self {
            system,
            actors: Vec::new(),
        })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        while (self.actors.len() as u64) < tasks {
            self.actors.push(self.system.spawn(Permanent)?);
        }
        let actors = &self.actors[..tasks as usize];
        wait_for(actors.iter().map(ask).collect())
    }
}

/// A [`Crew`] with an actor for each worker. The actors are created once, and get the tasks
/// round-robin.
#[derive(Debug)]
pub(super) struct Pooled {
    _system: System,
    actors: Vec<Address<Reply<u64>>>,
}

impl Crew for Pooled {
    fn hire() -> Result<Self> {
        let system = System::new()?;
        let mut actors = Vec::new();
        for _ in 0..system.handle().workers() {
            actors.push(system.spawn(Permanent)?);
        }
        Ok(Self {
            _system: system,
            actors,
        })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        let actors = self.actors.iter().cycle().take(tasks as usize);
        wait_for(actors.map(ask).collect())
    }
}

fn ask(actor: &Address<Reply<u64>>) -> Ask<u64> {
    actor.ask(|reply| reply)
}

/// Adds up the answers. Waits for the last answer first, because the other answers have usually
/// arrived by then. So the caller sleeps once instead of once per answer.
fn wait_for(asks: Vec<Ask<u64>>) -> Result<u64> {
    let mut sum = 0;
    for ask in asks.into_iter().rev() {
        sum += ask.wait()?;
    }
    Ok(sum)
}
