//! A child process that prints one line when it is ready, and exits at the end of its standard
//! input.

use std::env;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The unit in which Linux counts the CPU time of processes.
const TICK: Duration = Duration::from_millis(10);

/// A child process that runs this program with other arguments.
pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Starts the process, and returns the line that it prints.
    pub(super) fn start(arguments: &[&str]) -> io::Result<(Self, String)> {
        let child = Command::new(env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut process = Self { child };
        let mut said = String::new();
        if let Some(stdout) = process.child.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        if said.is_empty() {
            let message = format!("`{}` has exited before it was ready", arguments.join(" "));
            return Err(io::Error::other(message));
        }
        Ok((process, said.trim().to_owned()))
    }

    /// Returns the resident memory of the process in bytes.
    pub(super) fn resident(&self) -> io::Result<u64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        let kilobytes = kilobytes.ok_or_else(|| io::Error::other("no VmRSS in its status"))?;
        Ok(kilobytes * 1_024)
    }

    /// Returns the CPU time that the process has used.
    pub(super) fn busy(&self) -> io::Result<Duration> {
        let stat = self.read("stat")?;
        // The name of the process may contain blanks. After it, user and system time are the 12th
        // and 13th fields.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let times = fields.split_whitespace().skip(11).take(2);
        let ticks: u32 = times.filter_map(|field| field.parse::<u32>().ok()).sum();
        Ok(TICK * ticks)
    }

    fn read(&self, what: &str) -> io::Result<String> {
        fs::read_to_string(format!("/proc/{}/{what}", self.child.id()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process exits at the end of its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Prints the line that reports that this child is ready, and waits for the end of its input.
pub(super) fn say_and_wait(line: impl Display) -> io::Result<()> {
    println!("{line}");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
