//! NATS servers for the tests.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Process;

/// Path of the NATS server, relative to Cargo's folder for the temporary files of tests. The
/// command `cargo xtask tools` installs the server there.
const PROGRAM: &str = "../tools/nats-server";

/// Returns a command that runs the NATS server in `folder`. If the server is not installed, returns
/// `None`, or panics if the environment variable `GARRICK_TOOLS` is set.
pub(crate) fn command(folder: &Path) -> Option<Command> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PROGRAM);
    if !path.exists() {
        assert!(
            std::env::var_os("GARRICK_TOOLS").is_none(),
            "{} is missing: run `cargo xtask tools`",
            path.display()
        );
        eprintln!("passed over: nats-server is missing; `cargo xtask tools` installs it");
        return None;
    }
    let mut command = Command::new(path);
    command.current_dir(folder);
    Some(command)
}

/// A running NATS server, and its address for clients.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: String,
}

impl Server {
    /// Starts a server, and waits until it listens.
    pub(crate) fn start(command: Command) -> Self {
        let process = Process::start(command, true);
        let text = "Listening for client connections on 127.0.0.1:";
        let port = process.waits_for(text).expect("the server has ended");
        process.waits_for("Server is ready").expect("it runs");
        Self {
            process,
            address: format!("127.0.0.1:{port}"),
        }
    }
}

/// Returns `N` ports that are free at the moment.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listeners: [TcpListener; N] = std::array::from_fn(bind);
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Returns the text of a file in the folder `nats`.
pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("nats")
        .join(name);
    fs::read_to_string(path).unwrap()
}

/// Writes the configuration `text` to a file, with the given replacements. Each text to replace
/// must occur exactly once.
pub(crate) fn write(folder: &Path, name: &str, text: &str, changes: &[(&str, &str)]) -> PathBuf {
    let mut text = text.to_owned();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {text}");
        text = text.replace(from, to);
    }
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}
