//! Comparison of the resources of processes early and late in a run.

use garrick_measure::{Result, units};

use super::member::Member;
use super::observed::table;
use super::usage::Usage;

/// Number of bytes by which a process's memory may grow after the first count, in addition to a
/// quarter of the memory at the first count. A larger growth counts as a leak. Some growth is
/// normal, because allocators keep freed memory, and threads begin to use their memory at different
/// times.
const MEMORY_MORE: u64 = 16 << 20;

/// Number of additional threads that do not count as a leak.
const THREADS_MORE: u64 = 2;
/// Number of additional open files that do not count as a leak. For example, a connection to a
/// server may be in the process of being replaced.
const FILES_MORE: u64 = 4;

/// Name of this process in the table.
const OWN: &str = "callers";

/// Resources of processes at the first count and at the end of the run.
#[derive(Debug, Default)]
pub(super) struct Watched {
    early: Vec<Counted>,
    /// Resources at the end of the run. Contains only processes that are also in `early` and still
    /// run.
    late: Vec<Counted>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    name: String,
    process: u32,
    usage: Usage,
}

impl Watched {
    /// Returns true if the resources have been counted for the first time.
    pub(super) fn is_counted(&self) -> bool {
        !self.early.is_empty()
    }

    /// Counts the resources of all processes.
    pub(super) fn count(&mut self, members: &[Member]) -> Result<()> {
        self.early = all(members)?;
        Ok(())
    }

    /// Counts the resources again at the end of the run, only for processes that were counted
    /// before.
    pub(super) fn count_again(&mut self, members: &[Member]) -> Result<()> {
        let is_early = |found: &Counted| {
            let mut early = self.early.iter();
            early.any(|early| early.process == found.process)
        };
        self.late = all(members)?.into_iter().filter(is_early).collect();
        Ok(())
    }

    /// Returns a table of the processes that ran from the first count to the last one.
    pub(super) fn table(&self) -> String {
        let header = [
            "process",
            "memory",
            "at the end",
            "threads",
            "at the end",
            "files",
            "at the end",
        ];
        let mut table = table(&header, &[1, 2, 3, 4, 5, 6]);
        for (early, late) in self.pairs() {
            table.add_row([
                early.name.clone(),
                units::bytes(early.usage.memory),
                units::bytes(late.usage.memory),
                early.usage.threads.to_string(),
                late.usage.threads.to_string(),
                early.usage.files.to_string(),
                late.usage.files.to_string(),
            ]);
        }
        table.to_string()
    }

    /// Returns a description of the first process whose resources have grown too much, if there is
    /// one. If no process was counted twice, returns a message about this problem.
    pub(super) fn grown(&self) -> Option<String> {
        if self.pairs().next().is_none() {
            return Some("no process has lived long enough to be compared".to_owned());
        }
        self.pairs().find_map(|(early, late)| {
            let what = grown(early.usage, late.usage)?;
            Some(format!("{} has more {what} than before", early.name))
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (&Counted, &Counted)> {
        self.early.iter().filter_map(|early| {
            let mut late = self.late.iter();
            let late = late.find(|late| late.process == early.process)?;
            Some((early, late))
        })
    }
}

/// Returns the name of the resource that has grown too much, if there is one.
fn grown(early: Usage, late: Usage) -> Option<&'static str> {
    let too_many = [
        ("memory", late.memory, early.memory * 5 / 4 + MEMORY_MORE),
        ("threads", late.threads, early.threads + THREADS_MORE),
        ("files", late.files, early.files + FILES_MORE),
    ];
    let found = too_many.into_iter().find(|(_, late, most)| late > most);
    found.map(|(what, ..)| what)
}

/// Counts the resources of this process and of all members.
fn all(members: &[Member]) -> Result<Vec<Counted>> {
    let own = (OWN.to_owned(), std::process::id());
    let members = members
        .iter()
        .map(|member| (member.name.clone(), member.process()));
    let counted = |(name, process)| {
        let usage = Usage::of(process)?;
        Ok(Counted {
            name,
            process,
            usage,
        })
    };
    std::iter::once(own).chain(members).map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::{FILES_MORE, MEMORY_MORE, THREADS_MORE, Usage, Watched, grown};

    #[test]
    fn each_resource_that_grows_too_much_is_named() {
        let early = Usage {
            memory: 100 << 20,
            threads: 5,
            files: 10,
        };
        let most = Usage {
            memory: (125 << 20) + MEMORY_MORE,
            threads: 5 + THREADS_MORE,
            files: 10 + FILES_MORE,
        };
        assert_eq!(grown(early, most), None);
        let (mut memory, mut threads, mut files) = (most, most, most);
        memory.memory += 1;
        threads.threads += 1;
        files.files += 1;
        assert_eq!(grown(early, memory), Some("memory"));
        assert_eq!(grown(early, threads), Some("threads"));
        assert_eq!(grown(early, files), Some("files"));
    }

    #[test]
    fn only_processes_that_live_on_are_compared() {
        let mut watched = Watched::default();
        assert!(watched.grown().unwrap().contains("no process"));
        watched.count(&[]).unwrap();
        assert!(watched.is_counted());
        watched.count_again(&[]).unwrap();
        assert!(watched.table().contains("callers"));
        watched.early[0].usage.files = 0;
        watched.late[0].usage.files = 100;
        assert_eq!(
            watched.grown().unwrap(),
            "callers has more files than before"
        );
        watched.early[0].process = 0;
        assert!(watched.grown().unwrap().contains("no process"));
    }
}
