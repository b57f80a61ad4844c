//! Processes of the service, and temporary folders for tests.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use garrick_testkit::HANGS_AFTER;

/// A temporary folder for one test. The folder is removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let name = format!("bank-service-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process, and the lines that it prints. The process is killed on drop.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts a program, and reads its standard output, or its standard error if `errors` is true.
    pub(crate) fn start(mut command: Command, errors: bool) -> Self {
        let (output, error) = match errors {
            false => (Stdio::piped(), Stdio::inherit()),
            true => (Stdio::null(), Stdio::piped()),
        };
        let mut child = command.stdout(output).stderr(error).spawn().unwrap();
        let (tell, lines) = channel();
        let (output, error) = (child.stdout.take(), child.stderr.take());
        thread::spawn(move || {
            let output = output.map(|output| Box::new(output) as Box<dyn std::io::Read>);
            let from = output.or_else(|| Some(Box::new(error?))).unwrap();
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                // Nobody may wait any more.
                let _ = tell.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that contains `text`, and returns the part of the line after `text`.
    /// Returns `None` if the process ends without such a line.
    pub(crate) fn waits_for(&self, text: &str) -> Option<String> {
        loop {
            let line = match self.lines.recv_timeout(HANGS_AFTER) {
                Ok(line) => line,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(error) => panic!("no line with {text:?}: {error}"),
            };
            println!("{}: {line}", self.child.id());
            if let Some((_, rest)) = line.split_once(text) {
                return Some(rest.to_owned());
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM to the process, and waits until the process has ended.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let kill = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        assert!(kill.unwrap().success());
        self.child.wait().unwrap()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that runs the service on a free port.
pub(crate) fn service<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bank-service"));
    command.args(["--address", "127.0.0.1:0"]).args(arguments);
    command
}

/// A running service, and its address.
pub(crate) struct Service {
    pub(crate) process: Process,
    pub(crate) url: String,
}

impl Service {
    /// Starts the service, and waits until it accepts requests. Returns `None` if the service ends
    /// before that.
    pub(crate) fn try_start(command: Command) -> Option<Self> {
        let process = Process::start(command, false);
        let url = process.waits_for("listens at ")?;
        Some(Self { process, url })
    }

    pub(crate) fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::try_start(service(arguments)).expect("the service has ended")
    }

    /// Waits until this node prints that `members` are the members of the cluster.
    pub(crate) fn sees(&self, members: &str) {
        while self.process.waits_for("members: ").expect("it runs") != members {}
    }
}
