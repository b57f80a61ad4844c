//! The state of one disk.

use std::collections::BTreeMap;
use std::io;

use super::conditions::{Conditions, failed, hash_bytes, hash_text};
use super::content::Content;
use super::fault::{DiskEvent, Operation};
use super::names::{FileId, Names};

/// Maximum length of a file. A simulation holds all files in memory, so a longer file is probably a
/// mistake.
const FILE_MAX: u64 = 1 << 30;

/// The files of one disk.
#[derive(Debug, Default)]
pub(super) struct Store {
    names: Names,
    files: BTreeMap<FileId, Stored>,
    /// Number that the next new file gets.
    next: FileId,
    is_locked: bool,
}

/// A file of a simulated disk.
#[derive(Debug)]
struct Stored {
    /// The current name of the file. A removed file keeps its last name.
    name: String,
    content: Content,
}

impl Store {
    pub(super) fn lock(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_locked, true) {
            let text = "the disk is locked already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        Ok(())
    }

    pub(super) fn unlock(&mut self) {
        self.is_locked = false;
    }

    pub(super) fn create(&mut self, name: &str, cx: &mut Conditions<'_>) -> io::Result<FileId> {
        cx.begin_or_fail(Operation::Create, name)?;
        if self.names.find(name).is_some() {
            let text = format!("there is a file {name:?}");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let file = self.next;
        self.next += 1;
        self.names.create(name, file);
        let content = Content::default();
        let name = name.to_owned();
        self.files.insert(file, Stored { name, content });
        Ok(file)
    }

    pub(super) fn open(&self, name: &str, cx: &mut Conditions<'_>) -> io::Result<FileId> {
        cx.begin_or_fail(Operation::Open, name)?;
        self.existing(name)
    }

    fn existing(&self, name: &str) -> io::Result<FileId> {
        let none = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no file {name:?}"),
            )
        };
        self.names.find(name).ok_or_else(none)
    }

    pub(super) fn rename(
        &mut self,
        from: &str,
        to: &str,
        cx: &mut Conditions<'_>,
    ) -> io::Result<()> {
        cx.begin_or_fail(Operation::Rename, from)?;
        let file = self.existing(from)?;
        self.names.rename(from, to);
        to.clone_into(&mut self.file(file).name);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str, cx: &mut Conditions<'_>) -> io::Result<()> {
        cx.begin_or_fail(Operation::Remove, name)?;
        self.existing(name)?;
        self.names.remove(name);
        Ok(())
    }

    pub(super) fn list(&self, cx: &mut Conditions<'_>) -> io::Result<Vec<String>> {
        cx.begin_or_fail(Operation::List, "")?;
        Ok(self.names.iter().map(|(name, _)| name.to_owned()).collect())
    }

    pub(super) fn sync_names(&mut self, cx: &mut Conditions<'_>) -> io::Result<()> {
        let mut rng = cx.begin(Operation::SyncNames, "")?;
        if cx.sync_fails(&mut rng) {
            cx.report("", DiskEvent::SyncFailed { dropped: 0 });
            return Err(failed(cx.disk, Operation::SyncNames));
        }
        if cx.sync_lies(&mut rng) {
            cx.report("", DiskEvent::SyncLied);
        } else {
            self.names.sync();
        }
        Ok(())
    }

    /// Writes bytes at a position, or at the end if there is no position.
    pub(super) fn write(
        &mut self,
        file: FileId,
        at: Option<u64>,
        bytes: &[u8],
        cx: &mut Conditions<'_>,
    ) -> io::Result<()> {
        let space = self.space_for(file, cx);
        let stored = self.file(file);
        let mut rng = cx.begin(Operation::Write, &stored.name)?;
        let at = at.unwrap_or(stored.content.seen().len() as u64);
        check_length(at.saturating_add(bytes.len() as u64))?;
        if cx.fails(&mut rng) {
            let written = rng.below(bytes.len() + 1).min(fitting(space, at, bytes));
            stored.content.write(at as usize, &bytes[..written]);
            return Err(cx.fail(Operation::Write, &stored.name));
        }
        let written = fitting(space, at, bytes);
        stored.content.write(at as usize, &bytes[..written]);
        if written < bytes.len() {
            return Err(full(&stored.name, cx));
        }
        Ok(())
    }

    pub(super) fn set_length(
        &mut self,
        file: FileId,
        length: u64,
        cx: &mut Conditions<'_>,
    ) -> io::Result<()> {
        let space = self.space_for(file, cx);
        let stored = self.file(file);
        cx.begin_or_fail(Operation::SetLength, &stored.name)?;
        check_length(length)?;
        if length > stored.content.seen().len() as u64 && space.is_some_and(|space| length > space)
        {
            return Err(full(&stored.name, cx));
        }
        stored.content.set_length(length as usize);
        Ok(())
    }

    pub(super) fn read(&mut self, file: FileId, cx: &mut Conditions<'_>) -> io::Result<&[u8]> {
        let stored = self.file(file);
        cx.begin_or_fail(Operation::Read, &stored.name)?;
        Ok(stored.content.seen())
    }

    pub(super) fn length(&self, file: FileId) -> u64 {
        self.files[&file].content.seen().len() as u64
    }

    pub(super) fn sync(&mut self, file: FileId, cx: &mut Conditions<'_>) -> io::Result<()> {
        let stored = self.file(file);
        let mut rng = cx.begin(Operation::Sync, &stored.name)?;
        if cx.sync_fails(&mut rng) {
            let dropped = stored.content.fail_sync(&mut rng).bytes;
            cx.report(&stored.name, DiskEvent::SyncFailed { dropped });
            return Err(failed(cx.disk, Operation::Sync));
        }
        if cx.sync_lies(&mut rng) {
            cx.report(&stored.name, DiskEvent::SyncLied);
        } else {
            stored.content.sync();
        }
        Ok(())
    }

    /// Crashes the disk: loses unsynced data, and releases the lock of the disk.
    pub(super) fn crash(&mut self, cx: &mut Conditions<'_>) {
        self.is_locked = false;
        for stored in self.files.values_mut() {
            let mut rng = cx.begin_crash(&stored.name);
            let loss = stored.content.crash(&mut rng, cx.damage());
            if loss.bytes > 0 {
                let (bytes, is_torn) = (loss.bytes, loss.is_torn);
                cx.report(&stored.name, DiskEvent::Lost { bytes, is_torn });
            }
        }
        let mut rng = cx.begin_crash("");
        for (operation, name) in self.names.crash(&mut rng, cx.damage().loses_all) {
            cx.report(&name, DiskEvent::NameLost(operation));
        }
        let named: BTreeMap<FileId, &str> = self.names.iter().map(|(n, f)| (f, n)).collect();
        self.files.retain(|file, stored| {
            let name = named.get(file);
            if let Some(name) = name {
                (*name).clone_into(&mut stored.name);
            }
            name.is_some()
        });
    }

    /// Mixes the names and contents of the files into `hash`, and returns the result.
    pub(super) fn hash(&self, hash: u64) -> u64 {
        let add = |hash, (name, file): (&str, FileId)| {
            let content = &self.files[&file].content;
            let hash = hash_bytes(hash_text(hash, name), content.seen());
            hash_bytes(hash_bytes(hash, &[0xff]), content.durable())
        };
        self.names.iter().fold(hash, add)
    }

    /// Returns an open file. Even a removed file is kept until the next crash, which invalidates
    /// all handles.
    fn file(&mut self, file: FileId) -> &mut Stored {
        self.files
            .get_mut(&file)
            .expect("a file is kept until a crash")
    }

    /// Returns the maximum length to which a file may grow, or `None` if the disk has no limit.
    fn space_for(&self, file: FileId, cx: &Conditions<'_>) -> Option<u64> {
        let others = self.names.iter().filter(|(_, other)| *other != file);
        let used: u64 = others.map(|(_, other)| self.length(other)).sum();
        cx.rule.full.map(|full| full.saturating_sub(used))
    }
}

/// Returns how many of `bytes` can be written at the position `at`. `space` is the maximum length
/// of the file.
fn fitting(space: Option<u64>, at: u64, bytes: &[u8]) -> usize {
    let left = space.map_or(u64::MAX, |space| space.saturating_sub(at));
    bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
}

fn full(file: &str, cx: &mut Conditions<'_>) -> io::Error {
    cx.report(file, DiskEvent::Full);
    let text = format!("the simulated disk of {:?} is full", cx.disk);
    io::Error::new(io::ErrorKind::StorageFull, text)
}

fn check_length(length: u64) -> io::Result<()> {
    if length <= FILE_MAX {
        return Ok(());
    }
    let text = format!("a file of {length} bytes on a simulated disk, whose limit is {FILE_MAX}");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}
