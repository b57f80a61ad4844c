//! The process with entities and clients.

use std::env;
use std::io::{self, BufRead, BufReader, Lines};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use garrick_actor::{Address, System};
use garrick_testkit::setting;

use super::engine::Engine;
use super::line::{Line, Printed, Words};
use crate::client::{Crowd, Heard};
use crate::node::start_first;
use crate::object::Object;

/// Environment variables of the process: the folder of the log, and the number of the process.
const FOLDER: &str = "GARRICK_ENTITIES_FOLDER";
const ROUND: &str = "GARRICK_ENTITIES_ROUND";

/// Number of entities, and number of their clients.
pub(super) const ENTITIES: usize = 6;
const CLIENTS: u64 = 12;

/// Number of the signal that kills a process.
const SIGKILL: i32 = 9;

/// Returns the folder of the log, if this is the process with the entities.
pub(super) fn folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs entities and clients until the process is killed. In every second process, the entities
/// decide ahead, and one actor calls them for all clients.
pub(super) fn run<O: Object<Op: Words, Ret: Words>>(engine: Engine, folder: &Path) {
    let round: u64 = setting(ROUND).expect("the process has a number");
    let (first, is_pipelined) = (1 + round * CLIENTS, round % 2 == 1);
    let clients_of_each = if is_pipelined { CLIENTS } else { 1 };
    let system = System::new().unwrap();
    Line::<O>::Opens.print();
    let journal = engine.open(&system, folder);
    let running = start_first::<O>(&system.handle(), &journal, ENTITIES, is_pipelined, false);
    let crowd = |number: u64| -> Address<Heard<O>> {
        let numbers: Range<u64> = number..number + clients_of_each;
        let crowd = Crowd::<O, _>::new(numbers, round, u32::MAX, Printed);
        system.spawn(crowd).unwrap()
    };
    let crowds: Vec<_> = (first..first + CLIENTS)
        .step_by(clients_of_each as usize)
        .map(crowd)
        .collect();
    for crowd in &crowds {
        crowd
            .send(Heard::Started(running.entities.clone()))
            .unwrap();
    }
    // Until this process is killed.
    let _ = io::stdin().lines().next();
}

/// A running process.
pub(super) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts the process number `round`. It runs the test `test`.
    pub(super) fn start(test: &str, folder: &Path, round: u64) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .env(ROUND, round.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next line of the process. After a kill, still returns the lines that were
    /// printed before it. Returns `None` if no more lines follow.
    pub(super) fn next(&mut self) -> Option<String> {
        self.lines.next().map(Result::unwrap)
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for the end of the process. Panics if the process ends without being killed.
    pub(super) fn end(mut self) {
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(SIGKILL), "{status}");
    }
}
