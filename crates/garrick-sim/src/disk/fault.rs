//! Facts about the faults of disks.

/// A fact that the simulation itself records: a fault of a disk has happened.
///
/// Faults that happen in a turn are recorded before the facts of the turn. They are recorded even
/// if the turn is undone, because a disk does not undo anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFault {
    /// Name of the node to which the disk belongs.
    pub disk: String,
    /// Name of the file. Empty if the fault concerns the names of all files.
    pub file: String,
    /// The fault that has happened.
    pub what: DiskEvent,
}

/// Faults of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskEvent {
    /// The node has crashed at this operation, within a turn. The operation has had no effect.
    Crashed(Operation),
    /// The operation has returned an error.
    Failed(Operation),
    /// A write has returned an error, because the disk was full.
    Full,
    /// A sync has returned an error.
    SyncFailed {
        /// Number of bytes that no later sync makes durable.
        dropped: usize,
    },
    /// A sync has done nothing, but has returned no error.
    SyncLied,
    /// A crash has lost bytes that were not synced.
    Lost {
        /// Number of written bytes that are lost. A change of the length counts as one byte.
        bytes: usize,
        /// True if some of the lost bytes were replaced by other bytes.
        is_torn: bool,
    },
    /// A crash has undone this change of a file name, because the change was not synced.
    NameLost(Operation),
}

/// Operations on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// A file is created.
    Create,
    /// A file is opened.
    Open,
    /// A file is read.
    Read,
    /// A file is written.
    Write,
    /// The length of a file is changed.
    SetLength,
    /// The content of a file is synced.
    Sync,
    /// The name of a file is changed.
    Rename,
    /// A file is removed.
    Remove,
    /// The names of the files are listed.
    List,
    /// The names of the files are synced.
    SyncNames,
}
