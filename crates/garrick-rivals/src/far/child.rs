//! Processes that the study starts: they read lines from standard input, and print lines.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{self, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use garrick_measure::Result;

/// First word of the line that a process prints when it is ready.
const READY: &str = "ready";

/// Maximum number of bytes that are kept of the error output of a process.
const ERRORS_MAX: u64 = 400;

/// A process that was started. The process is killed when this value is dropped.
pub(super) struct Child {
    process: process::Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl Child {
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (told, lines) = channel();
        let output = process.stdout.take().ok_or("the process has no output")?;
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        let mut errors = process.stderr.take().ok_or("the process has no errors")?;
        let errors = thread::spawn(move || {
            let mut first = Vec::new();
            let _ = errors.by_ref().take(ERRORS_MAX).read_to_end(&mut first);
            // A full pipe would stop the process.
            let _ = io::copy(&mut errors, &mut io::sink());
            String::from_utf8_lossy(&first).into_owned()
        });
        Ok(Self {
            process,
            lines,
            errors: Some(errors),
        })
    }

    /// Writes a line to the standard input of the process.
    pub(super) fn send(&mut self, line: &str) -> Result<()> {
        let input = self.process.stdin.as_mut();
        let input = input.ok_or("the process has no input")?;
        Ok(writeln!(input, "{line}")?)
    }

    /// Waits until the process is ready. Returns the rest of its line, such as an address.
    pub(super) fn ready(&mut self, within: Duration) -> Result<String> {
        self.find(within, |line| {
            let rest = line.strip_prefix(READY)?;
            Some(rest.trim().to_owned())
        })
    }

    /// Waits for a line for which `read` returns a value. Passes over other lines.
    ///
    /// # Errors
    /// Fails if no such line comes in time. The error contains the error output of the process.
    pub(super) fn find<T>(
        &mut self,
        within: Duration,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T> {
        loop {
            match self.lines.recv_timeout(within) {
                Ok(line) => {
                    if let Some(value) = read(&line) {
                        return Ok(value);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let why = format!("its process has said nothing for {within:?}");
                    return Err(self.with_errors(&why).into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.with_errors("its process has ended").into());
                }
            }
        }
    }

    /// Ends the process, and adds its error output to `why`.
    fn with_errors(&mut self, why: &str) -> String {
        self.end();
        let errors = self.errors.take();
        let errors = errors.and_then(|errors| errors.join().ok());
        let errors = errors.unwrap_or_default();
        let words: Vec<&str> = errors.split_whitespace().collect();
        match words.join(" ") {
            said if said.is_empty() => why.to_owned(),
            said => format!("{why}: {said}"),
        }
    }

    /// Closes the standard input of the process, and waits until the process has ended for this
    /// reason.
    pub(super) fn close(mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prints that this process is ready, with its address, if it has one.
pub(super) fn is_ready(address: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{READY} {address}")?;
    output.flush()
}

/// Waits until the process that has started this one closes its end, or is killed.
pub(super) fn wait_for_end() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::start(command).expect("there is a shell")
    }

    #[test]
    fn a_process_tells_that_it_is_ready_and_answers_lines() {
        let mut child = shell("echo a warning; echo ready 127.0.0.1:9; read line; echo $line");
        assert_eq!(child.ready(LIMIT).expect("it is"), "127.0.0.1:9");
        child.send("tell 16 1").expect("it listens");
        let answer = child.find(LIMIT, |line| Some(line.to_owned()));
        assert_eq!(answer.expect("it answers"), "tell 16 1");
    }

    #[test]
    fn a_process_that_ends_is_named_with_its_errors() {
        let error = shell("echo no memory >&2").ready(LIMIT);
        let error = error.expect_err("it has ended").to_string();
        assert_eq!(error, "its process has ended: no memory");
    }

    #[test]
    fn a_silent_process_is_not_waited_for() {
        let error = shell("read line").ready(Duration::from_millis(10));
        let error = error.expect_err("it is silent").to_string();
        assert_eq!(error, "its process has said nothing for 10ms");
    }
}
