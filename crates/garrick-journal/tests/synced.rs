//! An event is synced before it is acknowledged, as the system calls of the process show.
//!
//! `cargo xtask journal` runs this test. It needs `strace`, and the right to trace a process.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::{env, fs};

use garrick_actor::{Actor, Address, Context, NoReply, Reply, System};
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};
use garrick_testkit::Place;

/// Number of entities, each with a client.
const ENTITIES: u64 = 8;

/// Number of events of each entity.
const EVENTS: u64 = 100;

/// Environment variable with the folder of the traced process.
const FOLDER: &str = "GARRICK_JOURNAL_SYNCED";

struct Counter {
    number: u64,
}

/// An event: the number of the entity, and the number of the event. Encoded as text, so that it can
/// be read in the trace.
struct Counted(u64, u64);

impl Stored for Counted {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(token(self.0, self.1).as_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Err("nothing is read".into())
    }
}

fn token(entity: u64, event: u64) -> String {
    format!("<{entity}:{event}>")
}

impl DurableActor for Counter {
    type Msg = Reply<u64>;
    type State = u64;
    type Event = Counted;
    type Outcome = ();

    fn decide(&self, count: &u64, reply: Reply<u64>, cx: &mut Decide<'_, '_, Self>) {
        cx.record(Counted(self.number, count + 1));
        reply.send(count + 1);
    }

    fn apply(count: &mut u64, _: &Counted) {
        *count += 1;
    }
}

/// An actor that asks a counter, one question at a time, and prints each answer.
struct Client {
    number: u64,
    counter: Address<Reply<u64>>,
    ended: Sender<()>,
}

impl Actor for Client {
    type Msg = Result<u64, NoReply>;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) {
        cx.ask(&self.counter, |reply| reply, |answer| answer);
    }

    fn receive(&mut self, answer: Result<u64, NoReply>, cx: &mut Context<'_, Self::Msg>) {
        let event = answer.expect("the disk works");
        let line = format!("done {}\n", token(self.number, event));
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        if event < EVENTS {
            cx.ask(&self.counter, |reply| reply, |answer| answer);
        } else {
            self.ended.send(()).unwrap();
        }
    }
}

/// Runs the counters and their clients, in the process that is traced.
fn count(folder: &Path) {
    let system = System::new().unwrap();
    let (journal, _) = Journal::open(&system.handle(), folder).unwrap();
    let (ended, end) = channel();
    for number in 0..ENTITIES {
        let entity = journal.entity(format!("counter/{number}"), Counter { number });
        let client = Client {
            number,
            counter: system.spawn(entity.unwrap()).unwrap(),
            ended: ended.clone(),
        };
        drop(system.spawn(client).unwrap());
    }
    for _ in 0..ENTITIES {
        end.recv().unwrap();
    }
    drop(journal);
    system.shutdown();
}

/// The results of the system calls so far.
#[derive(Default)]
struct Trace {
    /// Events that were written to a segment.
    written: BTreeSet<String>,
    /// For each process with a sync that has not ended, the events that were written before this
    /// sync began.
    syncing: BTreeMap<String, BTreeSet<String>>,
    /// Events that were written before the beginning of a sync that has ended.
    synced: BTreeSet<String>,
    /// Number of events that were acknowledged.
    acknowledged: usize,
}

impl Trace {
    /// Reads a line of the trace: the process, and a system call or a part of it.
    ///
    /// # Panics
    /// Panics if an event is acknowledged before a sync of it has ended.
    fn read(&mut self, line: &str) {
        let (process, call) = line.split_once(' ').expect("a process");
        let call = call.trim_start();
        let is_sync = call.starts_with("fdatasync(") || call.starts_with("fsync(");
        let is_over = call.contains("sync resumed>");
        if is_sync {
            self.syncing
                .insert(process.to_owned(), self.written.clone());
        }
        if (is_sync && !call.contains("unfinished")) || is_over {
            assert!(
                call.trim_end().ends_with("= 0"),
                "a sync has failed: {line}"
            );
            let synced = self.syncing.remove(process);
            self.synced.extend(synced.expect("a sync has begun"));
        }
        if !call.starts_with("write(") && !call.starts_with("pwrite64(") {
            return;
        }
        let tokens = call
            .split('<')
            .skip(1)
            .filter_map(|text| text.split_once('>'));
        let is_token = |text: &&str| {
            text.split_once(':')
                .is_some_and(|(a, b)| is_number(a) && is_number(b))
        };
        for token in tokens.map(|(text, _)| text).filter(is_token) {
            if call.contains("done ") {
                assert!(
                    self.synced.contains(token),
                    "{token} is acknowledged before a sync"
                );
                self.acknowledged += 1;
            } else if call.contains(".log>") {
                self.written.insert(token.to_owned());
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn what_is_acknowledged_was_synced() {
    if let Some(folder) = env::var_os(FOLDER) {
        return count(Path::new(&folder));
    }
    let place = Place::new("synced");
    let file = place.path().join("trace");
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "1000000", "-e", "signal=none"])
        .args(["-e", "trace=write,pwrite64,fdatasync,fsync", "-o"])
        .arg(&file)
        .arg(env::current_exe().unwrap())
        .args(["what_is_acknowledged_was_synced", "--exact", "--nocapture"])
        .env(FOLDER, place.path().join("log"))
        .output()
        .expect("strace is installed: on Debian by `sudo apt-get install strace`");
    let said = String::from_utf8_lossy(&traced.stderr);
    assert!(
        traced.status.success(),
        "the traced process has failed: {said}"
    );
    let mut trace = Trace::default();
    let text = fs::read(&file).unwrap();
    String::from_utf8_lossy(&text)
        .lines()
        .for_each(|line| trace.read(line));
    assert_eq!(trace.acknowledged as u64, ENTITIES * EVENTS);
}

#[test]
#[should_panic(expected = "0:1 is acknowledged before a sync")]
fn an_acknowledgement_before_the_end_of_the_sync_is_noticed() {
    let mut trace = Trace::default();
    for line in [
        r#"7 pwrite64(5</a/0000000001.log>, "\1<0:1>\0", 8, 40) = 8"#,
        "7 fdatasync(5</a/0000000001.log> <unfinished ...>",
        r#"8 write(1<pipe:[3]>, "done <0:1>\n", 11) = 11"#,
        "7 <... fdatasync resumed>) = 0",
    ] {
        trace.read(line);
    }
}
