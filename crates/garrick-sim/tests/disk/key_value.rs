//! A store of keys and values that writes each change to a log. If it acknowledges a change before
//! the log is synced, a crash loses an acknowledged change.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::{File, Files};
use garrick_actor::{Actor, Context};
use garrick_sim::{Check, Choosing, DiskFault, Sim};

use crate::{assert_found, assert_right};

/// A fact: a change was acknowledged.
#[derive(Debug)]
struct Acknowledged(u8, u8);

/// A fact: the store has started with these values.
#[derive(Debug)]
struct Loaded(BTreeMap<u8, u8>);

/// A message that sets a key to a value.
struct Set(u8, u8);

#[derive(Clone)]
struct Store {
    files: Arc<dyn Files>,
    syncs: bool,
}

/// The actor, which has loaded its log.
struct Loading {
    store: Store,
    log: Option<Box<dyn File>>,
}

impl Store {
    /// Opens the log, or creates it.
    fn log(&self) -> io::Result<Box<dyn File>> {
        let log = match self.files.open("log") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.files.create("log")?,
            log => log?,
        };
        // The name of a log that was found may not be durable either.
        self.files.sync_names()?;
        Ok(log)
    }
}

impl Loading {
    fn load(&mut self) -> io::Result<BTreeMap<u8, u8>> {
        let mut log = self.store.log()?;
        let content = log.read()?;
        let (records, rest) = content.as_chunks::<2>();
        if !rest.is_empty() {
            log.set_length(2 * records.len() as u64)?;
        }
        // A value that is shown must be durable.
        log.sync()?;
        self.log = Some(log);
        Ok(records.iter().map(|&[key, value]| (key, value)).collect())
    }

    fn set(&mut self, key: u8, value: u8) -> io::Result<()> {
        let log = self.log.as_mut().expect("it is open after the start");
        log.append(&[key, value])?;
        if self.store.syncs {
            log.sync()?;
        }
        Ok(())
    }
}

impl Actor for Loading {
    type Msg = Set;
    type Outcome = io::Result<()>;

    fn started(&mut self, cx: &mut Context<'_, Set>) -> io::Result<()> {
        let loaded = self.load()?;
        cx.note(Loaded(loaded));
        Ok(())
    }

    fn receive(&mut self, Set(key, value): Set, cx: &mut Context<'_, Set>) -> io::Result<()> {
        self.set(key, value)?;
        cx.note(Acknowledged(key, value));
        Ok(())
    }
}

fn key_value(sim: &mut Sim, syncs: bool) {
    let files = Arc::new(sim.disk("store"));
    let store = Store { files, syncs };
    sim.restarting("store", move |node| {
        let store = node.spawn(Loading {
            store: store.clone(),
            log: None,
        });
        let store = store.unwrap();
        store.send(Set(1, 10)).unwrap();
        store.send(Set(2, 20)).unwrap();
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("store", 2, after);
    sim.always("acknowledged changes are loaded", |facts| {
        let Some((at, loaded)) = facts.placed::<Loaded>().next_back() else {
            return true;
        };
        let changes = facts.placed::<Acknowledged>();
        let mut before = changes.take_while(|(change, _)| *change < at);
        before.all(|(_, Acknowledged(key, value))| loaded.0.get(key) == Some(value))
    });
}

#[test]
fn a_change_that_is_acknowledged_before_the_sync_is_found() {
    let property = "acknowledged changes are loaded";
    let failed = assert_found("acknowledged", property, |sim| key_value(sim, false));
    // The fault is part of the report.
    let text = failed.to_string();
    assert!(
        text.contains("DiskFault { disk: \"store\", file: \"log\""),
        "{text}"
    );
}

#[test]
fn a_store_that_syncs_first_is_right() {
    assert_right("synced", |sim| key_value(sim, true));
}

#[test]
fn all_orders_are_searched_with_a_disk() {
    let run = |syncs| {
        let check = Check::new("all orders").strategy(Choosing::All);
        check.run(|sim| {
            key_value(sim, syncs);
            sim.disks().all().loses_all();
        })
    };
    let failed = run(false).unwrap_err();
    assert_eq!(failed.broken().property, "acknowledged changes are loaded");
    let report = run(true).unwrap_or_else(|failed| panic!("{failed}"));
    assert!(report.complete, "{report}");
}

#[test]
fn a_disk_that_lies_breaks_a_right_store() {
    let property = "acknowledged changes are loaded";
    assert_found("lies", property, |sim| {
        key_value(sim, true);
        sim.disks().all().sync_lies(300);
        sim.always("at most a hundred faults", |facts| {
            facts.seen::<DiskFault>().len() <= 100
        });
    });
}
