//! A counter that replaces its file at each change: it writes a new file and renames this file. If
//! it does not sync the names after the rename, a crash brings the old file back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the counter has confirmed this count.
#[derive(Debug)]
struct Confirmed(u8);

/// A fact: the counter has started with this count.
#[derive(Debug)]
struct Started(u8);

/// The mistake that a counter makes when it saves its count.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    SyncsNoNames,
    SyncsNoContent,
    WritesInPlace,
}

struct Counter {
    files: Arc<dyn Files>,
    mistake: Mistake,
    count: u8,
}

impl Counter {
    fn load(&self) -> io::Result<u8> {
        match self.files.read("count") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            content => Ok(content?.first().copied().unwrap_or(0)),
        }
    }

    fn store(&self, count: u8) -> io::Result<()> {
        match self.mistake {
            Mistake::None => self.files.replace("count", &[count]),
            Mistake::WritesInPlace => {
                match self.files.remove("count") {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                self.write("count", count)?;
                self.files.sync_names()
            }
            mistake => {
                let _ = self.files.remove("new");
                self.write("new", count)?;
                self.files.rename("new", "count")?;
                if mistake == Mistake::SyncsNoNames {
                    return Ok(());
                }
                self.files.sync_names()
            }
        }
    }

    /// Writes a new file.
    fn write(&self, name: &str, count: u8) -> io::Result<()> {
        let mut file = self.files.create(name)?;
        file.append(&[count])?;
        if self.mistake == Mistake::SyncsNoContent {
            return Ok(());
        }
        file.sync()
    }
}

impl Actor for Counter {
    type Msg = ();
    type Outcome = io::Result<()>;

    fn started(&mut self, cx: &mut Context<'_, ()>) -> io::Result<()> {
        self.count = self.load()?;
        // The count that was found may not be durable yet.
        self.store(self.count)?;
        cx.note(Started(self.count));
        Ok(())
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> io::Result<()> {
        let next = self.count + 1;
        self.store(next)?;
        self.count = next;
        cx.note(Confirmed(next));
        Ok(())
    }
}

const PROPERTY: &str = "a count that was confirmed is not forgotten";

fn counter(sim: &mut Sim, mistake: Mistake) {
    let files = Arc::new(sim.disk("counter"));
    sim.disks().all().crashes(50).tears().reorders();
    sim.restarting("counter", move |node| {
        let counter = node.spawn(Counter {
            files: files.clone(),
            mistake,
            count: 0,
        });
        let counter = counter.unwrap();
        (0..2).for_each(|_| counter.send(()).unwrap());
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("counter", 2, after);
    sim.always(PROPERTY, |facts| {
        facts.placed::<Started>().all(|(start, started)| {
            let confirmed = facts.placed::<Confirmed>();
            let mut before = confirmed.take_while(|(at, _)| *at < start);
            before.all(|(_, confirmed)| confirmed.0 <= started.0)
        })
    });
}

#[test]
fn a_rename_that_is_not_durable_is_found() {
    assert_found("renamed", PROPERTY, |sim| {
        counter(sim, Mistake::SyncsNoNames);
    });
}

#[test]
fn a_rename_of_content_that_is_not_durable_is_found() {
    assert_found("content", PROPERTY, |sim| {
        counter(sim, Mistake::SyncsNoContent);
    });
}

#[test]
fn a_file_that_is_replaced_in_place_is_found() {
    assert_found("in place", PROPERTY, |sim| {
        counter(sim, Mistake::WritesInPlace);
    });
}

#[test]
fn a_counter_that_replaces_its_file_is_right() {
    assert_right("replaced", |sim| counter(sim, Mistake::None));
}
