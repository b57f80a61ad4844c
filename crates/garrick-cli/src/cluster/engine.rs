//! A NATS server for the demonstration.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::thread;

use clap::Args;
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use super::member::in_its_own_group;

/// Name of the NATS server's program.
const PROGRAM: &str = "nats-server";

/// Name of the subcommand that runs a server in its own process.
pub(super) const NAME: &str = "demo-server";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    program: PathBuf,
    /// File with the settings of the server. If this option is given, the server's data remain when
    /// the server ends. Otherwise the server stores its data in a new folder, which is removed at
    /// the end.
    #[arg(long)]
    config: Option<PathBuf>,
}

/// A NATS server that is run by a separate process, so that the server ends even if this process is
/// killed.
pub(super) struct Engine {
    keeper: Child,
    pub(super) address: String,
}

/// A running NATS server. Dropping this value kills the server, and removes the folder of the
/// server, if there is one.
struct Server {
    child: Child,
    folder: Option<PathBuf>,
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

impl Engine {
    /// Starts a server on a free port of this machine.
    pub(super) fn start(program: &Path) -> Result<Self> {
        Self::start_with(program, None)
    }

    /// Starts a server with the settings in the file `config`. Without such a file, the server uses
    /// a free port of this machine.
    pub(super) fn start_with(program: &Path, config: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["cluster", NAME, "--program"]).arg(program);
        if let Some(config) = config {
            command.arg("--config").arg(config);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        in_its_own_group(&mut command);
        let mut keeper = command.spawn()?;
        let output = keeper
            .stdout
            .take()
            .ok_or("the NATS server has no output")?;
        let mut engine = Self {
            keeper,
            address: String::new(),
        };
        BufReader::new(output).read_line(&mut engine.address)?;
        engine.address.truncate(engine.address.trim_end().len());
        if engine.address.is_empty() {
            return Err(format!("{} cannot be started", program.display()).into());
        }
        Ok(engine)
    }
}

impl Engine {
    /// Kills the server and the process that runs it.
    pub(super) fn kill(mut self) -> Result<()> {
        signal("KILL", &format!("-{}", self.keeper.id()))?;
        self.keeper.wait()?;
        Ok(())
    }
}

/// Sends the signal `name` to the process with the ID `process`. A negative ID stands for a process
/// group.
pub(super) fn signal(name: &str, process: &str) -> Result<()> {
    // The command `kill` is a part of each shell, but not of each system.
    let command = format!("kill -{name} {process}");
    let status = Command::new("sh").args(["-c", &command]).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{command}` failed: {status}").into()),
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The process ends with its standard input.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Runs a NATS server until standard input ends. Prints the address of the server.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let (config, folder) = match &arguments.config {
        Some(config) => (config.clone(), None),
        None => {
            let folder = env::temp_dir().join(format!("garrick-cluster-demo-{}", process::id()));
            (write_config(&folder)?, Some(folder))
        }
    };
    let mut command = Command::new(&arguments.program);
    command.arg("-c").arg(&config);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn();
    let child = child.inspect_err(|_| remove(folder.as_deref()))?;
    let mut server = Server { child, folder };
    let lines = server
        .child
        .stderr
        .take()
        .ok_or("the NATS server has no output")?;
    let mut lines = BufReader::new(lines);
    print(&ready(&mut lines)?);
    // A full pipe would stop the server.
    thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    drop(server);
    Ok(Ended::Well)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove(self.folder.as_deref());
    }
}

/// Writes the settings of a server on a free port to a file in a new folder. Returns the path of
/// this file.
fn write_config(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (config, store) = (folder.join("server.conf"), folder.join("store"));
    let text = format!("listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: {store:?} }}\n");
    fs::write(&config, text)?;
    Ok(config)
}

fn remove(folder: Option<&Path>) {
    if let Some(folder) = folder {
        // It is in a folder for temporary files, so it may stay.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Reads the output of a server until the server is ready. Returns the address of the server.
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
