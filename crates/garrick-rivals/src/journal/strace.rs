//! Counts the syncs of a process by `strace`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::run::Outcome;

const STRACE: &str = "strace";

/// System calls that make data durable, and the call that opens files.
const TRACED: &str = "trace=fsync,fdatasync,msync,sync,syncfs,openat";

/// The syncs that a process has requested by system calls, as counted by `strace`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Syncs {
    /// Number of syncs during the measurement, divided by the number of acknowledged commands.
    pub(super) per_command: f64,
    /// True if the process opened a file in a mode in which each write is a sync (`O_SYNC`,
    /// `O_DSYNC`).
    pub(super) at_each_write: bool,
}

/// Checks that `strace` is installed and is permitted to trace.
///
/// # Errors
/// Returns a description of the problem, with instructions to install `strace`.
pub(super) fn check() -> Result<(), String> {
    let tried = Command::new(STRACE)
        .args(["-f", "-e", TRACED, "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("strace may not trace processes here, so --strace cannot be used".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(
            "strace was not found: install it, by 'apt-get install strace' on Debian and Ubuntu, \
             or omit --strace"
                .to_owned(),
        ),
        Err(error) => Err(format!("strace cannot be started: {error}")),
    }
}

/// Returns the command that runs `command` and writes its system calls to `log`.
pub(super) fn traced(command: &Command, log: &Path) -> Command {
    let mut traced = Command::new(STRACE);
    traced
        .args(["-f", "-q", "--seccomp-bpf", "-ttt", "-e", TRACED])
        .args(["-e", "signal=none", "-o"])
        .arg(log)
        .arg("--")
        .arg(command.get_program())
        .args(command.get_args());
    traced
}

/// Counts the syncs in the text of a log of `strace`.
pub(super) fn count(log: &str, outcome: &Outcome) -> Syncs {
    let calls = || log.lines().filter_map(call);
    let is_sync = |name: &str, rest: &str| match name {
        "fsync" | "fdatasync" | "sync" | "syncfs" => true,
        "msync" => rest.contains("MS_SYNC"),
        _ => false,
    };
    let within =
        calls().filter(|(time, name, rest)| is_sync(name, rest) && outcome.contains(*time));
    let at_each_write = |(_, name, rest): (f64, &str, &str)| {
        name == "openat" && (rest.contains("O_SYNC") || rest.contains("O_DSYNC"))
    };
    Syncs {
        per_command: within.count() as f64 / outcome.commands(),
        at_each_write: calls().any(at_each_write),
    }
}

/// Parses a line such as `123 1700000000.123456 fdatasync(7) = 0`. Returns the time of the call in
/// seconds since 1970, the name of the call, and the rest of the line, which contains the
/// arguments. Returns `None` for the end of a call whose beginning is on a separate line.
fn call(line: &str) -> Option<(f64, &str, &str)> {
    let (_process, rest) = line.split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once(' ')?;
    let time = time.parse().ok()?;
    let (name, rest) = rest.split_once('(')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some((time, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::run::tests::sample;

    #[test]
    fn syncs_within_the_measurement_are_counted() {
        let log = "\
17 999.900000 openat(AT_FDCWD, \"/x/log\", O_RDWR|O_CREAT, 0666) = 7
17 999.950000 fdatasync(7) = 0
17 1000.100000 fdatasync(7 <unfinished ...>
18 1000.100500 fsync(8) = 0
17 1000.101000 <... fdatasync resumed>) = 0
18 1000.200000 msync(0x7f, 4096, MS_SYNC) = 0
18 1000.300000 msync(0x7f, 4096, MS_ASYNC) = 0
18 1000.400000 +++ exited with 0 +++
17 1000.600000 fdatasync(7) = 0
";
        let mut expected = Syncs {
            per_command: 3.0 / 200.0,
            at_each_write: false,
        };
        assert_eq!(count(log, &sample()), expected);
        let log = log.replace("O_RDWR", "O_RDWR|O_DSYNC");
        expected.at_each_write = true;
        assert_eq!(count(&log, &sample()), expected);
    }
}
