//! Durable actors on the disk of the machine, with each engine.
#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use garrick_actor::files::{Files, Folder};
use garrick_actor::supervise::{Decision, Strategy, Supervisor};
use garrick_actor::{Address, Handle, Next, NoReply, Reply, System};
#[cfg(feature = "sqlite")]
use garrick_journal::SqliteLog;
use garrick_journal::{
    BoxError, Decide, Durable, DurableActor, Event, EventKind, Group, Journal, JournalError,
    Keeper, Log, Options, Stored,
};
use garrick_testkit::Place;

/// Returns the folder in which a journal keeps its files. The journal creates it.
fn folder_in(place: &Place) -> PathBuf {
    place.path().join("journal")
}

/// An account that counts.
struct Account;

enum Command {
    Add(u64, Reply<u64>),
    Get(Reply<u64>),
    /// Records an event and discards the turn.
    Undo(Reply<u64>),
    /// Records an event that cannot be applied.
    Break(Reply<u64>),
    /// Records an event and stops.
    Stop(Reply<u64>),
    /// Records two events.
    Twice(u64, Reply<u64>),
}

/// An event. Applying it panics if it contains 666.
struct Added(u64);

impl Stored for Added {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        // Not `extend`: this must not change the events before it.
        *bytes = self.0.to_le_bytes().to_vec();
        EventKind { tag: 1, version: 1 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        match kind.tag {
            1 => Ok(Self(u64::from_le_bytes(bytes.try_into()?))),
            tag => Err(format!("no event has the tag {tag}").into()),
        }
    }
}

impl DurableActor for Account {
    type Msg = Command;
    type State = u64;
    type Event = Added;
    type Outcome = Next;

    fn decide(&self, sum: &u64, command: Command, cx: &mut Decide<'_, '_, Self>) -> Next {
        match command {
            Command::Add(number, reply) => {
                cx.record(Added(number));
                reply.send(sum + number);
            }
            Command::Get(reply) => reply.send(*sum),
            Command::Undo(reply) => {
                cx.record(Added(1_000_000));
                reply.send(0);
                return Next::Undo;
            }
            Command::Break(reply) => {
                cx.record(Added(1_000_000));
                cx.record(Added(666));
                reply.send(0);
            }
            Command::Stop(reply) => {
                cx.record(Added(1));
                reply.send(sum + 1);
                return Next::Stop;
            }
            Command::Twice(number, reply) => {
                cx.record(Added(number));
                cx.record(Added(number));
                reply.send(sum + 2 * number);
            }
        }
        Next::Continue
    }

    fn apply(sum: &mut u64, Added(number): &Added) {
        assert!(*number != 666, "this event cannot be applied");
        *sum += number;
    }

    const SAVE_EVERY: u64 = 10;

    fn save(sum: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(sum.to_le_bytes());
        Some(EventKind { tag: 7, version: 1 })
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        assert_eq!(kind.tag, 7);
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}

/// The store of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Segments,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Engine {
    fn open(self, system: &Handle, place: &Place) -> Result<Journal, JournalError> {
        match self {
            Self::Segments => {
                let (journal, opened) = Journal::open(system, folder_in(place))?;
                assert!(opened.torn.is_none());
                Ok(journal)
            }
            #[cfg(feature = "sqlite")]
            Self::Sqlite => Journal::open_sqlite(system, folder_in(place).join("journal.sqlite")),
        }
    }

    /// Opens the log without a system.
    fn log(self, place: &Place) -> Box<dyn Log> {
        match self {
            Self::Segments => {
                let files = Arc::new(Folder::open(folder_in(place)).unwrap());
                Box::new(Mutex::new(Options::new().open(files).unwrap().0))
            }
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                Box::new(SqliteLog::open(folder_in(place).join("journal.sqlite")).unwrap())
            }
        }
    }
}

/// Defines each test once for each engine.
macro_rules! with_engines {
    ($($name:ident),* $(,)?) => {
        mod segments {
            $(#[test] fn $name() { crate::$name(crate::Engine::Segments); })*
        }
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[test] fn $name() { crate::$name(crate::Engine::Sqlite); })*
        }
    };
}

with_engines! {
    the_state_survives_a_restart,
    turns_without_events_commit_at_once_and_an_undone_turn_records_nothing,
    an_event_that_cannot_be_applied_is_not_recorded,
    a_supervised_entity_reads_its_state_again,
    there_is_one_entity_with_a_name,
    thousands_of_entities_share_groups,
    a_journal_is_closed_with_its_system,
    a_state_without_events_survives_a_restart,
    a_saved_state_that_cannot_be_loaded_is_not_needed_before_a_whole_event,
}

fn get(account: &Address<Command>) -> Result<u64, NoReply> {
    account.ask(Command::Get).wait()
}

fn add(account: &Address<Command>, number: u64) -> Result<u64, NoReply> {
    account.ask(|reply| Command::Add(number, reply)).wait()
}

/// Calls `f` with a system and a journal in `place`, and then ends both.
fn with(engine: Engine, place: &Place, f: impl FnOnce(&System, &Journal)) {
    let system = System::new().unwrap();
    let journal = engine.open(&system.handle(), place).unwrap();
    f(&system, &journal);
    drop(journal);
    system.shutdown();
}

fn the_state_survives_a_restart(engine: Engine) {
    let place = Place::new("durable");
    for round in 0..5 {
        with(engine, &place, |system, journal| {
            for name in ["account/1", "account/2"] {
                let account = system
                    .spawn(journal.entity(name, Account).unwrap())
                    .unwrap();
                assert_eq!(get(&account), Ok(round * 45));
                for number in 0..10 {
                    add(&account, number).unwrap();
                }
                assert_eq!(get(&account), Ok((round + 1) * 45));
            }
        });
    }
    let log = engine.log(&place);
    for name in ["account/1", "account/2"] {
        let start = log.start(name, true).unwrap().unwrap();
        assert_eq!(start.newest, 50);
        assert_eq!(
            start.oldest, 41,
            "the events before the older snapshot are gone"
        );
    }
}

fn turns_without_events_commit_at_once_and_an_undone_turn_records_nothing(engine: Engine) {
    let place = Place::new("durable");
    with(engine, &place, |system, journal| {
        let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(account.ask(Command::Undo).wait(), Err(NoReply::Dropped));
        assert_eq!(get(&account), Ok(0));
        assert_eq!(account.ask(|reply| Command::Twice(4, reply)).wait(), Ok(8));
        assert_eq!(account.ask(Command::Stop).wait(), Ok(9));
        assert_eq!(get(&account), Err(NoReply::Dropped));
        let again = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(get(&again), Ok(9));
    });
}

fn an_event_that_cannot_be_applied_is_not_recorded(engine: Engine) {
    let place = Place::new("durable");
    with(engine, &place, |system, journal| {
        let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(add(&account, 5), Ok(5));
        assert_eq!(account.ask(Command::Break).wait(), Err(NoReply::Dropped));
        assert_eq!(get(&account), Err(NoReply::Dropped), "it has failed");
        let again = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(get(&again), Ok(5));
    });
}

fn a_supervised_entity_reads_its_state_again(engine: Engine) {
    for decision in [Decision::Restart, Decision::Resume] {
        let place = Place::new("durable");
        with(engine, &place, |system, journal| {
            let tree = Supervisor::new("accounts", Strategy::OneForOne);
            let tree = tree.spawn(&system.handle()).unwrap();
            let journal = journal.clone();
            let account = system
                .actor(move || journal.entity("a", Account).unwrap())
                .named("a")
                .supervised_by(&tree)
                .decide(move |_| decision)
                .spawn()
                .unwrap();
            assert_eq!(add(&account, 5), Ok(5));
            assert_eq!(account.ask(Command::Break).wait(), Err(NoReply::Dropped));
            assert_eq!(get(&account), Ok(5));
            assert_eq!(add(&account, 5), Ok(10));
            tree.stop().wait().unwrap();
        });
    }
}

fn there_is_one_entity_with_a_name(engine: Engine) {
    let place = Place::new("durable");
    with(engine, &place, |system, journal| {
        let first = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(add(&first, 5), Ok(5));
        let second = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(get(&second), Err(NoReply::Dropped), "it has failed");
        let failures = format!("{:?}", system.recent_failures());
        let why = "there is another entity with the name";
        assert!(failures.contains(why), "{failures}");
        assert_eq!(add(&first, 5), Ok(10));
        let wrong = journal.entity("a/../b", Account).unwrap_err();
        assert!(matches!(wrong, JournalError::Name { .. }));
    });
}

#[test]
fn a_log_that_is_opened_often_has_few_files() {
    let place = Place::new("durable");
    for round in 0..60 {
        with(Engine::Segments, &place, |system, journal| {
            let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
            assert_eq!(get(&account), Ok(round));
            assert_eq!(add(&account, 1), Ok(round + 1));
            let other = journal.entity(format!("other/{round}"), Account);
            assert_eq!(add(&system.spawn(other.unwrap()).unwrap(), 7), Ok(7));
        });
        let files = Folder::open(folder_in(&place)).unwrap().list().unwrap();
        assert!(files.len() < 20, "{files:?}");
    }
    with(Engine::Segments, &place, |system, journal| {
        let other = journal.entity("other/3", Account).unwrap();
        assert_eq!(get(&system.spawn(other).unwrap()), Ok(7));
    });
}

/// Returns the number of files in a folder that this process has opened.
#[cfg(target_os = "linux")]
fn opened_files(place: &Place) -> usize {
    let folder = fs::canonicalize(folder_in(place)).unwrap();
    let handles = fs::read_dir("/proc/self/fd").unwrap();
    let targets = handles.filter_map(|handle| fs::read_link(handle.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(&folder)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_of_many_files_has_few_of_them_open() {
    const FILES: u64 = 300;
    let place = Place::new("durable");
    let files = Arc::new(Folder::create(folder_in(&place)).unwrap());
    let options = Options::new().segment_bytes(1);
    let (mut log, _) = options.open(files.clone()).unwrap();
    let journal = log.journal("a").unwrap();
    for number in 1..=FILES {
        let mut group = Group::new();
        let event = Event {
            number,
            payload: &number.to_le_bytes(),
            ..Event::default()
        };
        group.add(journal, event).unwrap();
        log.append(&group).unwrap();
    }
    for _ in 0..2 {
        assert!(files.list().unwrap().len() as u64 > FILES);
        assert!(opened_files(&place) < 80, "{}", opened_files(&place));
        let mut read = Vec::new();
        log.read(journal, 1, |event| read.push(event.payload.to_vec()))
            .unwrap();
        let all = (1..=FILES).map(|number: u64| number.to_le_bytes().to_vec());
        assert_eq!(read, all.collect::<Vec<_>>());
        assert!(opened_files(&place) < 80, "{}", opened_files(&place));
        drop(log);
        log = options.open(files.clone()).unwrap().0;
    }
    let removed = log.compact(u64::MAX).unwrap();
    assert!(removed.segments as u64 >= FILES, "{removed:?}");
}

#[test]
fn a_log_is_inspected_while_it_is_open() {
    let place = Place::new("durable");
    with(Engine::Segments, &place, |system, journal| {
        let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        for number in 1..=25 {
            add(&account, number).unwrap();
        }
        // A state is saved behind the answers.
        assert_eq!(add(&account, 0), Ok(325));
        let files = Arc::new(Folder::open(folder_in(&place)).unwrap());
        let before = files.list().unwrap();
        let (mut log, opened) = Options::new().inspect(files.clone()).unwrap();
        assert!(opened.torn.is_none());
        let id = log.find("a").unwrap();
        assert_eq!((log.oldest(id), log.newest(id)), (11, 26));
        assert_eq!(log.snapshot(id).unwrap().unwrap().number, 20);
        let mut events = 0;
        log.read(id, 1, |_| events += 1).unwrap();
        assert_eq!(events, 16);
        let (kind, group) = (EventKind::default(), Group::new());
        let refused = [
            log.append(&group),
            log.save(id, 26, kind, b""),
            log.delete(id),
            log.compact(0).map(|_| ()),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(JournalError::ReadOnly)));
        }
        assert_eq!(files.list().unwrap(), before);
        assert_eq!(add(&account, 1), Ok(326));
    });
}

fn thousands_of_entities_share_groups(engine: Engine) {
    const ENTITIES: u64 = 2_000;
    let place = Place::new("durable");
    with(engine, &place, |system, journal| {
        let spawn = |number| {
            let entity = journal.entity(format!("account/{number}"), Account);
            system.spawn(entity.unwrap()).unwrap()
        };
        let accounts: Vec<_> = (0..ENTITIES).map(spawn).collect();
        for round in 1..=3 {
            let asks: Vec<_> = (accounts.iter())
                .map(|account| account.ask(|reply| Command::Add(2, reply)))
                .collect();
            for ask in asks {
                assert_eq!(ask.wait(), Ok(2 * round));
            }
        }
        let sample = journal.sample();
        let counts = (sample.turns, sample.events, sample.bytes, sample.waiting);
        assert_eq!(counts, (3 * ENTITIES, 3 * ENTITIES, 24 * ENTITIES, 0));
        let groups = sample.groups;
        assert!((1..=3 * ENTITIES).contains(&groups), "{groups} groups");
        assert_eq!(sample.failed, 0);
    });
    with(engine, &place, |system, journal| {
        for number in 0..ENTITIES {
            let entity = journal.entity(format!("account/{number}"), Account);
            let account = system.spawn(entity.unwrap()).unwrap();
            assert_eq!(get(&account), Ok(6));
        }
    });
}

fn a_journal_is_closed_with_its_system(engine: Engine) {
    let place = Place::new("durable");
    let system = System::new().unwrap();
    let journal = engine.open(&system.handle(), &place).unwrap();
    let other = System::new().unwrap();
    let account = other.spawn(journal.entity("a", Account).unwrap()).unwrap();
    assert_eq!(add(&account, 5), Ok(5));
    // Another process, or the same one, cannot open the log.
    let second = engine.open(&system.handle(), &place).unwrap_err();
    assert!(second.to_string().contains("lock"), "{second}");
    system.shutdown();
    assert_eq!(add(&account, 5), Err(NoReply::Dropped));
    other.shutdown();
    let closed = engine.open(&system_that_has_ended(), &Place::new("durable"));
    assert!(matches!(closed, Err(JournalError::Closed)));
}

fn system_that_has_ended() -> Handle {
    let system = System::new().unwrap();
    let handle = system.handle();
    system.shutdown();
    handle
}

/// The state of a keeper, which has no events.
#[derive(Clone, Default)]
struct Limit(u64);

impl Stored for Limit {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        if kind.tag == 7 {
            return Err("it is the saved state of an account".into());
        }
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

/// A keeper of a limit, which answers with the previous limit.
struct Settings;

struct Change(Option<u64>, Reply<u64>);

impl Keeper for Settings {
    type Msg = Change;
    type State = Limit;
    type Outcome = ();

    fn receive(
        &self,
        limit: &mut Durable<'_, Limit>,
        Change(new, reply): Change,
        _: &mut Decide<'_, '_, Self>,
    ) {
        reply.send(limit.0);
        if let Some(new) = new {
            limit.0 = new;
        }
    }
}

fn a_state_without_events_survives_a_restart(engine: Engine) {
    let place = Place::new("durable");
    for round in 0..3 {
        with(engine, &place, |system, journal| {
            let settings = journal.entity("settings", Settings).unwrap();
            let settings = system.spawn(settings).unwrap();
            let change = |new| settings.ask(|reply| Change(new, reply)).wait();
            assert_eq!(change(None), Ok(10 * round));
            for step in 1..=10 {
                assert_eq!(change(Some(10 * round + step)), Ok(10 * round + step - 1));
            }
        });
    }
    let start = engine.log(&place).start("settings", true).unwrap().unwrap();
    assert_eq!((start.oldest, start.newest), (30, 30));
}

fn a_saved_state_that_cannot_be_loaded_is_not_needed_before_a_whole_event(engine: Engine) {
    let place = Place::new("durable");
    with(engine, &place, |system, journal| {
        let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
        for number in 1..=10 {
            add(&account, number).unwrap();
        }
    });
    // Another program continues the journal. It cannot load the states of the first one.
    let start = |system: &System, journal: &Journal| {
        let settings = system.spawn(journal.entity("a", Settings).unwrap());
        let settings = settings.unwrap();
        move |new| settings.ask(|reply| Change(new, reply)).wait()
    };
    with(engine, &place, |system, journal| {
        let change = start(system, journal);
        assert_eq!(change(Some(70)), Ok(10));
    });
    let saved = engine.log(&place).start("a", true).unwrap().unwrap();
    assert_eq!((saved.oldest, saved.newest), (11, 11));
    assert_eq!(saved.snapshot.map(|saved| saved.number), Some(10));
    with(engine, &place, |system, journal| {
        let change = start(system, journal);
        assert_eq!(change(None), Ok(70));
    });
}
