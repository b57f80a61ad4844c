//! Peak memory use of the growing tree of a fork bomb.

use std::fs;

use garrick_measure::{Measured, Result, resident_bytes};

use super::Wood;
use crate::scenarios::child;

/// Hidden subcommand with which [`in_child`] starts its child process.
pub(crate) const CHILD: &str = "measure-fork-bomb";

/// Runs [`in_this_process`] in a new process.
pub(crate) fn in_child(depth: u32) -> Result<Measured> {
    child::measured(CHILD, &[depth.into()])
}

/// Grows a tree on this thread. Measures the memory per actor: the peak memory of the process,
/// minus the memory that was in use before, divided by the number of actors.
pub(crate) fn in_this_process(depth: u32) -> Result<Measured> {
    let before = resident_bytes()?;
    let mut measured = Wood::bare(depth).by_actors(1)?;
    let grown = peak_bytes()?.saturating_sub(before);
    measured.bytes_per_actor = Some(grown as f64 / super::nodes(depth) as f64);
    Ok(measured)
}

/// Returns the peak of this process's resident memory, in bytes.
fn peak_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = peak(&status).ok_or("/proc/self/status has no peak of resident memory")?;
    Ok(peak)
}

/// Returns the peak of the process's resident memory in bytes, from the text of
/// `/proc/self/status`.
fn peak(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let rest = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = rest.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_found() {
        assert_eq!(peak("VmPeak:\t 9 kB\nVmHWM:\t  12 kB\n"), Some(12_288));
        assert_eq!(peak("VmPeak:\t 9 kB\n"), None);
    }

    #[test]
    fn a_growing_tree_takes_memory() {
        let measured = in_this_process(16).unwrap();
        assert_eq!(measured.ops, 131_071);
        // The amount is only meaningful in a process without other tests.
        assert!(measured.bytes_per_actor.is_some_and(f64::is_finite));
    }
}
