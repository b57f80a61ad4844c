//! The names of the files of a disk: the names that programs see, and the names that survive a
//! crash.

use std::collections::BTreeMap;

use super::fault::Operation;
use crate::search::Rng;

/// Number of a file. Files are numbered in the order of their creation on the disk.
pub(super) type FileId = u32;

/// The names of the files of one disk.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The names that programs see.
    seen: BTreeMap<String, FileId>,
    /// The names that are certainly on the disk.
    durable: BTreeMap<String, FileId>,
    /// The changes since the last sync, oldest first.
    pending: Vec<Change>,
}

/// A change of a file name.
#[derive(Debug, Clone)]
enum Change {
    Create { name: String, file: FileId },
    Rename { from: String, to: String },
    Remove { name: String },
}

impl Names {
    /// Returns the file with the name `name`, or `None` if there is no such file.
    pub(super) fn find(&self, name: &str) -> Option<FileId> {
        self.seen.get(name).copied()
    }

    /// Returns all names with their files, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, FileId)> {
        self.seen.iter().map(|(name, file)| (name.as_str(), *file))
    }

    /// Adds the name of a new file. There must be no file with this name.
    pub(super) fn create(&mut self, name: &str, file: FileId) {
        debug_assert!(self.find(name).is_none());
        let name = name.to_owned();
        self.change(Change::Create { name, file });
    }

    /// Renames the file `from`, which must exist, to `to`.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        debug_assert!(self.find(from).is_some());
        if from != to {
            let (from, to) = (from.to_owned(), to.to_owned());
            self.change(Change::Rename { from, to });
        }
    }

    /// Removes the name of a file, which must exist.
    pub(super) fn remove(&mut self, name: &str) {
        debug_assert!(self.find(name).is_some());
        let name = name.to_owned();
        self.change(Change::Remove { name });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    /// Makes all changes durable.
    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Keeps a random number of the earliest pending changes, and loses the later ones. Keeps no
    /// change if `loses_all` is true. Returns the operation and the name of each lost change.
    pub(super) fn crash(&mut self, rng: &mut Rng, loses_all: bool) -> Vec<(Operation, String)> {
        let kept = match rng.below(3) {
            _ if loses_all => 0,
            0 => 0,
            1 => self.pending.len(),
            _ => rng.below(self.pending.len() + 1),
        };
        let lost = self.pending.split_off(kept);
        self.sync();
        self.seen.clone_from(&self.durable);
        lost.into_iter().map(Change::into_operation).collect()
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, FileId>) {
        match self {
            Self::Create { name, file } => {
                names.insert(name.clone(), *file);
            }
            Self::Rename { from, to } => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove { name } => {
                names.remove(name);
            }
        }
    }

    fn into_operation(self) -> (Operation, String) {
        match self {
            Self::Create { name, .. } => (Operation::Create, name),
            Self::Rename { from, .. } => (Operation::Rename, from),
            Self::Remove { name } => (Operation::Remove, name),
        }
    }
}
