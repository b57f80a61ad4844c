//! Durable entities as a user would write them by hand: a tokio task for each entity, and a thread,
//! the writer, that commits the events of all entities.
//!
//! ```text
//!   client (task) --- command ---> entity (task) --- event ---> writer (thread): commit
//!   client        <--- answer ---  entity        <-- durable -- writer
//! ```
//!
//! The writer takes all events that wait, up to a limit, and commits them together. With the limit
//! 1, the writer commits each command separately.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use tokio::sync::{mpsc as mailbox, oneshot};

use super::engines::{Engine, Event};
use super::run::{Fault, Outcome, PAYLOAD, Plan, Run};

/// A request to an entity to record an event, and then to answer with the count of the entity's
/// events.
struct Command {
    reply: oneshot::Sender<u64>,
}

/// A request to store an event durably. The receiver is the writer, the thread that commits the
/// events of all entities.
struct Append {
    event: Event,
    durable: oneshot::Sender<()>,
}

/// Runs hand-written entities and their clients, and measures them. The writer commits at most
/// `most` events together.
pub(super) fn run<E: Engine>(plan: &Plan, most: usize) -> Result<Outcome, Fault> {
    let run = Arc::new(Run::default());
    let mut engine = E::open(&plan.folder)?;
    let counts = counts(&mut engine, plan)?;
    let (appends, requests) = mpsc::channel();
    let writer = thread::spawn(move || write(engine, &requests, most));
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let mut clients = Vec::new();
    for (entity, count) in (0..).zip(counts) {
        let (commands, mailbox) = mailbox::unbounded_channel();
        runtime.spawn(answer(entity, count, mailbox, appends.clone()));
        clients.push(runtime.spawn(ask(commands, run.clone())));
    }
    drop(appends);
    let window = run.measure(plan);
    for client in clients {
        runtime.block_on(client)?;
    }
    // The last entity has ended, so the writer ends.
    writer.join().map_err(|_| "the writer has panicked")??;
    let mut engine = E::open(&plan.folder)?;
    let stored = counts_sum(&mut engine, plan)?;
    Ok(run.outcome(window, stored))
}

fn counts<E: Engine>(engine: &mut E, plan: &Plan) -> Result<Vec<u64>, Fault> {
    let entities = 0..plan.entities as u64;
    entities.map(|entity| engine.count(entity)).collect()
}

fn counts_sum<E: Engine>(engine: &mut E, plan: &Plan) -> Result<u64, Fault> {
    Ok(counts(engine, plan)?.into_iter().sum())
}

/// Handles the commands of an entity. Ends when the client of the entity has ended, or when the
/// writer, the thread that commits the events, has ended.
async fn answer(
    entity: u64,
    mut count: u64,
    mut mailbox: mailbox::UnboundedReceiver<Command>,
    appends: mpsc::Sender<Append>,
) {
    while let Some(Command { reply }) = mailbox.recv().await {
        let (durable, is_durable) = oneshot::channel();
        let event = Event {
            entity,
            number: count + 1,
            payload: [7; PAYLOAD],
        };
        if appends.send(Append { event, durable }).is_err() || is_durable.await.is_err() {
            return;
        }
        count += 1;
        // If the client has ended, the next command does not come either.
        let _ = reply.send(count);
    }
}

/// Sends commands to an entity, and waits for each answer before the next command.
async fn ask(commands: mailbox::UnboundedSender<Command>, run: Arc<Run>) {
    loop {
        let (reply, answer) = oneshot::channel();
        if commands.send(Command { reply }).is_err() || answer.await.is_err() {
            // The writer has failed, and returns its error.
            return;
        }
        if !run.answered() {
            return;
        }
    }
}

/// Commits the waiting events, at most `most` events at a time, until all entities have ended.
fn write<E: Engine>(
    mut engine: E,
    requests: &mpsc::Receiver<Append>,
    most: usize,
) -> Result<(), Fault> {
    let (mut events, mut waiting) = (Vec::new(), Vec::new());
    while let Ok(first) = requests.recv() {
        for Append { event, durable } in [first].into_iter().chain(requests.try_iter()).take(most) {
            events.push(event);
            waiting.push(durable);
        }
        engine.commit(&events)?;
        events.clear();
        for durable in waiting.drain(..) {
            // An entity that does not wait any more has ended.
            let _ = durable.send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::journal::disk::Place;

    /// A store that fails at its third commit.
    struct Failing(u64);

    impl Engine for Failing {
        fn open(_: &Path) -> Result<Self, Fault> {
            Ok(Self(0))
        }

        fn commit(&mut self, _: &[Event]) -> Result<(), Fault> {
            self.0 += 1;
            if self.0 == 3 {
                return Err("the disk is full".into());
            }
            Ok(())
        }

        fn count(&mut self, _: u64) -> Result<u64, Fault> {
            Ok(0)
        }
    }

    #[test]
    fn the_error_of_an_engine_is_that_of_the_run() {
        let place = Place::new(&std::env::temp_dir()).expect("there is a folder for files");
        let plan = Plan {
            entities: 3,
            warm_up: Duration::ZERO,
            lasts: Duration::ZERO,
            folder: place.path().to_owned(),
        };
        let (appends, requests) = mpsc::channel();
        let event = Event {
            entity: 0,
            number: 1,
            payload: [7; PAYLOAD],
        };
        let mut waiting = Vec::new();
        for _ in 0..4 {
            let (durable, is_durable) = oneshot::channel();
            appends.send(Append { event, durable }).expect("it is open");
            waiting.push(is_durable);
        }
        drop(appends);
        let failing = Failing::open(&plan.folder).expect("it opens");
        let ended = write(failing, &requests, 1).expect_err("the third commit fails");
        assert_eq!(ended.to_string(), "the disk is full");
        drop(requests);
        let durable: Vec<bool> = waiting
            .into_iter()
            .map(|is_durable| is_durable.blocking_recv().is_ok())
            .collect();
        assert_eq!(durable, [true, true, false, false]);
    }
}
