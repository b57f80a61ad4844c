//! A log has records of a length and a text. A reader that trusts the length of the last record
//! takes the rest of a torn write for a record.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A text was read from the log.
#[derive(Debug)]
struct Read(Vec<u8>);

const TEXTS: [&[u8]; 2] = [b"hello", b"world"];

/// Number of bytes before each text: its length and its checksum.
const HEAD: usize = 2;

struct Log {
    files: Arc<dyn Files>,
    /// True if the reader checks the checksum.
    checks: bool,
}

fn checksum(text: &[u8]) -> u8 {
    let add = |sum: u8, byte: &u8| sum.rotate_left(3) ^ byte.wrapping_mul(31);
    text.iter().fold(text.len() as u8 ^ 0x5a, add)
}

impl Log {
    /// Returns the records of the log.
    fn records(&self, content: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = content;
        let mut records = Vec::new();
        while let [length, sum, after @ ..] = rest
            && let Some((text, next)) = after.split_at_checked(usize::from(*length))
        {
            if self.checks && *sum != checksum(text) {
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
        let head = [text.len() as u8, checksum(text)];
        log.append(&[&head, text].concat())?;
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

    /// Adds a text without a sync at first, as a log that syncs in groups does.
    fn receive(&mut self, text: &'static [u8], _: &mut Context<'_, Self::Msg>) -> io::Result<()> {
        self.add(text)
    }
}
