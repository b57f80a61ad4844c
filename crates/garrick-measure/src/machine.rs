//! The origin of figures: machine, compiler and commit.

use std::thread;
use std::{fmt, fs};

use serde::{Deserialize, Serialize};

use crate::scenario::Result;

/// Commit from which the command was built. The suffix `-dirty` means that files had uncommitted
/// changes. `unknown` if the command was built outside of git.
pub(crate) const COMMIT: &str = env!("GARRICK_COMMIT");

/// The machine that runs the command, and the compiler that built the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Name of the processor.
    pub(crate) cpu: String,
    /// Number of cores that this process may use.
    pub(crate) cores: usize,
    /// Operating system. On Linux on x86-64, also the architecture.
    pub(crate) system: String,
    /// `rustc --version` at build time.
    pub(crate) compiler: String,
    /// Cargo profile of the build. Figures can be compared with others only if this profile is
    /// `measure`.
    pub(crate) profile: String,
}

impl Machine {
    /// Returns a description of this machine.
    pub(crate) fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu: cpu_model(&cpuinfo).unwrap_or("unknown").to_owned(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            system: if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
                "linux x86_64"
            } else {
                std::env::consts::OS
            }
            .to_owned(),
            compiler: env!("GARRICK_COMPILER").to_owned(),
            profile: env!("GARRICK_PROFILE").to_owned(),
        }
    }
}

/// Describes the machine and the compiler in words.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu,
            cores,
            system,
            compiler,
            profile,
        } = self;
        write!(f, "{cpu}, {cores} cores, {system}; {compiler}, {profile}")
    }
}

/// Returns one line that describes where the figures of this process come from: the machine, the
/// compiler and the commit.
pub fn provenance() -> String {
    format!("{}; commit {COMMIT}", Machine::this())
}

/// Returns the number of bytes of memory available without swapping, if the system reports it.
pub(crate) fn available_bytes() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    available(&meminfo)
}

/// Returns the number of available bytes from the text of `/proc/meminfo`.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let rest = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = rest.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the size of the resident memory of this process in bytes.
///
/// # Errors
/// Fails if the system does not report the size.
///
/// # Examples
/// ```
/// assert!(garrick_measure::resident_bytes()? > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(all(target_os = "linux", not(garrick_portable)))]
pub fn resident_bytes() -> Result<u64> {
    use nix::unistd::{SysconfVar, sysconf};

    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .ok_or("/proc/self/statm has too few fields")?
        .parse()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE)?.ok_or("the system has no page size")?;
    Ok(pages * u64::try_from(page_bytes)?)
}

/// Returns an error, because this system does not report the size of the resident memory.
///
/// # Errors
/// Always returns an error.
#[cfg(any(not(target_os = "linux"), garrick_portable))]
pub fn resident_bytes() -> Result<u64> {
    Err("this system does not report the size of the resident memory".into())
}

/// Returns the first processor's name in the text of `/proc/cpuinfo`.
fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        let text = "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nmodel name\t: Other\n";
        assert_eq!(cpu_model(text), Some("Fast CPU @ 3 GHz"));
        assert_eq!(cpu_model("processor: 0"), None);
    }

    #[test]
    fn available_memory_is_found() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\nBuffers:  7 kB\n";
        assert_eq!(available(text), Some(1_024_000));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn this_machine_has_cores_and_a_compiler() {
        let machine = Machine::this();
        assert!(machine.cores > 0);
        assert!(
            machine.compiler.starts_with("rustc"),
            "{}",
            machine.compiler
        );
        assert!(!COMMIT.is_empty());
    }
}
