//! NATS servers.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Process;

/// Path of the program, from the folder for temporary files in the target folder. The command
/// `cargo xtask tools` installs it there.
const PROGRAM: &str = "../tools/nats-server";

/// Returns a command that runs the program in a folder. A missing program is optional or not, as
/// CONTRIBUTING describes.
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

/// A server, and its address for clients.
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

/// Returns ports that are free now.
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

/// Writes a configuration in which texts are replaced. Each of them must be there once.
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
