//! A NATS server for one test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Path of the server program, relative to the folder for temporary files in the target folder. The
/// command `cargo xtask tools` installs the program at this path.
const PROGRAM: &str = "../tools/nats-server";

/// A NATS server with its own store. The server ends with the test.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    config: String,
    port: u16,
}

/// Returns the path of the server program. CONTRIBUTING explains when the program may be missing.
fn program() -> Option<PathBuf> {
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
    /// Starts a server on a free port, with JetStream. `config` is added to its configuration.
    /// Returns `None` if the server program is missing, and the test need not run then.
    pub(crate) fn start(config: &str) -> Option<Self> {
        Self::start_named("test", config)
    }

    /// Starts one of several servers, with its own name.
    pub(crate) fn start_named(name: &str, config: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let program = program()?;
        let config = format!("server_name: {name}\n{config}");
        let name = format!(
            "nats-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Relaxed)
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        let (child, port) = run(&program, &folder, &config, -1);
        Some(Self {
            child,
            folder,
            config,
            port,
        })
    }

    /// Returns the address for clients.
    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again, on the same port.
    pub(crate) fn start_again(&mut self) {
        let program = program().unwrap();
        (self.child, _) = run(&program, &self.folder, &self.config, self.port.into());
    }

    /// Deletes the stored data of the server. The server must not be running.
    pub(crate) fn forget(&self) {
        fs::remove_dir_all(self.folder.join("store")).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a server, and waits until it is ready. Also returns its port. With the port -1, the
/// server chooses a free port.
fn run(program: &Path, folder: &Path, config: &str, port: i32) -> (Child, u16) {
    let file = folder.join("server.conf");
    let store = folder.join("store");
    let text =
        format!("listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {store:?} }}\n{config}\n");
    fs::write(&file, text).unwrap();
    let mut child = Command::new(program)
        .arg("-c")
        .arg(&file)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let port = ready(&mut lines);
    // A full pipe would stop the server.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    (child, port)
}

/// Reads the output of a server until the server is ready. Returns its port.
fn ready(lines: &mut BufReader<ChildStderr>) -> u16 {
    let (mut told, mut port) = (String::new(), None);
    loop {
        let mut line = String::new();
        let length = lines.read_line(&mut line).unwrap();
        told.push_str(&line);
        assert!(length > 0, "the server has ended:\n{told}");
        if let Some((_, address)) = line.split_once("Listening for client connections on ") {
            port = address.trim().rsplit(':').next().unwrap().parse().ok();
        }
        if line.contains("Server is ready") {
            return port.expect("it has told its port");
        }
    }
}
