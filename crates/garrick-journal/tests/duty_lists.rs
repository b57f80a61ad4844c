//! Lists of the entities that have something to do.
#![forbid(unsafe_code)]

#[macro_use]
mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Address, NoReply, Reply, System};
use garrick_journal::{
    BoxError, Decide, Due, DurableActor, DutyList, EventKind, Group, Journal, JournalError,
    JournalId, Log, LogSample, MemoryLog, Refused, Start, Stored,
};
use garrick_testkit::HANGS_AFTER;

const LIST: &str = "listed";

/// A log that remembers the order in which journals were appended, and refuses some groups.
#[derive(Clone, Default)]
struct Watched {
    log: MemoryLog,
    names: Arc<Mutex<BTreeMap<u64, String>>>,
    /// Names of the journals in each group that was appended.
    groups: Arc<Mutex<Vec<Vec<String>>>>,
    /// True if groups with events of the list are refused.
    refuses_list: Arc<AtomicBool>,
    /// True if groups with events of other journals are refused.
    refuses_others: Arc<AtomicBool>,
    /// True if the log is broken, so that no journal can be read or appended.
    is_broken: Arc<AtomicBool>,
}

impl Watched {
    fn check(&self) -> Result<(), JournalError> {
        if self.is_broken.load(Relaxed) {
            return Err(JournalError::Broken);
        }
        Ok(())
    }
}

impl Log for Watched {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.check()?;
        let start = self.log.start(name, waits)?;
        if let Some(start) = &start {
            let number = start.journal.get();
            self.names.lock().unwrap().insert(number, name.to_owned());
        }
        Ok(start)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.log.read(journal, from, events)
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.check()?;
        let names = self.names.lock().unwrap();
        let mut journals: Vec<String> = Vec::new();
        for (journal, _) in group.events() {
            journals.push(names[&journal.get()].clone());
        }
        journals.dedup();
        let has_list = journals.iter().any(|name| name == LIST);
        let has_others = journals.iter().any(|name| name != LIST);
        if has_list && self.refuses_list.load(Relaxed)
            || has_others && self.refuses_others.load(Relaxed)
        {
            return Err(JournalError::TooLarge {
                what: "a group of this test",
                bytes: 1,
                limit: 0,
            });
        }
        let refused = self.log.append(group)?;
        self.groups.lock().unwrap().push(journals);
        Ok(refused)
    }

    passed_on!(log);
}

/// A task. All tasks of a scene share a value, so that the scene can count them.
struct Task(#[expect(dead_code, reason = "it is only counted")] Arc<()>);

enum Command {
    Count(Reply<u64>),
    Begin(&'static str, Reply<u64>),
    Post(Reply<u64>),
    End(&'static str, Reply<u64>),
    /// The message of an effect, which stays unfinished.
    Work,
}

struct Counted;

impl Stored for Counted {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

impl DurableActor for Task {
    type Msg = Command;
    type State = u64;
    type Event = Counted;
    type Outcome = ();

    fn decide(&self, count: &u64, command: Command, cx: &mut Decide<'_, '_, Self>) {
        let reply = match command {
            Command::Count(reply) => reply,
            Command::Begin(key, reply) => {
                cx.once(key);
                reply
            }
            Command::Post(reply) => {
                cx.post("other", *b"text");
                reply
            }
            Command::End(key, reply) => {
                cx.done(key);
                reply
            }
            Command::Work => return,
        };
        cx.record(Counted);
        reply.send(count + 1);
    }

    fn apply(count: &mut u64, _: &Counted) {
        *count += 1;
    }

    fn due(_: Due) -> Option<Command> {
        Some(Command::Work)
    }

    fn letter(_: garrick_journal::Letter) -> Option<Command> {
        Some(Command::Work)
    }
}

/// A system with a list in a log.
struct Scene {
    log: Watched,
    journal: Journal,
    list: DutyList,
    tasks: Arc<()>,
    system: System,
}

impl Scene {
    fn new(log: Watched) -> Self {
        let system = System::builder().workers(2).start().unwrap();
        let journal = Journal::new(&system.handle(), log.clone()).unwrap();
        let list = DutyList::open(&system.handle(), &journal, LIST).unwrap();
        Self {
            log,
            journal,
            list,
            tasks: Arc::default(),
            system,
        }
    }

    fn task(&self, name: &str, is_pipelined: bool) -> Address<Command> {
        let mut entity = self
            .journal
            .entity(name, Task(self.tasks.clone()))
            .unwrap()
            .listed(&self.list);
        if is_pipelined {
            entity = entity.pipelined();
        }
        self.system.spawn(entity).unwrap()
    }

    /// Waits until no task has a name any more. A question to a task that fails ends earlier.
    fn await_no_task(&self) {
        let began = Instant::now();
        while Arc::strong_count(&self.tasks) > 1 {
            assert!(began.elapsed() < HANGS_AFTER);
            thread::yield_now();
        }
    }

    fn names(&self) -> Vec<String> {
        self.list.names().wait().unwrap()
    }

    /// Stops a task, and waits until `names` are in the list.
    fn stop(&self, task: Address<Command>, names: &[&str]) {
        task.stop();
        drop(task);
        let began = Instant::now();
        while self.names() != names {
            assert!(began.elapsed() < HANGS_AFTER, "{:?}", self.names());
            thread::yield_now();
        }
    }

    fn groups(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.log.groups.lock().unwrap())
    }
}

#[test]
fn an_entity_is_in_its_list_before_it_has_something_to_do() {
    for is_pipelined in [false, true] {
        let scene = Scene::new(Watched::default());
        let task = scene.task("task/1", is_pipelined);
        assert_eq!(task.ask(Command::Count).wait(), Ok(1));
        assert_eq!(scene.groups(), [["task/1"]], "there is nothing to do");
        let begin = |key| task.ask(move |reply| Command::Begin(key, reply)).wait();
        assert_eq!(begin("mail"), Ok(2));
        assert_eq!(scene.groups(), [[LIST], ["task/1"]]);
        assert_eq!(begin("call"), Ok(3));
        assert_eq!(task.ask(Command::Post).wait(), Ok(4));
        assert_eq!(scene.groups(), [["task/1"], ["task/1"]], "it is there");
        assert_eq!(scene.names(), ["task/1"]);
        scene.system.shutdown();
    }
}

#[test]
fn an_entity_that_stops_leaves_its_list_if_it_has_nothing_to_do() {
    let log = Watched::default();
    let scene = Scene::new(log.clone());
    let (one, two) = (scene.task("task/1", false), scene.task("task/2", true));
    for task in [&one, &two] {
        let begin = |reply| Command::Begin("mail", reply);
        assert_eq!(task.ask(begin).wait(), Ok(1));
    }
    let end = |reply| Command::End("mail", reply);
    assert_eq!(one.ask(end).wait(), Ok(2));
    assert_eq!(scene.names(), ["task/1", "task/2"], "both still run");
    scene.stop(one, &["task/2"]);
    drop(two);
    scene.system.shutdown();

    // The next process.
    let scene = Scene::new(log);
    assert_eq!(scene.names(), ["task/2"]);
    scene.groups();
    let two = scene.task("task/2", false);
    let begin = |reply| Command::Begin("call", reply);
    assert_eq!(two.ask(begin).wait(), Ok(2));
    assert_eq!(scene.groups(), [["task/2"]], "it was there from the start");
    assert_eq!(two.ask(end).wait(), Ok(3));
    assert_eq!(two.ask(|reply| Command::End("call", reply)).wait(), Ok(4));
    scene.stop(two, &[]);
    scene.system.shutdown();
}

#[test]
fn a_turn_whose_entry_cannot_be_written_is_undone() {
    let scene = Scene::new(Watched::default());
    scene.log.refuses_list.store(true, Relaxed);
    let task = scene.task("task/1", false);
    let begin = |reply| Command::Begin("mail", reply);
    assert_eq!(task.ask(begin).wait(), Err(NoReply::Dropped));
    assert!(scene.groups().is_empty(), "nothing was written");
    scene.log.refuses_list.store(false, Relaxed);
    scene.await_no_task();
    let failures = format!("{:?}", scene.system.recent_failures());
    let reason = "the list of entities with something to do was closed or cannot be written";
    assert!(failures.contains(reason), "{failures}");
    let task = scene.task("task/1", false);
    assert_eq!(task.ask(begin).wait(), Ok(1));
    assert_eq!(scene.names(), ["task/1"]);
    scene.system.shutdown();
}

#[test]
fn an_entry_without_events_is_removed_when_the_entity_stops_after_another_event() {
    let scene = Scene::new(Watched::default());
    scene.log.refuses_others.store(true, Relaxed);
    let task = scene.task("task/1", false);
    let begin = |reply| Command::Begin("mail", reply);
    assert_eq!(task.ask(begin).wait(), Err(NoReply::Dropped));
    assert_eq!(scene.names(), ["task/1"], "only the entry was written");
    scene.log.refuses_others.store(false, Relaxed);
    scene.await_no_task();
    let task = scene.task("task/1", false);
    assert_eq!(task.ask(Command::Count).wait(), Ok(1));
    scene.stop(task, &[]);
    scene.system.shutdown();
}

#[test]
fn an_entity_that_is_fenced_at_its_start_is_alone_before_its_first_message() {
    let log = Watched::default();
    let (old, new) = (Scene::new(log.clone()), Scene::new(log));
    let task = old.task("task/1", false);
    assert_eq!(task.ask(Command::Count).wait(), Ok(1));
    old.groups();
    // Another process takes the entity over, and there is nothing to do.
    let (journal, list) = (new.journal.clone(), new.list.clone());
    let tree = Supervisor::new("tasks", Strategy::OneForOne).spawn(&new.system.handle());
    let make = move || {
        let entity = journal.entity("task/1", Task(Arc::default())).unwrap();
        entity.listed(&list).fenced_at_start()
    };
    let taken_over = new.system.actor(make).supervised_by(&tree.unwrap()).spawn();
    let began = Instant::now();
    while !old.groups().iter().any(|names| names == &["task/1"]) {
        assert!(began.elapsed() < HANGS_AFTER);
        thread::yield_now();
    }
    let begin = |reply| Command::Begin("mail", reply);
    assert_eq!(task.ask(begin).wait(), Err(NoReply::Dropped));
    assert_eq!(taken_over.unwrap().ask(Command::Count).wait(), Ok(2));
    old.system.shutdown();
    new.system.shutdown();
}

#[test]
fn an_entity_whose_last_turn_was_undone_may_have_something_to_do() {
    let scene = Scene::new(Watched::default());
    let listing = scene.list.listing("task/1");
    assert_eq!(listing.has_duties(), None);
    let entity = scene
        .journal
        .entity("task/1", Task(Arc::default()))
        .unwrap();
    let entity = entity.listed_as(listing.clone());
    let task = scene.system.spawn(entity).unwrap();
    assert_eq!(task.ask(Command::Count).wait(), Ok(1));
    assert_eq!(listing.has_duties(), Some(false));
    let begin = |reply| Command::Begin("mail", reply);
    assert_eq!(task.ask(begin).wait(), Ok(2));
    assert_eq!(listing.has_duties(), Some(true));
    scene.log.refuses_others.store(true, Relaxed);
    let end = |reply| Command::End("mail", reply);
    assert_eq!(task.ask(end).wait(), Err(NoReply::Dropped));
    let began = Instant::now();
    while listing.has_duties() != Some(true) {
        assert!(began.elapsed() < HANGS_AFTER);
        thread::yield_now();
    }
    assert_eq!(scene.names(), ["task/1"]);
    scene.system.shutdown();
}

#[test]
fn an_entity_that_is_older_than_the_list_is_added_when_it_starts() {
    let log = Watched::default();
    let scene = Scene::new(log);
    let old = scene
        .journal
        .entity("task/1", Task(Arc::default()))
        .unwrap();
    let old = scene.system.spawn(old).unwrap();
    assert_eq!(old.ask(Command::Post).wait(), Ok(1));
    assert!(scene.names().is_empty());
    old.stop();
    let began = Instant::now();
    let task = loop {
        // The name is free when the old entity has ended.
        let task = scene.task("task/1", false);
        if task.ask(Command::Count).wait().is_ok() {
            break task;
        }
        assert!(began.elapsed() < HANGS_AFTER);
    };
    assert_eq!(scene.names(), ["task/1"]);
    drop(task);
    scene.system.shutdown();
}

#[test]
fn no_turn_waits_for_a_list_that_cannot_start() {
    let scene = Scene::new(Watched::default());
    let tasks = ["a", "b"].map(|name| scene.task(name, false));
    for task in &tasks {
        assert_eq!(task.ask(Command::Count).wait(), Ok(1));
    }
    scene.log.is_broken.store(true, Relaxed);
    // The list fails at the first addition, and cannot start again.
    for task in tasks {
        let begun = task.ask(|reply| Command::Begin("x", reply));
        assert_eq!(begun.wait_timeout(HANGS_AFTER), Err(NoReply::Dropped));
    }
    let Scene { system, .. } = scene;
    system.shutdown();
}
