//! A NATS server for the demonstration.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::thread;

use garrick_measure::Result;

use super::member::in_its_own_group;

/// Name of the program.
const PROGRAM: &str = "nats-server";

/// A NATS server whose files are removed with it.
pub(super) struct Engine {
    child: Child,
    folder: PathBuf,
    pub(super) address: String,
}

/// Returns the path of the program: the one in a folder of the variable `PATH`, or the one that
/// `cargo xtask tools` has installed beside the folder of this program.
pub(super) fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    if let Ok(own) = env::current_exe() {
        folders.extend(own.ancestors().nth(2).map(|target| target.join("tools")));
    }
    let programs = folders.into_iter().map(|folder| folder.join(PROGRAM));
    programs.into_iter().find(|program| program.is_file())
}

impl Engine {
    /// Starts a server on a free port of this machine.
    pub(super) fn start(program: &Path) -> Result<Self> {
        let folder = env::temp_dir().join(format!("garrick-cluster-demo-{}", process::id()));
        fs::create_dir_all(&folder)?;
        let config = folder.join("server.conf");
        let store = folder.join("store");
        let text = format!("listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: {store:?} }}\n");
        fs::write(&config, text)?;
        let mut command = Command::new(program);
        command
            .arg("-c")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        in_its_own_group(&mut command);
        let mut child = command.spawn()?;
        let lines = child.stderr.take().map(BufReader::new);
        let mut engine = Self {
            child,
            folder,
            address: String::new(),
        };
        let mut lines = lines.ok_or("the NATS server has no output")?;
        engine.address = ready(&mut lines)?;
        // A full pipe would stop the server.
        thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        Ok(engine)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Reads what a server tells until it is ready. Returns its address.
fn ready(lines: &mut impl BufRead) -> Result<String> {
    let (mut told, mut address) = (String::new(), None);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Err(format!("the NATS server has ended: {}", told.trim()).into());
        }
        if let Some((_, told)) = line.split_once("Listening for client connections on ") {
            address = Some(format!("nats://{}", told.trim()));
        }
        if line.contains("Server is ready") {
            return address.ok_or_else(|| "the NATS server has told no address".into());
        }
        told = line;
    }
}

#[cfg(test)]
mod tests {
    use super::ready;

    #[test]
    fn a_server_tells_its_address_or_why_it_ends() {
        let mut well: &[u8] =
            b"Listening for client connections on 127.0.0.1:41\nServer is ready\n";
        assert_eq!(ready(&mut well).unwrap(), "nats://127.0.0.1:41");
        let mut ill: &[u8] = b"Starting\nno space is left\n";
        let why = ready(&mut ill).unwrap_err().to_string();
        assert_eq!(why, "the NATS server has ended: no space is left");
    }
}
