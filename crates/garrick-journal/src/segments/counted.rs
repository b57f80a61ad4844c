//! Files that count their syncs and the bytes that are written to them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_actor::files::{File, Files, Lock};

/// Counters of a disk. Written by the thread that uses the files, read by any thread.
#[derive(Debug, Default)]
pub(super) struct DiskCounts {
    /// Number of bytes that were written, including the bytes of failed writes.
    pub(super) written: AtomicU64,
    /// Number of syncs of files and of the folder, including failed syncs.
    pub(super) syncs: AtomicU64,
}

impl DiskCounts {
    fn add(&self, written: usize, syncs: u64) {
        // Relaxed: the numbers order nothing.
        self.written.fetch_add(written as u64, Relaxed);
        self.syncs.fetch_add(syncs, Relaxed);
    }
}

/// Files that count their syncs and the bytes that are written to them.
#[derive(Debug)]
pub(super) struct Counted {
    files: Arc<dyn Files>,
    counts: Arc<DiskCounts>,
}

impl Counted {
    pub(super) fn new(files: Arc<dyn Files>, counts: Arc<DiskCounts>) -> Self {
        Self { files, counts }
    }

    fn file(&self, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(CountedFile {
            file,
            counts: Arc::clone(&self.counts),
        })
    }
}

impl Files for Counted {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(self.file(self.files.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(self.file(self.files.open(name)?))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(self.file(self.files.open_to_read(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.counts.add(0, 1);
        self.files.sync_names()
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        self.files.lock()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.files.read(name)
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // One sync of the file, and one of the names.
        self.counts.add(content.len(), 2);
        self.files.replace(name, content)
    }
}

/// A file that counts its syncs and the bytes that are written to it.
#[derive(Debug)]
struct CountedFile {
    file: Box<dyn File>,
    counts: Arc<DiskCounts>,
}

impl File for CountedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.counts.add(bytes.len(), 0);
        self.file.append(bytes)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.add(bytes.len(), 0);
        self.file.write_at(at, bytes)
    }

    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, buffer)
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.file.read()
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.counts.add(0, 1);
        self.file.sync()
    }
}
