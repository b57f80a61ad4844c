//! A NATS server for one test.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

/// Path at which `cargo xtask tools` installs the NATS server, relative to the folder
/// `CARGO_TARGET_TMPDIR`.
const PROGRAM: &str = "../tools/nats-server";

/// A NATS server on a free port, with its own storage. The server ends with the test.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    address: String,
}

/// Returns the path of the NATS server. If it is missing, returns `None`, or panics if the
/// environment variable `GARRICK_TOOLS` is set.
pub(super) fn program() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PROGRAM);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("GARRICK_TOOLS").is_none(),
        "{} is missing: run `cargo xtask tools`",
        path.display()
    );
    eprintln!("passed over: nats-server is missing; `cargo xtask tools` installs it");
    None
}

impl Server {
    /// Starts a NATS server. `config` is added to its configuration. Returns `None` if the server
    /// is not installed and may be missing.
    pub(super) fn start(config: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let program = program()?;
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("nats-of-command-{}-{number}", process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        let (file, store) = (folder.join("server.conf"), folder.join("store"));
        let text =
            format!("listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: {store:?} }}\n{config}\n");
        fs::write(&file, text).unwrap();
        let mut command = Command::new(program);
        let command = command.arg("-c").arg(&file).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut server = Self {
            child,
            folder,
            address: String::new(),
        };
        let mut line = String::new();
        while !line.contains("Server is ready") {
            line.clear();
            assert_ne!(
                lines.read_line(&mut line).unwrap(),
                0,
                "the server has ended"
            );
            if let Some((_, address)) = line.split_once("Listening for client connections on ") {
                server.address = format!("nats://{}", address.trim());
            }
        }
        // A full pipe would stop the server.
        thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        Some(server)
    }

    /// Returns the address for clients.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
