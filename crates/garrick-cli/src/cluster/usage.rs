//! Resources of a process, as Linux reports them.

use std::fs;

use garrick_measure::Result;

/// Resources of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Resident memory in bytes, without the pages of the program and its libraries. These pages
    /// are loaded when the process first uses them, so an increase of their number is not a leak.
    pub(super) memory: u64,
    pub(super) threads: u64,
    /// Number of open files. Connections count as open files.
    pub(super) files: u64,
}

impl Usage {
    /// Returns the resources of a process.
    pub(super) fn of(process: u32) -> Result<Self> {
        let folder = format!("/proc/{process}");
        let status = fs::read_to_string(format!("{folder}/status"));
        let status = status.map_err(|error| {
            format!("this system does not report the resources of a process: {error}")
        })?;
        let field = |name| field(&status, name).ok_or(format!("{folder}/status has no `{name}`"));
        Ok(Self {
            memory: field("RssAnon:")? * 1024,
            threads: field("Threads:")?,
            files: fs::read_dir(format!("{folder}/fd"))?.count() as u64,
        })
    }
}

/// Returns the number in the line that begins with `name`, such as `RssAnon:  1234 kB`.
fn field(status: &str, name: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_field_is_read_with_and_without_its_unit() {
        let status = "Name:\tgarrick\nRssAnon:\t    1234 kB\nThreads:\t7\n";
        assert_eq!(field(status, "RssAnon:"), Some(1234));
        assert_eq!(field(status, "Threads:"), Some(7));
        assert_eq!(field(status, "VmSwap:"), None);
    }
}
