//! The contender that uses Garrick's durable actors.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use garrick::journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};
use garrick::{Actor, Address, Context, NoReply, Reply, System};

use super::run::{Fault, Outcome, PAYLOAD, Plan, Run};

/// A durable actor that counts its events.
struct Counter;

enum Command {
    Add(Reply<u64>),
    Get(Reply<u64>),
}

struct Added;

impl Stored for Added {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend([7; PAYLOAD]);
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        if bytes.len() != PAYLOAD {
            return Err("an event of another length".into());
        }
        Ok(Self)
    }
}

impl DurableActor for Counter {
    type Msg = Command;
    type State = u64;
    type Event = Added;
    type Outcome = ();

    fn decide(&self, count: &u64, command: Command, cx: &mut Decide<'_, '_, Self>) {
        match command {
            Command::Add(reply) => {
                cx.record(Added);
                reply.send(count + 1);
            }
            Command::Get(reply) => reply.send(*count),
        }
    }

    fn apply(count: &mut u64, _: &Added) {
        *count += 1;
    }
}

/// An actor that sends commands to a counter, and waits for each answer before the next command.
struct Client {
    counter: Address<Command>,
    run: Arc<Run>,
    ended: Sender<Result<(), NoReply>>,
}

/// The answer of a counter, as a message to the client that has asked.
struct Answer(Result<u64, NoReply>);

impl Client {
    fn ask(&self, cx: &Context<'_, Answer>) {
        cx.ask(&self.counter, Command::Add, Answer);
    }

    /// Tells the main thread that this client has ended. Does nothing if the main thread no longer
    /// waits.
    fn end(&self, ended: Result<(), NoReply>) {
        let _ = self.ended.send(ended);
    }
}

impl Actor for Client {
    type Msg = Answer;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Answer>) {
        self.ask(cx);
    }

    fn receive(&mut self, Answer(answer): Answer, cx: &mut Context<'_, Answer>) {
        match answer {
            Ok(_) if self.run.answered() => self.ask(cx),
            Ok(_) => self.end(Ok(())),
            Err(error) => self.end(Err(error)),
        }
    }
}

/// Runs durable actors and their clients as planned, and measures them.
pub(super) fn run(plan: &Plan) -> Result<Outcome, Fault> {
    let run = Arc::new(Run::default());
    let system = System::new()?;
    let (journal, counters) = open(&system, plan)?;
    let (ended, ends) = channel();
    for counter in counters {
        let client = Client {
            counter,
            run: run.clone(),
            ended: ended.clone(),
        };
        drop(system.spawn(client)?);
    }
    let window = run.measure(plan);
    for end in ends.iter().take(plan.entities) {
        end?;
    }
    drop(journal);
    system.shutdown();
    Ok(run.outcome(window, stored(plan)?))
}

/// Opens the journal again, and returns the sum of the counts of all counters.
fn stored(plan: &Plan) -> Result<u64, Fault> {
    let system = System::new()?;
    let (journal, counters) = open(&system, plan)?;
    let mut sum = 0;
    for counter in &counters {
        sum += counter.ask(Command::Get).wait()?;
    }
    drop((journal, counters));
    system.shutdown();
    Ok(sum)
}

/// Opens the journal, and spawns all counters. Waits until each counter has answered its first
/// question.
fn open(system: &System, plan: &Plan) -> Result<(Journal, Vec<Address<Command>>), Fault> {
    let (journal, _) = Journal::open(&system.handle(), &plan.folder)?;
    let mut counters = Vec::new();
    for number in 0..plan.entities {
        let counter = system.spawn(journal.entity(format!("counter/{number}"), Counter)?)?;
        counter.ask(Command::Get).wait()?;
        counters.push(counter);
    }
    Ok((journal, counters))
}
