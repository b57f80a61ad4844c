//! Resources that the process uses: memory, processor time, threads, open files.

use std::path::Path;

use crate::snapshot::Process;
use crate::window::{Meter, Nanos, Pace};

/// Minimum time between two counts of the open files, in nanoseconds. A count takes long if many
/// files are open, because the operating system lists each of them.
const FILES_EVERY: Nanos = 1_000_000_000;

/// Reads the resource usage of this process, if the operating system provides it.
#[derive(Debug)]
pub(crate) struct Reader {
    name: String,
    pid: u32,
    /// Processor time of the process, in nanoseconds.
    cpu: Meter,
    started_unix_seconds: Option<f64>,
    /// The result of the latest count of open files: its time, the number of open files, and the
    /// maximum number of open files.
    files: Option<(Nanos, Option<u64>, Option<u64>)>,
}

impl Reader {
    /// Creates a reader. If `name` is `None`, the process is named after its executable.
    pub(crate) fn new(name: Option<String>) -> Self {
        Self {
            name: name.unwrap_or_else(executable),
            pid: std::process::id(),
            cpu: Meter::default(),
            started_unix_seconds: system::started_unix_seconds(),
            files: None,
        }
    }

    /// Reads the current resource usage.
    pub(crate) fn read(&mut self, pace: Pace, now: Nanos) -> Process {
        let cpu_nanos = system::cpu_nanos();
        if let Some(nanos) = cpu_nanos {
            self.cpu.push(pace, now, nanos);
        }
        let status = system::status();
        let (open_files, open_files_max) = self.files(now);
        Process {
            name: self.name.clone(),
            pid: self.pid,
            resident_bytes: status.resident_bytes,
            cpu: self.cpu.rate().map(|nanos| nanos / 1e9),
            threads: status.threads,
            cpu_seconds: cpu_nanos.map(|_| self.cpu.total() as f64 / 1e9),
            virtual_bytes: status.virtual_bytes,
            open_files,
            open_files_max,
            started_unix_seconds: self.started_unix_seconds,
        }
    }

    /// Returns the number of open files, and the maximum number of files that the process may open.
    /// Counts the files again only if the latest count is at least [`FILES_EVERY`] nanoseconds old.
    fn files(&mut self, now: Nanos) -> (Option<u64>, Option<u64>) {
        match self.files {
            Some((then, open, most)) if now < then + FILES_EVERY => (open, most),
            _ => {
                let (open, most) = (system::open_files(), system::open_files_max());
                self.files = Some((now, open, most));
                (open, most)
            }
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

/// Memory and number of threads of the process. Unknown values are `None`.
#[derive(Debug, Default)]
struct Status {
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
}

#[cfg(all(target_os = "linux", not(garrick_portable)))]
mod system {
    use std::fs;

    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    use nix::time::{ClockId, clock_gettime};
    use nix::unistd::{SysconfVar, sysconf};

    use super::Status;

    /// Returns the processor time of all threads together, in nanoseconds.
    pub(super) fn cpu_nanos() -> Option<u64> {
        let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
        let seconds = u64::try_from(time.tv_sec()).ok()?;
        Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
    }

    /// Returns the memory and the number of threads.
    pub(super) fn status() -> Status {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bytes = |name| field(&status, name).map(|kilobytes| kilobytes * 1024);
        Status {
            resident_bytes: bytes("VmRSS:"),
            virtual_bytes: bytes("VmSize:"),
            threads: field(&status, "Threads:"),
        }
    }

    /// Finds the first line that begins with `name`, and returns the number after the name.
    pub(super) fn field(status: &str, name: &str) -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Returns the number of open file descriptors.
    pub(super) fn open_files() -> Option<u64> {
        // One of the entries is the descriptor that reads the directory.
        let entries = fs::read_dir("/proc/self/fd").ok()?.count() as u64;
        Some(entries.saturating_sub(1))
    }

    /// Returns the soft limit of the number of open file descriptors.
    pub(super) fn open_files_max() -> Option<u64> {
        let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        (soft != RLIM_INFINITY).then_some(soft)
    }

    /// Returns the time at which the process started, in seconds since 1970-01-01, UTC.
    pub(super) fn started_unix_seconds() -> Option<f64> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let booted = field(&fs::read_to_string("/proc/stat").ok()?, "btime ")?;
        let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
        Some(booted as f64 + ticks(&stat)? as f64 / ticks_per_second as f64)
    }

    /// Returns the time from the boot of the system to the start of the process, in clock ticks.
    /// `stat` is the content of `/proc/self/stat`. Returns `None` if `stat` has too few fields.
    pub(super) fn ticks(stat: &str) -> Option<u64> {
        // Field 22 is this time. Field 2 is the name of the executable in parentheses, which may
        // itself contain spaces and parentheses.
        let (_, after_name) = stat.rsplit_once(") ")?;
        after_name.split(' ').nth(22 - 3)?.parse().ok()
    }
}

#[cfg(any(not(target_os = "linux"), garrick_portable))]
mod system {
    use super::Status;

    pub(super) fn cpu_nanos() -> Option<u64> {
        None
    }

    pub(super) fn status() -> Status {
        Status::default()
    }

    pub(super) fn open_files() -> Option<u64> {
        None
    }

    pub(super) fn open_files_max() -> Option<u64> {
        None
    }

    pub(super) fn started_unix_seconds() -> Option<f64> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(garrick_portable)))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn this_process_has_memory_threads_and_a_name() {
        let pace = Pace::new(1_000_000_000);
        let mut reader = Reader::new(None);
        reader.read(pace, 0);
        let process = reader.read(pace, 1_000_000);
        let resident = process.resident_bytes.expect("it is known");
        assert!(resident > 100_000 && process.virtual_bytes.is_some_and(|all| all >= resident));
        assert!(process.threads.is_some_and(|threads| threads >= 1));
        assert!(process.cpu.is_some_and(|cpu| cpu >= 0.0));
        assert!(process.cpu_seconds.is_some_and(|seconds| seconds > 0.0));
        assert!(process.name.starts_with("garrick_telemetry"), "{process:?}");
    }

    #[test]
    fn open_files_are_counted_once_a_second() {
        let pace = Pace::new(FILES_EVERY);
        let mut reader = Reader::new(None);
        let before = reader.read(pace, 0);
        // Other tests of this process open and close a few files at the same time.
        let opened: Vec<File> = (0..200)
            .map_while(|_| File::open("/dev/null").ok())
            .collect();
        let same = reader.read(pace, FILES_EVERY - 1);
        assert_eq!(same.open_files, before.open_files);
        let after = reader.read(pace, FILES_EVERY);
        let more = after.open_files.expect("known") - before.open_files.expect("known");
        assert!((150..=250).contains(&more), "{more}");
        assert!(after.open_files_max > after.open_files);
        drop(opened);
    }

    #[test]
    fn the_process_started_a_moment_ago() {
        let started = system::started_unix_seconds().expect("it is known");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
        let age = now.as_secs_f64() - started;
        assert!((-2.0..3600.0).contains(&age), "{age}");
    }

    #[test]
    fn a_file_of_another_kind_says_nothing() {
        assert_eq!(
            system::field("Name: x\nVmRSS:\t 12 kB\n", "VmRSS:"),
            Some(12)
        );
        assert_eq!(system::field("Name: x\n", "VmRSS:"), None);
        assert_eq!(system::field("VmRSS: many kB\n", "VmRSS:"), None);
        assert_eq!(system::ticks("1 (a) b) c) S 4 5 6"), None);
        let fields = (4..=22).map(|field| field.to_string());
        let fields: Vec<String> = fields.collect();
        let stat = format!("1 (a) b) S {} 23", fields.join(" "));
        assert_eq!(system::ticks(&stat), Some(22));
    }
}
