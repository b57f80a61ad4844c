//! A log whose sync has failed. If the log syncs again and trusts the result of the second sync, a
//! crash loses entries that the log has confirmed, because the failed sync has dropped them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::{File, Files};
use garrick_actor::{Actor, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the log has confirmed this entry.
#[derive(Debug)]
struct Confirmed(u8);

/// A fact: the log has started with these entries.
#[derive(Debug)]
struct Started(Vec<u8>);

/// Number of times that a log tries to write an entry.
const TRIES: u32 = 8;

#[derive(Clone, Copy, PartialEq)]
enum AfterFailure {
    /// Syncs the same file again.
    SyncsAgain,
    /// Writes a new file with all confirmed entries and the new one.
    WritesNewFile,
}

struct Log {
    files: Arc<dyn Files>,
    after_failure: AfterFailure,
    file: Option<Box<dyn File>>,
    entries: Vec<u8>,
}

impl Log {
    fn load(&mut self) -> io::Result<()> {
        self.entries = match self.files.read("log") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            content => content?,
        };
        self.rewrite()
    }

    /// Replaces the file by a new file with all entries.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        for _ in 0..TRIES {
            result = self.files.replace("log", &self.entries);
            if result.is_ok() {
                self.file = Some(self.files.open("log")?);
                break;
            }
        }
        result
    }

    fn add(&mut self, entry: u8) -> io::Result<()> {
        self.entries.push(entry);
        let file = self.file.as_mut().expect("it is open after the start");
        file.append(&[entry])?;
        if file.sync().is_ok() {
            return Ok(());
        }
        match self.after_failure {
            AfterFailure::WritesNewFile => self.rewrite(),
            AfterFailure::SyncsAgain => {
                let mut tries = (1..TRIES).map(|_| file.sync());
                tries.find(Result::is_ok).unwrap_or_else(|| file.sync())
            }
        }
    }
}

impl Actor for Log {
    type Msg = u8;
    type Outcome = io::Result<()>;

    fn started(&mut self, cx: &mut Context<'_, u8>) -> io::Result<()> {
        self.load()?;
        cx.note(Started(self.entries.clone()));
        Ok(())
    }

    fn receive(&mut self, entry: u8, cx: &mut Context<'_, u8>) -> io::Result<()> {
        self.add(entry)?;
        cx.note(Confirmed(entry));
        Ok(())
    }
}

fn log(sim: &mut Sim, after_failure: AfterFailure) {
    let files = Arc::new(sim.disk("log"));
    sim.disks().all().sync_fails(200);
    // After many failures in a row, the actor gives up.
    sim.allow_failures();
    sim.restarting("log", move |node| {
        let log = node.spawn(Log {
            files: files.clone(),
            after_failure,
            file: None,
            entries: Vec::new(),
        });
        let log = log.unwrap();
        (1..4).for_each(|entry| log.send(entry).unwrap());
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("log", 1, after);
    sim.always("what was confirmed is there", |facts| {
        let Some((start, started)) = facts.placed::<Started>().next_back() else {
            return true;
        };
        let confirmed = facts.placed::<Confirmed>();
        let mut before = confirmed.take_while(|(at, _)| *at < start);
        before.all(|(_, entry)| started.0.contains(&entry.0))
    });
}

#[test]
fn a_sync_that_is_tried_again_is_found() {
    let property = "what was confirmed is there";
    assert_found("retry", property, |sim| log(sim, AfterFailure::SyncsAgain));
}

#[test]
fn a_log_that_writes_a_new_file_is_right() {
    assert_right("new file", |sim| log(sim, AfterFailure::WritesNewFile));
}
