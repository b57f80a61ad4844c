//! Journals as sources of telemetry.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Address, NoReply, Reply};
use garrick_journal::{
    BoxError, Decide, DurableActor, EventKind, Journal, Monitor, Options, Stored,
};
use garrick_sim::testing::Kit;
use garrick_telemetry::{
    JournalPhase, JournalStatus, Level, Moment, Sampler, Settings, Snapshot, metrics_text,
};

/// An actor that records each message.
struct Records;

struct Recorded(u64);

impl Stored for Recorded {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for Records {
    type Msg = (u64, Reply<u64>);
    type State = u64;
    type Event = Recorded;
    type Outcome = ();

    fn decide(&self, sum: &u64, (number, reply): Self::Msg, cx: &mut Decide<'_, '_, Self>) {
        cx.record(Recorded(number));
        reply.send(sum + number);
    }

    fn apply(sum: &mut u64, Recorded(number): &Recorded) {
        *sum += number;
    }
}

/// A sampler of journals that takes one sample per second.
struct Looks {
    sampler: Sampler,
    seconds: u64,
    /// Texts of the alerts that have begun or ended.
    told: Vec<String>,
}

impl Looks {
    fn new() -> Self {
        Self {
            sampler: Sampler::new(Settings::default()).unwrap(),
            seconds: 0,
            told: Vec::new(),
        }
    }

    fn look(&mut self) -> Snapshot {
        self.seconds += 1;
        let (snapshot, transitions) = self.sampler.tick(Moment {
            uptime: Duration::from_secs(self.seconds),
            unix_ms: self.seconds * 1_000,
        });
        let texts = transitions.into_iter().map(|one| one.alert.text);
        self.told.extend(texts);
        snapshot
    }

    /// Takes a sample, and returns the only journal in it.
    fn journal(&mut self) -> JournalStatus {
        let mut journals = self.look().journals;
        assert_eq!(journals.len(), 1);
        journals.remove(0)
    }
}

type Entity = Address<(u64, Reply<u64>)>;

fn spawn(kit: &Kit, journal: &Journal, name: &str) -> Entity {
    kit.spawn(journal.entity(name, Records).unwrap()).unwrap()
}

fn add(kit: &mut Kit, entity: &Entity, number: u64) -> Result<u64, NoReply> {
    kit.answer(entity.ask(|reply| (number, reply)))
}

#[test]
fn a_journal_is_seen_with_its_numbers_and_rates() {
    let (mut kit, mut looks) = (Kit::new(), Looks::new());
    let disk: Arc<dyn Files> = Arc::new(kit.disk());
    let monitor = Monitor::new("bank");
    looks.sampler.watch(monitor.clone());
    let new = looks.journal();
    assert_eq!(
        (&*new.name, &*new.label, new.phase),
        ("bank", "bank", JournalPhase::New)
    );
    let handle = kit.handle().clone();
    let (journal, _) = monitor.open(&handle, &Options::new(), disk).unwrap();
    let entity = spawn(&kit, &journal, "a");
    let open = looks.journal();
    assert_eq!(
        (open.phase, open.level, open.groups),
        (JournalPhase::Open, Level::Ok, 0)
    );
    for number in 1..=20 {
        add(&mut kit, &entity, number).unwrap();
    }
    let seen = looks.journal();
    assert_eq!((seen.groups, seen.turns, seen.events), (20, 20, 20));
    assert_eq!(
        (seen.group_rate, seen.turn_rate, seen.event_rate),
        (20.0, 20.0, 20.0)
    );
    assert_eq!((seen.event_bytes, seen.group_turns), (160, Some(1.0)));
    assert_eq!((seen.syncs, seen.segments, seen.entities), (22, 1, 1));
    assert_eq!((seen.size_bytes, seen.recoveries), (seen.written_bytes, 1));
    assert_eq!(seen.opening_bytes, None);
    drop((journal, entity));
    kit.run();
    assert_eq!(looks.journal().phase, JournalPhase::Closed);
    // Another journal with this monitor begins at zero.
    let disk: Arc<dyn Files> = Arc::new(kit.disk());
    let (journal, _) = monitor.open(&handle, &Options::new(), disk).unwrap();
    let seen = looks.journal();
    assert_eq!(
        (seen.phase, seen.groups, seen.turn_rate),
        (JournalPhase::Open, 0, 0.0)
    );
    assert!(looks.told.is_empty(), "{:?}", looks.told);
    drop(journal);
}

#[test]
fn a_journal_is_seen_while_it_is_opened() {
    let mut kit = Kit::new();
    let disk: Arc<dyn Files> = Arc::new(kit.disk());
    let handle = kit.handle().clone();
    let (journal, _) = Journal::open_files(&handle, disk.clone()).unwrap();
    let entity = spawn(&kit, &journal, "a");
    add(&mut kit, &entity, 1).unwrap();
    drop((journal, entity));
    kit.run();
    let monitor = Monitor::new("bank");
    let looks = Arc::new(std::sync::Mutex::new((Looks::new(), Vec::new())));
    looks.lock().unwrap().0.sampler.watch(monitor.clone());
    let told = looks.clone();
    let options = Options::new().progress(move |progress| {
        let (looks, seen) = &mut *told.lock().unwrap();
        let journal = looks.journal();
        assert_eq!(journal.phase, JournalPhase::Opening);
        assert_eq!(journal.opening_bytes, Some(progress.all));
        seen.push(journal.opening_read_bytes);
    });
    let (journal, opened) = monitor.open(&handle, &options, disk).unwrap();
    let (looks, seen) = &mut *looks.lock().unwrap();
    assert_eq!(*seen, [Some(0), Some(opened.bytes)]);
    assert_eq!(looks.journal().phase, JournalPhase::Open);
    drop(journal);
}

#[test]
fn a_failing_disk_is_an_alert_until_the_journal_writes_again() {
    let (mut kit, mut looks) = (Kit::new(), Looks::new());
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let (journal, _) = Journal::open_files(kit.handle(), files).unwrap();
    looks.sampler.watch(journal.monitor("bank"));
    let entity = spawn(&kit, &journal, "a");
    assert_eq!(add(&mut kit, &entity, 1), Ok(1));
    assert_eq!(looks.journal().level, Level::Ok);
    kit.disks().all().full(0);
    add(&mut kit, &entity, 2).unwrap_err();
    let snapshot = looks.look();
    let (seen, alert) = (&snapshot.journals[0], &snapshot.alerts[0]);
    assert_eq!((seen.failed_groups, seen.failing_groups), (1, 1));
    assert_eq!(
        (seen.level, seen.phase),
        (Level::Critical, JournalPhase::Open)
    );
    assert_eq!((&alert.on, &*alert.probe), (&seen.id, "failing_groups"));
    let text = "The journal `bank` cannot write: no space is left on the disk to extend \
                \"0000000001.log\".";
    assert_eq!(alert.text, text);
    let metrics = metrics_text(&snapshot, "").text;
    let alert =
        r#"garrick_alert_level{kind="journal",place="",on="bank",probe="failing_groups"} 2"#;
    assert!(metrics.contains(alert), "{metrics}");
    // There is space again.
    kit.disks().all().full(u64::MAX);
    let entity = spawn(&kit, &journal, "a");
    assert_eq!(add(&mut kit, &entity, 3), Ok(4));
    let snapshot = looks.look();
    assert!(snapshot.alerts.is_empty(), "{:?}", snapshot.alerts);
    assert_eq!(looks.told[1..], ["The journal `bank` writes again."]);
    kit.failures();
}

#[test]
fn a_broken_log_and_one_that_cannot_be_opened_are_alerts() {
    let (mut kit, mut looks) = (Kit::new(), Looks::new());
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let handle = kit.handle().clone();
    let (journal, _) = Journal::open_files(&handle, files.clone()).unwrap();
    looks.sampler.watch(journal.monitor("bank"));
    let entity = spawn(&kit, &journal, "a");
    add(&mut kit, &entity, 1).unwrap();
    kit.disks().all().sync_fails(1_000);
    add(&mut kit, &entity, 2).unwrap_err();
    let other = Monitor::new("shop");
    looks.sampler.watch(other.clone());
    other.open(&handle, &Options::new(), files).unwrap_err();
    let snapshot = looks.look();
    let phases: Vec<_> = snapshot.journals.iter().map(|one| one.phase).collect();
    assert_eq!(phases, [JournalPhase::Broken, JournalPhase::Failed]);
    let texts: Vec<_> = snapshot.alerts.iter().map(|alert| &*alert.text).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    let broken = "The journal `bank` is broken, and must be opened again: cannot sync \
                  \"0000000001.log\": ";
    assert!(texts[0].starts_with(broken), "{texts:?}");
    assert!(
        texts[1].starts_with("The journal `shop` cannot be opened: cannot lock"),
        "{texts:?}"
    );
    kit.failures();
}
