//! Durable actors that decide ahead.
#![forbid(unsafe_code)]

#[macro_use]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use std::{env, fs, process};

use garrick_actor::supervise::{Decision, Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Ask, Context, Local, Next, NoReply, Reply, System};
use garrick_journal::{
    BoxError, Decide, Due, Durable, DurableActor, EventKind, Group, Journal, JournalError,
    JournalId, Keeper, Log, LogSample, MemoryLog, Refused, Start, Stored,
};

/// A list to which numbers are appended.
struct List {
    /// Number of reminders that have arrived.
    reminded: Arc<AtomicU32>,
}

enum Command {
    /// Appends a number, and returns the length.
    Push(u64, Reply<usize>),
    Get(Reply<Vec<u64>>),
    /// Appends a number and discards the decision.
    Undo(u64, Reply<usize>),
    /// Appends a number and panics.
    Panic(u64, Reply<usize>),
    /// Appends a number and fails with an error.
    Fail(u64, Reply<usize>),
    /// Appends a number and stops.
    Stop(u64, Reply<usize>),
    /// Sets a reminder for a number of milliseconds from now.
    Remind(u64, Reply<usize>),
    /// Cancels the reminder.
    Cancel(Reply<usize>),
    Due(Due),
}

struct Pushed(u64);

impl Stored for Pushed {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for List {
    type Msg = Command;
    type State = Vec<u64>;
    type Event = Pushed;
    type Outcome = Next;

    fn decide(&self, list: &Vec<u64>, command: Command, cx: &mut Decide<'_, '_, Self>) -> Next {
        match &command {
            Command::Push(number, _)
            | Command::Undo(number, _)
            | Command::Panic(number, _)
            | Command::Fail(number, _)
            | Command::Stop(number, _) => cx.record(Pushed(*number)),
            Command::Remind(after, _) => cx.remind_after("due", Duration::from_millis(*after)),
            Command::Cancel(_) => {
                cx.done("due");
            }
            Command::Due(due) => {
                cx.complete(due);
            }
            Command::Get(_) => {}
        }
        let next = match &command {
            Command::Panic(..) => panic!("for this test"),
            Command::Undo(..) => Next::Undo,
            Command::Fail(..) => cx.fail("for this test"),
            Command::Stop(..) => Next::Stop,
            _ => Next::Continue,
        };
        match command {
            Command::Get(reply) => reply.send(list.clone()),
            Command::Due(_) => {
                self.reminded.fetch_add(1, SeqCst);
            }
            Command::Push(_, reply)
            | Command::Undo(_, reply)
            | Command::Panic(_, reply)
            | Command::Fail(_, reply)
            | Command::Stop(_, reply)
            | Command::Remind(_, reply)
            | Command::Cancel(reply) => reply.send(list.len() + 1),
        }
        next
    }

    fn apply(list: &mut Vec<u64>, Pushed(number): &Pushed) {
        list.push(*number);
    }

    fn due(due: Due) -> Option<Command> {
        Some(Command::Due(due))
    }

    const SAVE_EVERY: u64 = 7;

    fn save(list: &Vec<u64>, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(list.iter().flat_map(|number| number.to_le_bytes()));
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Vec<u64>, BoxError> {
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Ok(bytes.as_chunks().0.iter().map(number).collect())
    }
}

/// A function that makes a command from the reply for its answer.
type Make = Box<dyn FnOnce(Reply<usize>) -> Command + Send>;

type Answers = Vec<Result<usize, NoReply>>;

enum Order {
    /// Sends commands to the list in one turn, so that they wait in its mailbox together. Returns
    /// the answers.
    All(Vec<Make>, Reply<Answers>),
    Answered(usize, Result<usize, NoReply>),
}

/// An actor that sends commands to a list, and collects the answers.
struct Sends {
    list: Address<Command>,
    answers: Vec<Option<Result<usize, NoReply>>>,
    reply: Option<Reply<Answers>>,
}

impl Actor for Sends {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::All(commands, reply) => {
                self.answers = vec![None; commands.len()];
                self.reply = Some(reply);
                for (index, make) in commands.into_iter().enumerate() {
                    let answered = move |answer| Order::Answered(index, answer);
                    cx.ask(&self.list, make, answered);
                }
            }
            Order::Answered(index, answer) => {
                self.answers[index] = Some(answer);
                let all: Option<Answers> = self.answers.iter().cloned().collect();
                if let Some(all) = all
                    && let Some(reply) = self.reply.take()
                {
                    reply.send(all);
                }
            }
        }
    }
}

/// A running list that decides ahead, with its system and its journal.
struct Scene {
    system: System,
    journal: Journal,
    tree: Tree,
    list: Address<Command>,
    sends: Address<Order>,
    reminded: Arc<AtomicU32>,
    folder: std::path::PathBuf,
}

impl Scene {
    fn new(decision: Decision) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let name = format!("garrick-pipelined-{}-{number}", process::id());
        Self::at(env::temp_dir().join(name), decision)
    }

    fn at(folder: std::path::PathBuf, decision: Decision) -> Self {
        let system = System::new().unwrap();
        let (journal, _) = Journal::open(&system.handle(), &folder).unwrap();
        let tree = Supervisor::new("lists", Strategy::OneForOne)
            .intensity(1_000, Duration::from_secs(1))
            .spawn(&system.handle())
            .unwrap();
        let reminded = Arc::new(AtomicU32::new(0));
        let (of_list, counts) = (journal.clone(), Arc::clone(&reminded));
        let make = move || {
            let reminded = Arc::clone(&counts);
            of_list.entity("list", List { reminded }).unwrap()
        };
        let list = system
            .actor(move || make().pipelined())
            .named("list")
            .supervised_by(&tree)
            .decide(move |_| decision)
            .spawn()
            .unwrap();
        let sends = Sends {
            list: list.clone(),
            answers: Vec::new(),
            reply: None,
        };
        let sends = system.spawn(sends).unwrap();
        Self {
            system,
            journal,
            tree,
            list,
            sends,
            reminded,
            folder,
        }
    }

    /// Sends commands at once, and returns the answers.
    fn send(&self, commands: impl IntoIterator<Item = Make>) -> Answers {
        let commands = commands.into_iter().collect();
        let all = self.sends.ask(|reply| Order::All(commands, reply));
        all.wait().unwrap()
    }

    fn get(&self) -> Vec<u64> {
        self.list.ask(Command::Get).wait().unwrap()
    }

    /// Ends the system and starts another one on the same log.
    fn again(self) -> Self {
        let folder = self.folder.clone();
        self.end();
        Self::at(folder, Decision::Restart)
    }

    fn end(self) {
        self.tree.stop().wait().unwrap();
        drop(self.journal);
        self.system.shutdown();
    }

    fn close(self) {
        let folder = self.folder.clone();
        self.end();
        fs::remove_dir_all(folder).unwrap();
    }
}

/// Returns a command with a number.
fn with(number: u64, command: fn(u64, Reply<usize>) -> Command) -> Make {
    Box::new(move |reply| command(number, reply))
}

#[test]
fn many_decisions_need_few_syncs_and_see_each_other() {
    let scene = Scene::new(Decision::Restart);
    let before = scene.journal.sample();
    let answers = scene.send((1..=200).map(|number| with(number, Command::Push)));
    assert_eq!(answers, (1..=200).map(Ok).collect::<Vec<_>>());
    let after = scene.journal.sample();
    assert_eq!(after.events - before.events, 200);
    let groups = after.groups - before.groups;
    assert!(groups < 50, "{groups} groups for 200 events");
    let scene = scene.again();
    assert_eq!(scene.get(), (1..=200).collect::<Vec<_>>());
    scene.close();
}

#[test]
fn a_decision_that_fails_is_undone_alone() {
    for decision in [Decision::Restart, Decision::Resume] {
        let scene = Scene::new(decision);
        let mut expected = Vec::new();
        for round in 0..20 {
            let from = 10 * round;
            let wrong = match round % 3 {
                0 => with(from + 2, Command::Panic),
                1 => with(from + 2, Command::Undo),
                _ => with(from + 2, Command::Fail),
            };
            let answers = scene.send([
                with(from, Command::Push),
                with(from + 1, Command::Push),
                wrong,
                with(from + 3, Command::Push),
            ]);
            let length = expected.len();
            let dropped = Err(NoReply::Dropped);
            let right = [Ok(length + 1), Ok(length + 2), dropped, Ok(length + 3)];
            assert_eq!(answers, right);
            expected.extend([from, from + 1, from + 3]);
            assert_eq!(scene.get(), expected);
        }
        let scene = scene.again();
        assert_eq!(scene.get(), expected);
        scene.close();
    }
}

#[test]
fn a_decision_can_stop_the_actor_after_the_decisions_before_it() {
    let scene = Scene::new(Decision::Restart);
    let answers = scene.send([
        with(1, Command::Push),
        with(2, Command::Stop),
        with(3, Command::Push),
    ]);
    // The supervisor starts it again.
    assert_eq!(answers, [Ok(1), Ok(2), Ok(3)]);
    let scene = scene.again();
    assert_eq!(scene.get(), [1, 2, 3]);
    scene.close();
}

#[test]
fn a_reminder_can_be_cancelled_before_it_is_durable() {
    let scene = Scene::new(Decision::Restart);
    for _ in 0..20 {
        let cancel = Box::new(Command::Cancel);
        let answers = scene.send([with(1, Command::Remind), cancel]);
        assert_eq!(answers, [Ok(1), Ok(1)]);
    }
    assert_eq!(scene.send([with(5, Command::Remind)]), [Ok(1)]);
    while scene.reminded.load(SeqCst) == 0 {
        scene.get();
    }
    assert_eq!(scene.reminded.load(SeqCst), 1, "the others were cancelled");
    scene.close();
}

/// A counter that is stored as a whole.
struct Counter;

#[derive(Clone, Default)]
struct Count(u64);

impl Stored for Count {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind::default()
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl Keeper for Counter {
    type Msg = Reply<u64>;
    type State = Count;
    type Outcome = ();

    fn receive(
        &self,
        count: &mut Durable<'_, Count>,
        reply: Reply<u64>,
        _: &mut Decide<'_, '_, Self>,
    ) {
        count.0 += 1;
        reply.send(count.0);
    }
}

#[test]
fn a_state_without_events_is_stored_for_many_messages_at_once() {
    let scene = Scene::new(Decision::Restart);
    let counter = scene.journal.entity("counter", Counter).unwrap();
    let counter = scene.system.spawn(counter.pipelined()).unwrap();
    let asked: Vec<_> = (0..500).map(|_| counter.ask(|reply| reply)).collect();
    for (number, asked) in (1..).zip(asked) {
        assert_eq!(asked.wait(), Ok(number));
    }
    let scene = scene.again();
    let counter = scene.journal.entity("counter", Counter).unwrap();
    let counter = scene.system.spawn(counter.pipelined()).unwrap();
    assert_eq!(counter.ask(|reply| reply).wait(), Ok(501));
    scene.close();
}

/// Maximum size of the events of a journal in a group of [`Narrow`], in bytes.
const NARROW: usize = 512;

/// A log that accepts only few bytes of each journal in a group.
struct Narrow(MemoryLog);

impl Log for Narrow {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.0.start(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.0.read(journal, from, events)
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        let bytes = group.events().map(|(_, event)| event.payload.len()).sum();
        if bytes > NARROW {
            return Err(JournalError::TooLarge {
                what: "a group of this test",
                bytes,
                limit: NARROW,
            });
        }
        self.0.append(group)
    }

    fn journal_bytes_max(&self) -> usize {
        NARROW
    }

    passed_on!(0);
}

#[test]
fn a_turn_is_not_larger_than_the_log_allows() {
    let local = Local::new().unwrap();
    let journal = Journal::new(&local.handle(), Narrow(MemoryLog::new())).unwrap();
    let reminded = Arc::default();
    let entity = journal.entity("list", List { reminded }).unwrap();
    let list = local.spawn(entity.pipelined());
    // All of them wait when the first turn begins.
    let push = |number| list.ask(|reply| Command::Push(number, reply));
    let asked: Vec<Ask<usize>> = (0..200).map(push).collect();
    for (number, ask) in asked.into_iter().enumerate() {
        assert_eq!(local.block_on(ask), Ok(number + 1));
    }
}
