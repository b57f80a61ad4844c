//! A NATS server for the nodes of the study.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::thread;

use super::child::{is_ready, wait_for_end};
use super::order::Fault;

/// Name of the NATS server's program.
const PROGRAM: &str = "nats-server";

/// Error message of a run that needs a server, if there is none.
pub(super) const MISSING: &str = "the nodes of Garrick and those by hand meet on a NATS server, \
    and there is none: install nats-server 2.12 or later (in this repository: `cargo xtask \
    tools`), or name other contenders by --only";

/// A running NATS server. Dropping this value kills the server, and removes its folder.
struct Server {
    child: Child,
    folder: PathBuf,
}

/// Returns the path of the NATS server. `cargo xtask tools` installs the server beside the folder
/// of this program. If the server is not there, searches the folders of the variable `PATH`.
pub(super) fn find() -> Option<PathBuf> {
    let own = env::current_exe().unwrap_or_default();
    let tools = own.ancestors().nth(2).map(|target| target.join("tools"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = tools.into_iter().chain(env::split_paths(&path));
    let mut programs = folders.map(|folder| folder.join(PROGRAM));
    programs.find(|program| program.is_file())
}

/// Runs a NATS server until standard input ends. Prints the address of the server. A separate
/// process calls this function, so that the server ends even if the study is killed.
pub(super) fn run(program: &Path) -> Result<(), Fault> {
    let folder = env::temp_dir().join(format!("garrick-rivals-far-{}", process::id()));
    fs::create_dir_all(&folder)?;
    let (config, store) = (folder.join("server.conf"), folder.join("store"));
    let text = format!(
        "listen: \"127.0.0.1:-1\"\nmax_payload: 8MB\njetstream {{ store_dir: {store:?} }}\n"
    );
    fs::write(&config, text)?;
    let child = Command::new(program)
        .arg("-c")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.inspect_err(|_| remove(&folder))?;
    let mut server = Server { child, folder };
    let lines = server.child.stderr.take();
    let mut lines = BufReader::new(lines.ok_or("the NATS server has no output")?);
    is_ready(&address(&mut lines)?)?;
    // A full pipe would stop the server.
    thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
    wait_for_end();
    Ok(())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove(&self.folder);
    }
}

fn remove(folder: &Path) {
    // It is in a folder for temporary files, so it may stay.
    let _ = fs::remove_dir_all(folder);
}

/// Reads the output of a server until the server is ready. Returns the address of the server.
fn address(lines: &mut impl BufRead) -> Result<String, Fault> {
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
    use super::address;

    #[test]
    fn a_server_tells_its_address_or_why_it_ends() {
        let mut well: &[u8] =
            b"Listening for client connections on 127.0.0.1:41\nServer is ready\n";
        assert_eq!(address(&mut well).expect("it is"), "nats://127.0.0.1:41");
        let mut ill: &[u8] = b"Starting\nno space is left\n";
        let why = address(&mut ill).expect_err("it has ended").to_string();
        assert_eq!(why, "the NATS server has ended: no space is left");
    }
}
