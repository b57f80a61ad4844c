//! A log that contains records, each of which consists of a length and a text. A reader that trusts
//! the length of the last record mistakes the rest of a torn write for a record.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: this text was read from the log.
#[derive(Debug)]
struct Read(Vec<u8>);

const TEXTS: [&[u8]; 2] = [b"hello", b"world"];

/// Number of bytes before each text: its length and its checksum.
const HEAD: usize = 5;

struct Log {
    files: Arc<dyn Files>,
    /// True if the reader checks the checksum.
    checks: bool,
}

/// Returns the hash FNV-1a of a text and its length.
fn checksum(text: &[u8]) -> [u8; 4] {
    let add = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    text.iter()
        .fold(0x811c_9dc5 ^ text.len() as u32, add)
        .to_le_bytes()
}

impl Log {
    /// Returns the records of the log.
    fn records(&self, content: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = content;
        let mut records = Vec::new();
        while let [length, a, b, c, d, after @ ..] = rest
            && let Some((text, next)) = after.split_at_checked(usize::from(*length))
        {
            if self.checks && [*a, *b, *c, *d] != checksum(text) {
                break;
            }
            records.push(text.to_vec());
            rest = next;
        }
        records
    }

    fn open(&self) -> io::Result<Vec<Vec<u8>>> {
        let content = match self.files.read("log") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.files.create("log")?;
                Vec::new()
            }
            content => content?,
        };
        self.files.sync_names()?;
        let records = self.records(&content);
        let length: usize = records.iter().map(|text| HEAD + text.len()).sum();
        let mut log = self.files.open("log")?;
        log.set_length(length as u64)?;
        log.sync()?;
        Ok(records)
    }

    fn add(&self, text: &[u8]) -> io::Result<()> {
        let mut log = self.files.open("log")?;
        let length = [text.len() as u8];
        log.append(&[&length, &checksum(text)[..], text].concat())?;
        log.sync()
    }
}

impl Actor for Log {
    type Msg = &'static [u8];
    type Outcome = io::Result<()>;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> io::Result<()> {
        for text in self.open()? {
            cx.note(Read(text));
        }
        Ok(())
    }

    fn receive(&mut self, text: &'static [u8], _: &mut Context<'_, Self::Msg>) -> io::Result<()> {
        self.add(text)
    }
}

fn log(sim: &mut Sim, checks: bool) {
    let files = Arc::new(sim.disk("log"));
    sim.disks().of("log").crashes(100).tears().reorders();
    sim.restarting("log", move |node| {
        let files = files.clone();
        let log = node.spawn(Log { files, checks }).unwrap();
        for text in TEXTS {
            log.send(text).unwrap();
        }
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("log", 2, after);
    sim.always("only texts that were written are read", |facts| {
        facts.seen::<Read>().all(|read| TEXTS.contains(&&*read.0))
    });
}

#[test]
fn a_reader_that_trusts_a_torn_record_is_found() {
    let property = "only texts that were written are read";
    assert_found("torn", property, |sim| log(sim, false));
}

#[test]
fn a_reader_with_a_checksum_is_right() {
    assert_right("checksum", |sim| log(sim, true));
}
