//! The cores on which the two threads of a benchmark run, and the pinning of these threads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder in which the operating system describes its cores.
const CORES: &str = "/sys/devices/system/cpu";

/// Two cores for two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cores {
    /// Name of the relation between the two cores, as the table shows it.
    pub(super) name: &'static str,
    /// Numbers of the two cores to which the threads are bound. `None` if the operating system
    /// chooses the cores.
    numbers: Option<[usize; 2]>,
}

impl Cores {
    /// No particular cores: the system chooses the cores of the two threads.
    pub(super) const ANY: Self = Self {
        name: "any",
        numbers: None,
    };

    /// Pins the calling thread, whose number is `side` (0 or 1), to its core. Does nothing if the
    /// system chooses the cores.
    pub(super) fn pin(self, side: usize) -> io::Result<()> {
        match self.numbers {
            Some(numbers) => pin(numbers[side]),
            None => Ok(()),
        }
    }
}

/// One core as the operating system describes it, and the cores with which it shares hardware.
#[derive(Debug)]
struct Core {
    number: usize,
    /// Numbers of all hardware threads of the physical core to which this core belongs. Contains
    /// `number`.
    siblings: Vec<usize>,
    /// Numbers of all cores that share the last-level cache with this core. Contains `number`.
    near: Vec<usize>,
}

impl Core {
    /// Reads the description of the core `number` from `folder`, in which the system describes all
    /// cores.
    fn read(folder: &Path, number: usize) -> Option<Self> {
        let core = folder.join(format!("cpu{number}"));
        let siblings = numbers(&core.join("topology/thread_siblings_list"))?;
        let near = numbers(&last_cache(&core.join("cache"))?.join("shared_cpu_list"))?;
        Some(Self {
            number,
            siblings,
            near,
        })
    }

    /// Returns the name of the relation between this core and another core.
    fn relation(&self, other: &Self) -> &'static str {
        if self.siblings.contains(&other.number) {
            "siblings"
        } else if self.near.contains(&other.number) {
            "near"
        } else {
            "far"
        }
    }
}

/// Returns the folder that describes the cache of the highest level.
fn last_cache(caches: &Path) -> Option<PathBuf> {
    let level = |cache: &PathBuf| -> Option<u32> {
        let level = fs::read_to_string(cache.join("level")).ok()?;
        level.trim().parse().ok()
    };
    let folders = fs::read_dir(caches).ok()?;
    let with_levels = folders
        .filter_map(|folder| Some(folder.ok()?.path()))
        .filter_map(|cache| Some((level(&cache)?, cache)));
    let (_, last) = with_levels.max_by_key(|(level, _)| *level)?;
    Some(last)
}

/// Reads a list of cores from a file.
fn numbers(file: &Path) -> Option<Vec<usize>> {
    parse(fs::read_to_string(file).ok()?.trim())
}

/// Parses a list of numbers such as `0-3,8`.
fn parse(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(numbers)
}

/// Returns one pair of cores for each relation that exists on this machine. Returns [`Cores::ANY`]
/// if the system does not describe its cores.
pub(super) fn placements() -> Vec<Cores> {
    let read = |number| Core::read(Path::new(CORES), number);
    let cores: Option<Vec<Core>> = allowed().into_iter().map(read).collect();
    let pairs = pairs(&cores.unwrap_or_default());
    if pairs.is_empty() {
        return vec![Cores::ANY];
    }
    pairs
}

/// Returns the first pair of cores for each relation that exists between two of `cores`.
fn pairs(cores: &[Core]) -> Vec<Cores> {
    let mut pairs: Vec<Cores> = Vec::new();
    for (index, core) in cores.iter().enumerate() {
        for other in &cores[index + 1..] {
            let name = core.relation(other);
            if pairs.iter().all(|pair| pair.name != name) {
                let numbers = Some([core.number, other.number]);
                pairs.push(Cores { name, numbers });
            }
        }
    }
    pairs
}

/// Returns the cores on which this process may run.
#[cfg(target_os = "linux")]
fn allowed() -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};

    let Ok(set) = sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return Vec::new();
    };
    let is_set = |number: &usize| set.is_set(*number).unwrap_or(false);
    (0..CpuSet::count()).filter(is_set).collect()
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Vec<usize> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn pin(number: usize) -> io::Result<()> {
    use nix::sched::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    set.set(number)?;
    Ok(sched_setaffinity(nix::unistd::Pid::from_raw(0), &set)?)
}

#[cfg(not(target_os = "linux"))]
fn pin(_: usize) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(number: usize, siblings: &str, near: &str) -> Core {
        Core {
            number,
            siblings: parse(siblings).expect("a list"),
            near: parse(near).expect("a list"),
        }
    }

    fn found(cores: &[Core]) -> Vec<(&'static str, [usize; 2])> {
        let pairs = pairs(cores).into_iter();
        pairs
            .map(|pair| (pair.name, pair.numbers.expect("cores are named")))
            .collect()
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        for bad in ["", "a", "1-", "1,,2"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_first_pair_of_each_kind_is_taken() {
        let two = [core(0, "0", "0-1"), core(1, "1", "0-1")];
        assert_eq!(found(&two), [("near", [0, 1])]);
        let four = [
            core(0, "0,4", "0-1,4"),
            core(1, "1", "0-1,4"),
            core(4, "0,4", "0-1,4"),
            core(7, "7", "7"),
        ];
        let all = [("near", [0, 1]), ("siblings", [0, 4]), ("far", [0, 7])];
        assert_eq!(found(&four), all);
        assert_eq!(found(&four[..1]), []);
    }

    #[test]
    fn this_machine_has_a_place_and_threads_keep_to_it() {
        let places = placements();
        assert!(!places.is_empty());
        for cores in places {
            for side in [0, 1] {
                let pinned = std::thread::spawn(move || {
                    cores.pin(side).expect("the core is an allowed one");
                    allowed()
                });
                let allowed = pinned.join().expect("the thread only looks");
                if let Some(numbers) = cores.numbers {
                    assert_eq!(allowed, [numbers[side]]);
                }
            }
        }
    }
}
