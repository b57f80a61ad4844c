//! The counters of a journal, and the progress while it is opened.
#![forbid(unsafe_code)]

use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, process};

use garrick_actor::files::{File, Files, Folder, Lock};
use garrick_actor::{Address, NoReply, Reply, System};
use garrick_journal::{
    BoxError, Decide, DurableActor, Event, EventKind, Group, Journal, JournalError, JournalSample,
    JournalState, Monitor, Options, Progress, SegmentLog, Stored,
};
use garrick_sim::Disk;
use garrick_sim::testing::Kit;
use garrick_testkit::ByHand;

/// An account that counts, and saves its state after every tenth event.
struct Account;

struct Add(u64, Reply<u64>);

struct Added(u64);

impl Stored for Added {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for Account {
    type Msg = Add;
    type State = u64;
    type Event = Added;
    type Outcome = ();

    fn decide(&self, sum: &u64, Add(number, reply): Add, cx: &mut Decide<'_, '_, Self>) {
        if number > 0 {
            cx.record(Added(number));
        }
        reply.send(sum + number);
    }

    fn apply(sum: &mut u64, Added(number): &Added) {
        *sum += number;
    }

    const SAVE_EVERY: u64 = 10;

    fn save(sum: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(sum.to_le_bytes());
        Some(EventKind { tag: 7, version: 1 })
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}

/// A function that is called at each sync of a file.
type Hook = Arc<Mutex<Box<dyn FnMut() -> io::Result<()> + Send>>>;

/// A disk that calls a hook at each sync of a file.
#[derive(Clone)]
struct Hooked {
    disk: Arc<dyn Files>,
    hook: Hook,
}

struct HookedFile(Box<dyn File>, Hook);

fn hooked(disk: impl Files + 'static) -> Hooked {
    Hooked {
        disk: Arc::new(disk),
        hook: Arc::new(Mutex::new(Box::new(|| Ok(())))),
    }
}

impl Hooked {
    fn on_sync(&self, hook: impl FnMut() -> io::Result<()> + Send + 'static) {
        *self.hook.lock().unwrap() = Box::new(hook);
    }

    fn files(&self) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }
}

impl std::fmt::Debug for Hooked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.disk.fmt(f)
    }
}

impl std::fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Files for Hooked {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = self.disk.create(name)?;
        Ok(Box::new(HookedFile(file, self.hook.clone())))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = self.disk.open(name)?;
        Ok(Box::new(HookedFile(file, self.hook.clone())))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        self.disk.lock()
    }
}

impl File for HookedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(at, bytes)
    }

    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(at, buffer)
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.0.read()
    }

    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.0.set_length(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        (self.1.lock().unwrap())()?;
        self.0.sync()
    }
}

/// Returns the total size in bytes of the files whose names end with `end`.
fn sizes(disk: &Disk, end: &str) -> u64 {
    let names = disk.list().unwrap();
    let names = names.iter().filter(|name| name.ends_with(end));
    names
        .map(|name| disk.read(name).unwrap().len() as u64)
        .sum()
}

fn add(kit: &mut Kit, account: &Address<Add>, number: u64) -> Result<u64, NoReply> {
    kit.answer(account.ask(|reply| Add(number, reply)))
}

#[test]
fn a_script_has_exact_numbers() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (journal, _) = Journal::open_files(kit.handle(), Arc::new(disk.clone())).unwrap();
    assert_eq!(journal.sample(), JournalSample::default());
    let spawn = |kit: &Kit, name: &str| kit.spawn(journal.entity(name, Account).unwrap()).unwrap();
    let (one, two) = (spawn(&kit, "one"), spawn(&kit, "two"));
    // A turn without events writes nothing.
    assert_eq!(add(&mut kit, &one, 0), Ok(0));
    let sample = journal.sample();
    assert_eq!((sample.groups, sample.syncs, sample.written), (0, 0, 0));
    assert_eq!(
        (sample.entities, sample.recoveries, sample.recovered),
        (2, 2, 0)
    );
    for number in 1..=7 {
        add(&mut kit, &one, number).unwrap();
    }
    // The turns that end before the writer runs are one group.
    let asks = [&one, &two].map(|account| account.ask(|reply| Add(8, reply)));
    for ask in asks {
        kit.answer(ask).unwrap();
    }
    let sample = journal.sample();
    assert_eq!((sample.groups, sample.turns, sample.events), (8, 9, 9));
    assert_eq!((sample.bytes, sample.failed, sample.failing), (72, 0, 0));
    assert_eq!((sample.waiting, sample.oldest), (0, Duration::ZERO));
    // The segment was created with two syncs, and the file has all that was written.
    assert_eq!((sample.segments, sample.syncs), (1, 8 + 2));
    assert_eq!(
        (sample.written, sample.size),
        (sizes(&disk, ""), sizes(&disk, ".log"))
    );
    // The tenth event comes with a saved state, which takes two syncs.
    for number in 9..=10 {
        add(&mut kit, &one, number).unwrap();
    }
    let sample = journal.sample();
    assert_eq!((sample.groups, sample.saved, sample.syncs), (10, 1, 10 + 4));
    assert_eq!(
        (sample.written, sample.size),
        (sizes(&disk, ""), sizes(&disk, ".log"))
    );
    // Another start reads the state, and no event.
    drop(one);
    kit.run();
    assert_eq!(journal.sample().entities, 1);
    let one = spawn(&kit, "one");
    assert_eq!(add(&mut kit, &one, 0), Ok(55));
    drop(two);
    kit.run();
    let two = spawn(&kit, "two");
    assert_eq!(add(&mut kit, &two, 0), Ok(8));
    let sample = journal.sample();
    assert_eq!(
        (sample.entities, sample.recoveries, sample.recovered),
        (2, 4, 1)
    );
    assert!(!sample.is_broken && sample.notices == 0);
}

#[test]
fn a_log_that_is_opened_often_counts_what_it_copies() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    for round in 0..12 {
        let (journal, _) = Journal::open_files(kit.handle(), Arc::new(disk.clone())).unwrap();
        let account = kit.spawn(journal.entity("a", Account).unwrap()).unwrap();
        assert_eq!(add(&mut kit, &account, 1), Ok(round + 1));
        let sample = journal.sample();
        assert_eq!(sample.size, sizes(&disk, ".log"));
        // The log has 8 files then.
        let is_compacted = round == 7;
        assert_eq!(sample.compactions, u64::from(is_compacted));
        assert_eq!(sample.copied > 0, is_compacted, "{round}: {sample:?}");
        drop((journal, account));
        kit.run();
        kit.crash();
    }
}

#[test]
fn times_are_those_of_the_clock_of_the_system() {
    let (clock, folder) = (ByHand::new(), format!("garrick-sample-{}", process::id()));
    let folder = env::temp_dir().join(folder);
    let files = hooked(Folder::create(&folder).unwrap());
    let system = System::builder()
        .workers(1)
        .world(clock.clone())
        .start()
        .unwrap();
    let (journal, _) = Journal::open_files(&system.handle(), files.files()).unwrap();
    let account = system.spawn(journal.entity("a", Account).unwrap()).unwrap();
    let ask = |number| account.ask(|reply| Add(number, reply));
    ask(1).wait().unwrap();
    // While a group is being written, its turn waits, and the time counts.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (monitor, samples, hand) = (journal.monitor("a"), seen.clone(), clock.clone());
    files.on_sync(move || {
        samples.lock().unwrap().push(monitor.sample());
        hand.advance(Duration::from_millis(30));
        samples.lock().unwrap().push(monitor.sample());
        Ok(())
    });
    ask(2).wait().unwrap();
    let hand = clock.clone();
    files.on_sync(move || {
        hand.advance(Duration::from_millis(10));
        Ok(())
    });
    ask(3).wait().unwrap();
    // The times of the entity's events: the answer comes before the writer is done.
    let sample = journal.sample();
    assert_eq!(
        (sample.writing.as_millis(), sample.longest.as_millis()),
        (40, 30)
    );
    let seen = mem::take(&mut *seen.lock().unwrap());
    let times = |sample: &JournalSample| {
        let times = [sample.oldest, sample.writing, sample.longest];
        (sample.waiting, times.map(|time| time.as_millis()))
    };
    assert_eq!(
        seen.iter().map(times).collect::<Vec<_>>(),
        [(1, [0; 3]), (1, [30; 3])]
    );
    drop((account, journal));
    system.shutdown();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_disk_that_fails_shows_until_it_writes_again() {
    let mut kit = Kit::new();
    let files = hooked(kit.disk());
    let (journal, _) = Journal::open_files(kit.handle(), files.files()).unwrap();
    let monitor = journal.monitor("bank");
    let spawn = |kit: &Kit| kit.spawn(journal.entity("a", Account).unwrap()).unwrap();
    let account = spawn(&kit);
    assert_eq!(add(&mut kit, &account, 1), Ok(1));
    drop(account);
    kit.run();
    // The sync of a group fails, but the next segment can be created.
    let fails = Arc::new(AtomicBool::new(true));
    let next = fails.clone();
    files.on_sync(move || match next.swap(false, SeqCst) {
        true => Err(io::Error::other("the cable is loose")),
        false => Ok(()),
    });
    let account = spawn(&kit);
    assert!(add(&mut kit, &account, 2).is_err());
    kit.run();
    let sample = monitor.sample();
    assert_eq!((sample.groups, sample.failed, sample.failing), (1, 1, 1));
    assert!(!sample.is_broken && sample.waiting == 0);
    let why = "cannot sync \"0000000001.log\": the cable is loose";
    assert_eq!(monitor.failure().as_deref(), Some(why));
    let account = spawn(&kit);
    assert_eq!(add(&mut kit, &account, 3), Ok(4));
    let sample = monitor.sample();
    assert_eq!((sample.groups, sample.failed, sample.failing), (2, 1, 0));
    assert_eq!(monitor.failure(), None);
    // The next segment cannot be created either.
    files.on_sync(|| Err(io::Error::other("the disk is gone")));
    assert!(add(&mut kit, &account, 5).is_err());
    kit.run();
    let sample = monitor.sample();
    assert_eq!(
        (sample.failed, sample.failing, sample.is_broken),
        (2, 1, true)
    );
    kit.failures();
}

#[test]
fn a_state_that_cannot_be_saved_is_a_notice() {
    let mut kit = Kit::new();
    let files = hooked(kit.disk());
    let (journal, _) = Journal::open_files(kit.handle(), files.files()).unwrap();
    let account = kit.spawn(journal.entity("a", Account).unwrap()).unwrap();
    for number in 1..10 {
        add(&mut kit, &account, number).unwrap();
    }
    // The second sync is that of the state.
    let mut count = 0;
    files.on_sync(move || {
        count += 1;
        if count == 2 {
            Err(io::Error::other("worn out"))
        } else {
            Ok(())
        }
    });
    assert_eq!(add(&mut kit, &account, 10), Ok(55));
    let (sample, monitor) = (journal.sample(), journal.monitor("a"));
    assert_eq!(
        (sample.groups, sample.failed, sample.saved, sample.notices),
        (10, 0, 0, 1)
    );
    let notice = monitor.notice().unwrap();
    assert!(notice.ends_with(".snapshot\": worn out"), "{notice}");
    assert_eq!(journal.take_notices().len(), 1);
    assert!(journal.take_notices().is_empty());
    assert_eq!(monitor.sample().notices, 1, "the number is a total");
}

/// Creates a log with three segments of 1 MiB and more each.
fn fill(files: Arc<dyn Files>) -> SegmentLog {
    let options = Options::new().segment_bytes(3 << 19);
    let (mut log, _) = options.open(files).unwrap();
    let journal = log.journal("a").unwrap();
    for number in 1..=3 {
        let mut group = Group::new();
        let event = Event {
            number,
            kind: EventKind::default(),
            is_whole: false,
            payload: &vec![7; 5 << 18],
        };
        group.add(journal, event).unwrap();
        log.append(&group).unwrap();
    }
    log
}

#[test]
fn an_opening_reports_its_progress_once_for_each_mebibyte() {
    let mut kit = Kit::new();
    let disk: Arc<dyn Files> = Arc::new(kit.disk());
    drop(fill(disk.clone()));
    let all = sizes(&kit.disk(), ".log");
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = reports.clone();
    let options = Options::new().progress(move |progress| told.lock().unwrap().push(progress));
    let (log, opened) = options.open(disk).unwrap();
    assert_eq!(
        (opened.bytes, log.find("a").map(|a| log.newest(a))),
        (all, Some(3))
    );
    let reports = mem::take(&mut *reports.lock().unwrap());
    let mut last = 0;
    for (number, report) in reports.iter().enumerate() {
        assert_eq!(report.all, all);
        assert!(number == 0 || report.read == all || report.read >= last + (1 << 20));
        last = report.read;
    }
    assert_eq!((reports[0].read, last), (0, all));
    assert!(reports.len() > 3, "{reports:?}");
}

#[test]
fn a_panic_of_a_report_leaves_nothing_half_way() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    drop(fill(Arc::new(disk.clone())));
    let content = |disk: &Disk| {
        let names = disk.list().unwrap().into_iter();
        names
            .map(|name| (disk.read(&name).unwrap(), name))
            .collect::<Vec<_>>()
    };
    let (before, monitor) = (content(&disk), Monitor::new("bank"));
    for least in [0, 1, 2 << 20] {
        let options = Options::new().progress(move |progress| {
            assert!(progress.read < least, "no report is wanted");
        });
        let handle = kit.handle().clone();
        let open = || {
            monitor
                .open(&handle, &options, Arc::new(disk.clone()))
                .map(drop)
        };
        catch_unwind(AssertUnwindSafe(open)).unwrap_err();
        assert!(matches!(monitor.state(), JournalState::Failed(_)));
        assert!(content(&disk) == before, "nothing was written");
    }
    // The folder is not locked any more.
    let (journal, _) = Journal::open_files(kit.handle(), Arc::new(disk)).unwrap();
    drop(journal);
}

#[test]
fn a_monitor_shows_a_journal_from_before_it_is_open_until_it_is_closed() {
    let mut kit = Kit::new();
    let disk: Arc<dyn Files> = Arc::new(kit.disk());
    drop(fill(disk.clone()));
    let monitor = Monitor::new("bank");
    assert_eq!(
        (monitor.name(), monitor.state()),
        ("bank", JournalState::New)
    );
    assert_eq!(monitor.sample(), JournalSample::default());
    let states = Arc::new(Mutex::new(Vec::new()));
    let (seen, told) = (monitor.clone(), states.clone());
    let options = Options::new().progress(move |progress: Progress| {
        assert_eq!(seen.state(), JournalState::Opening(progress));
        told.lock().unwrap().push(progress);
    });
    let handle = kit.handle().clone();
    let (journal, _) = monitor.open(&handle, &options, disk.clone()).unwrap();
    assert!(states.lock().unwrap().len() > 3);
    assert_eq!(
        (monitor.state(), monitor.sample().segments),
        (JournalState::Open, 4)
    );
    // Another one cannot open it meanwhile, and tells why.
    let other = Monitor::new("other");
    let error = other
        .open(&handle, &Options::new(), disk.clone())
        .unwrap_err();
    assert!(matches!(error, JournalError::Disk { doing: "lock", .. }));
    let JournalState::Failed(why) = other.state() else {
        panic!("{:?}", other.state());
    };
    assert!(why.starts_with("cannot lock"), "{why}");
    // A monitor does not keep the journal open.
    drop(journal);
    kit.run();
    assert_eq!(monitor.state(), JournalState::Closed);
    assert_eq!(monitor.sample().segments, 4);
    monitor.open(&handle, &Options::new(), disk).unwrap();
}
