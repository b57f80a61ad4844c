//! Handles of simulated disks and of their files.

use std::fmt;
use std::io;
use std::sync::Arc;

use garrick_actor::files::{File, Files, Lock, check_name};

use super::conditions::Conditions;
use super::names::FileId;
use super::room::Room;
use super::store::Store;

/// The simulated disk of a node. [`Sim::disk`](crate::Sim::disk) returns it. A disk implements
/// [`Files`].
///
/// Clones are handles to the same disk. The disk survives a crash of its node, but may lose
/// unsynced data. While the node is down, all operations return an error, so that destructors of
/// the node's actors write nothing. All operations on files that were opened before the crash
/// return errors.
///
/// An operation takes effect at once. If the turn fails later, nothing is undone, as on a real
/// disk.
#[derive(Clone)]
pub struct Disk {
    node: Arc<str>,
    room: Arc<Room>,
}

impl Disk {
    pub(super) fn new(node: &str, room: Arc<Room>) -> Self {
        let node = node.into();
        Self { node, room }
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    fn perform<R>(
        &self,
        operation: impl FnOnce(&mut Store, &mut Conditions<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        self.room.perform(&self.node, None, operation)
    }

    /// Performs an operation that creates or opens a file. Returns a handle of the file. If
    /// `is_read_only` is true, the handle can only read.
    fn file(
        &self,
        is_read_only: bool,
        operation: impl FnOnce(&mut Store, &mut Conditions<'_>) -> io::Result<FileId>,
    ) -> io::Result<Box<dyn File>> {
        let (file, crashes) = self.perform(|store, cx| {
            let file = operation(store, cx)?;
            Ok((file, cx.power.crashes()))
        })?;
        Ok(Box::new(Open {
            disk: self.clone(),
            file,
            crashes,
            is_read_only,
        }))
    }
}

impl Files for Disk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        check_name(name)?;
        self.file(false, |store, cx| store.create(name, cx))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        check_name(name)?;
        self.file(false, |store, cx| store.open(name, cx))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        check_name(name)?;
        self.file(true, |store, cx| store.open(name, cx))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        self.perform(|store, cx| store.rename(from, to, cx))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        self.perform(|store, cx| store.remove(name, cx))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.perform(|store, cx| store.list(cx))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.perform(Store::sync_names)
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        let crashes = self.perform(|store, cx| {
            store.lock()?;
            Ok(cx.power.crashes())
        })?;
        Ok(Box::new(Locked {
            disk: self.clone(),
            crashes,
        }))
    }
}

/// A lock on a simulated disk.
#[derive(Debug)]
struct Locked {
    disk: Disk,
    /// Number of times that the disk had crashed when it was locked.
    crashes: u32,
}

impl Lock for Locked {}

impl Drop for Locked {
    fn drop(&mut self) {
        // After a crash, the disk is not locked by this lock any more.
        let Disk { node, room } = &self.disk;
        let _ = room.perform(node, Some(self.crashes), |store, _| {
            store.unlock();
            Ok(())
        });
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Disk").field(&self.node).finish()
    }
}

/// An open file of a simulated disk.
struct Open {
    disk: Disk,
    file: FileId,
    /// Number of times that the disk had crashed when the file was opened.
    crashes: u32,
    /// True if the file was opened for reading.
    is_read_only: bool,
}

impl Open {
    fn perform<R>(
        &self,
        operation: impl FnOnce(&mut Store, &mut Conditions<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        let Disk { node, room } = &self.disk;
        room.perform(node, Some(self.crashes), operation)
    }

    /// Performs an operation that writes to the file.
    fn change(
        &self,
        operation: impl FnOnce(&mut Store, &mut Conditions<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_read_only {
            let text = "the file was opened for reading";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        self.perform(operation)
    }
}

impl File for Open {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.change(|store, cx| store.write(self.file, None, bytes, cx))
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(|store, cx| store.write(self.file, Some(at), bytes, cx))
    }

    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.perform(|store, cx| {
            let content = store.read(self.file, cx)?;
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
            let length = buffer.len().min(content.len() - start);
            buffer[..length].copy_from_slice(&content[start..start + length]);
            Ok(length)
        })
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.perform(|store, cx| Ok(store.read(self.file, cx)?.to_vec()))
    }

    fn length(&self) -> io::Result<u64> {
        self.perform(|store, _| Ok(store.length(self.file)))
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.change(|store, cx| store.set_length(self.file, length, cx))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.perform(|store, cx| store.sync(self.file, cx))
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open")
            .field("disk", &self.disk.node)
            .field("file", &self.file)
            .finish()
    }
}
