//! Speed of durable turns compared with the raw disk, and of the recovery of entities.
//!
//! `cargo bench -p garrick-journal` prints two tables. The first table contains durable turns per
//! second: of several entities with one command under way each, and of one entity that decides
//! ahead, with 1,000 commands under way. Each row is measured between two measurements of the raw
//! disk: a write of 4 KiB and a sync, one after another, by one thread. The second table contains
//! the times that entities need to read their states. The environment variable
//! `GARRICK_JOURNAL_FOLDER` sets the folder.
//!
//! With the feature `sqlite`, each row of the first table is measured with both engines, one after
//! the other. The environment variable `GARRICK_JOURNAL_ENGINE` selects one: `segments` or
//! `sqlite`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use garrick_actor::files::Folder;
use garrick_actor::{Actor, Address, Context, NoReply, Reply, System};
use garrick_journal::{
    BoxError, Decide, DurableActor, Event, EventKind, Group, Journal, Options, SegmentLog, Stored,
};

/// Duration of one measurement.
const LASTS: Duration = Duration::from_secs(2);

/// Size of an event in bytes.
const PAYLOAD: usize = 128;

/// A counter with events of [`PAYLOAD`] bytes.
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

/// State that the clients of a run share.
#[derive(Default)]
struct Run {
    turns: AtomicU64,
    is_over: AtomicBool,
}

/// An actor that asks a counter repeatedly, one question at a time.
struct Client {
    counter: Address<Command>,
    run: Arc<Run>,
    ended: Sender<()>,
}

/// The answer to a client.
struct Answer(Result<u64, NoReply>);

impl Client {
    fn ask(&self, cx: &Context<'_, Answer>) {
        cx.ask(&self.counter, Command::Add, Answer);
    }
}

impl Actor for Client {
    type Msg = Answer;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Answer>) {
        self.ask(cx);
    }

    fn receive(&mut self, Answer(answer): Answer, cx: &mut Context<'_, Answer>) {
        answer.expect("the disk works");
        self.run.turns.fetch_add(1, Relaxed);
        if self.run.is_over.load(Relaxed) {
            self.ended.send(()).expect("the bench waits");
        } else {
            self.ask(cx);
        }
    }
}

/// A folder that is removed when it is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> io::Result<Self> {
        let parent =
            env::var_os("GARRICK_JOURNAL_FOLDER").map_or_else(env::temp_dir, PathBuf::from);
        let place = parent.join(format!("garrick-journal-bench-{}", process::id()));
        fs::create_dir_all(&place)?;
        Ok(Self(place))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the processor time of this process.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("a Linux system");
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse().unwrap_or(0)).sum();
    // A tick is 10 ms on all platforms that Linux supports.
    Duration::from_millis(10 * ticks)
}

/// Returns the syncs per second of the raw disk.
fn raw(place: &Path) -> io::Result<f64> {
    let path = place.join("raw");
    let file = File::create(&path)?;
    let (began, mut syncs) = (Instant::now(), 0_u32);
    while began.elapsed() < LASTS / 2 {
        file.write_all_at(&[1; 4096], u64::from(syncs) * 4096)?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = f64::from(syncs) / began.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(rate)
}

/// Number of entities, and number of clients of each. An entity with several clients decides ahead.
#[derive(Clone, Copy)]
struct Load {
    entities: usize,
    clients: usize,
}

/// Measures durable turns. Returns turns per second, processor time per turn, and bytes per turn.
fn turns(engine: Engine, folder: &Path, load: Load) -> (f64, Duration, f64) {
    let Load { entities, clients } = load;
    let system = System::new().expect("there are threads");
    let journal = engine.open(&system, folder);
    let (run, (ended, end)) = (Arc::new(Run::default()), channel());
    let counters: Vec<_> = (0..entities)
        .map(|number| {
            let entity = journal.entity(format!("counter/{number}"), Counter);
            let mut entity = entity.expect("a name");
            if clients > 1 {
                entity = entity.pipelined();
            }
            let counter = system.spawn(entity).expect("it runs");
            counter.ask(Command::Get).wait().expect("it has started");
            counter
        })
        .collect();
    let before = written();
    let (began, used) = (Instant::now(), cpu());
    for counter in counters.iter().flat_map(|counter| vec![counter; clients]) {
        let client = Client {
            counter: counter.clone(),
            run: run.clone(),
            ended: ended.clone(),
        };
        drop(system.spawn(client).expect("it runs"));
    }
    thread::sleep(LASTS);
    let (took, used) = (began.elapsed(), cpu() - used);
    let turns = run.turns.load(Relaxed);
    run.is_over.store(true, Relaxed);
    for _ in 0..entities * clients {
        end.recv().expect("each client ends");
    }
    let all = run.turns.load(Relaxed);
    let bytes = (written() - before) as f64 / all as f64;
    drop(journal);
    system.shutdown();
    (
        turns as f64 / took.as_secs_f64(),
        used.div_f64(turns.max(1) as f64),
        bytes,
    )
}

/// A store of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Segments,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

/// The engines of this build.
const ENGINES: &[Engine] = &[
    Engine::Segments,
    #[cfg(feature = "sqlite")]
    Engine::Sqlite,
];

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "sqlite",
        }
    }

    fn open(self, system: &System, folder: &Path) -> Journal {
        let opened = match self {
            Self::Segments => Journal::open(&system.handle(), folder).map(|(journal, _)| journal),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => Journal::open_sqlite(&system.handle(), folder.join("journal.sqlite")),
        };
        opened.expect("the folder is ours")
    }

    /// Returns the engines to measure.
    fn selected() -> Vec<Self> {
        let Ok(only) = env::var("GARRICK_JOURNAL_ENGINE") else {
            return ENGINES.to_vec();
        };
        let is_selected = |engine: &&Self| engine.name() == only;
        let selected: Vec<_> = ENGINES.iter().filter(is_selected).copied().collect();
        let names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        assert!(
            !selected.is_empty(),
            "there is no engine {only:?} in this build: it has {names:?}"
        );
        selected
    }
}

/// Measures a row of the first table.
fn row(engine: Engine, load: Load) -> io::Result<()> {
    let place = Place::new()?;
    let before = raw(&place.0)?;
    let (turns, used, bytes) = turns(engine, &place.0.join("log"), load);
    let raw = (before + raw(&place.0)?) / 2.0;
    println!(
        "{:>9} {:>9} {:>9} {raw:>10.0} {turns:>10.0} {:>12.2} {:>7.2} us {bytes:>11.0}",
        engine.name(),
        load.entities,
        load.clients,
        turns / raw,
        used.as_secs_f64() * 1e6,
    );
    io::stdout().flush()
}

/// Returns the number of bytes that this process has passed to the system to write.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("a Linux system");
    let bytes = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

fn open(folder: &Path) -> SegmentLog {
    let files = Folder::create(folder).expect("the folder is ours");
    let opened = Options::new().open(Arc::new(files));
    opened.expect("the log is whole").0
}

/// Writes the events of several journals, in groups of 1,000.
fn fill(folder: &Path, journals: u64, events: u64) {
    let mut log = open(folder);
    let (mut group, payload) = (Group::new(), [7; PAYLOAD]);
    for number in 1..=events {
        for journal in 0..journals {
            let id = log.journal(&format!("counter/{journal}")).expect("a name");
            let event = Event {
                number,
                kind: EventKind { tag: 1, version: 1 },
                is_whole: false,
                payload: &payload,
            };
            group.add(id, event).expect("it is small");
            if group.len() == 1_000 {
                log.append(&group).expect("the disk works");
                group.clear();
            }
        }
    }
    log.append(&group).expect("the disk works");
}

/// Measures the opening of a log, and the start of all its entities.
fn recovery(folder: &Path, journals: u64, events: u64) {
    fill(folder, journals, events);
    let system = System::new().expect("there are threads");
    let (began, used) = (Instant::now(), cpu());
    let opened = Journal::open(&system.handle(), folder);
    let (journal, _) = opened.expect("the folder is ours");
    let (opened, opened_used) = (began.elapsed(), cpu() - used);
    let asks: Vec<_> = (0..journals)
        .map(|number| {
            let entity = journal.entity(format!("counter/{number}"), Counter);
            let counter = system.spawn(entity.expect("a name")).expect("it runs");
            counter.ask(Command::Get)
        })
        .collect();
    for ask in asks {
        assert_eq!(ask.wait(), Ok(events));
    }
    let (all, all_used) = (began.elapsed(), cpu() - used);
    let rate = |used: Duration| (journals * events) as f64 / used.as_secs_f64() / 1e6;
    println!(
        "{journals:>9} {events:>10} {:>9.2} s {:>11.2} s {:>9.2} {:>13.2}",
        opened.as_secs_f64(),
        all.as_secs_f64(),
        rate(opened_used),
        rate(all_used - opened_used),
    );
    drop(journal);
    system.shutdown();
}

fn main() -> io::Result<()> {
    if env::args().any(|arg| arg == "--test") {
        return Ok(());
    }
    println!(
        "{:>9} {:>9} {:>9} {:>10} {:>10} {:>12} {:>10} {:>11}",
        "engine",
        "entities",
        "clients",
        "raw /s",
        "turns /s",
        "turns / raw",
        "CPU /turn",
        "bytes /turn"
    );
    let engines = Engine::selected();
    let only = env::var("GARRICK_JOURNAL_ENTITIES").ok();
    let only = only.map(|only| only.parse().expect("it is a number"));
    for (entities, clients) in [(1, 1), (32, 1), (1_000, 1), (10_000, 1), (1, 1_000)] {
        if only.is_some_and(|only: usize| only != entities) {
            continue;
        }
        for engine in &engines {
            row(*engine, Load { entities, clients })?;
        }
    }
    if only.is_some() || !engines.contains(&Engine::Segments) {
        return Ok(());
    }
    println!();
    println!(
        "{:>9} {:>10} {:>11} {:>13} {:>9} {:>13}",
        "journals", "events", "log opened", "all started", "M/s opened", "M/s applied"
    );
    for (journals, events) in [(1, 1_000_000), (100_000, 10)] {
        let place = Place::new()?;
        recovery(&place.0.join("log"), journals, events);
    }
    Ok(())
}
