//! Tasks done by actors.

use std::sync::mpsc;

use garrick::{Actor, Address, Ask, Context, Next, Reply, System};
use garrick_bench::Result;

use super::crew::Crew;
use super::work::work;

/// Does the first task that it is sent, tells the answer and stops.
struct Temporary {
    answers: mpsc::Sender<u64>,
}

impl Actor for Temporary {
    type Msg = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        // Nobody waits for it if the batch has failed.
        let _ = self.answers.send(work());
        Next::Stop
    }
}

/// Does the tasks that it is sent, and answers each to whoever asked.
struct Permanent;

impl Actor for Permanent {
    type Msg = Reply<u64>;

    fn receive(&mut self, reply: Reply<u64>, _: &mut Context<'_, Reply<u64>>) -> Next {
        reply.send(work());
        Next::Continue
    }
}

/// An actor made for each task.
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
        let (answers, answered) = mpsc::channel();
        for _ in 0..tasks {
            let answers = answers.clone();
            self.system.spawn(Temporary { answers })?.send(())?;
        }
        // The answers end with the last actor that could give one.
        drop(answers);
        Ok(answered.iter().sum())
    }
}

/// As many actors as a batch has tasks, made once.
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

/// An actor for each worker, made once; tasks go round.
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

fn wait_for(asks: Vec<Ask<u64>>) -> Result<u64> {
    let mut sum = 0;
    for ask in asks {
        sum += ask.wait()?;
    }
    Ok(sum)
}
