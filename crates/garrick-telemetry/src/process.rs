//! Resources that the process uses: memory, processor time, threads.

use std::path::Path;

use crate::snapshot::Process;
use crate::window::{Meter, Nanos, Pace};

/// Reads the resource usage of this process from the system, where the system provides it.
#[derive(Debug)]
pub(crate) struct Reader {
    name: String,
    pid: u32,
    /// Nanoseconds of processor time.
    cpu: Meter,
}

impl Reader {
    /// Creates a reader. If `name` is `None`, the process is named after its executable.
    pub(crate) fn new(name: Option<String>) -> Self {
        Self {
            name: name.unwrap_or_else(executable),
            pid: std::process::id(),
            cpu: Meter::default(),
        }
    }

    /// Reads the current resource usage.
    pub(crate) fn read(&mut self, pace: Pace, now: Nanos) -> Process {
        let cpu_nanos = system::cpu_nanos();
        if let Some(nanos) = cpu_nanos {
            self.cpu.push(pace, now, nanos);
        }
        let (resident_bytes, threads) = system::memory_and_threads();
        Process {
            name: self.name.clone(),
            pid: self.pid,
            resident_bytes,
            cpu: self.cpu.rate().map(|nanos| nanos / 1e9),
            threads,
        }
    }
}

fn executable() -> String {
    let path = std::env::args_os().next();
    let name = path.as_ref().and_then(|path| Path::new(path).file_name());
    name.map_or_else(
        || "?".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use nix::time::{ClockId, clock_gettime};

    /// Returns the processor time of all threads together, in nanoseconds.
    pub(super) fn cpu_nanos() -> Option<u64> {
        let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
        let seconds = u64::try_from(time.tv_sec()).ok()?;
        Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
    }

    /// Returns the resident memory in bytes and the number of threads.
    pub(super) fn memory_and_threads() -> (Option<u64>, Option<u64>) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kilobytes = field(&status, "VmRSS:");
        (kilobytes.map(|k| k * 1024), field(&status, "Threads:"))
    }

    /// Returns the number after `name` at the beginning of a line.
    pub(super) fn field(status: &str, name: &str) -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn cpu_nanos() -> Option<u64> {
        None
    }

    pub(super) fn memory_and_threads() -> (Option<u64>, Option<u64>) {
        (None, None)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_threads_and_a_name() {
        let pace = Pace::new(1_000_000_000);
        let mut reader = Reader::new(None);
        reader.read(pace, 0);
        let process = reader.read(pace, 1_000_000);
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(process.threads.is_some_and(|threads| threads >= 1));
        assert!(process.cpu.is_some_and(|cpu| cpu >= 0.0));
        assert!(process.name.starts_with("garrick_telemetry"), "{process:?}");
    }

    #[test]
    fn a_file_of_another_kind_says_nothing() {
        assert_eq!(
            system::field("Name: x\nVmRSS:\t 12 kB\n", "VmRSS:"),
            Some(12)
        );
        assert_eq!(system::field("Name: x\n", "VmRSS:"), None);
        assert_eq!(system::field("VmRSS: many kB\n", "VmRSS:"), None);
    }
}
