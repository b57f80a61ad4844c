//! Files in a folder of the operating system.

use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;

use super::{File, Files, Lock, check_name};

/// Name of the lock file. To lock a folder, a process locks this file in the folder.
const LOCK: &str = "lock";

/// A folder of the operating system.
///
/// # Examples
/// ```
/// use garrick_actor::files::{Files, Folder};
///
/// # fn main() -> std::io::Result<()> {
/// # let place = std::env::temp_dir().join(format!("garrick-folder-{}", std::process::id()));
/// std::fs::create_dir_all(&place)?;
/// let folder = Folder::open(&place)?;
/// folder.replace("greeting", b"hello")?;
/// assert_eq!(folder.read("greeting")?, b"hello");
/// assert_eq!(folder.list()?, ["greeting"]);
/// # std::fs::remove_dir_all(&place)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if nothing exists at `path`, and
    /// [`NotADirectory`](io::ErrorKind::NotADirectory) if `path` is not a folder.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if !fs::metadata(&path)?.is_dir() {
            let text = format!("{} is no folder", path.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
        }
        Ok(Self { path })
    }

    /// Opens a folder, and creates it if it does not exist. Also creates its parents, and makes the
    /// new names durable.
    ///
    /// # Errors
    /// Returns the errors of [`Folder::open`] except `NotFound`, and any I/O error.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let missing: Vec<_> = (path.ancestors())
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_path_buf)
            .collect();
        fs::create_dir_all(&path)?;
        for folder in missing {
            let parent = folder.parent().filter(|path| !path.as_os_str().is_empty());
            fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Self::open(path)
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }
}

impl Files for Folder {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let path = self.path_of(name)?;
        let file = fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        Ok(Box::new(Open(file)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let path = self.path_of(name)?;
        let file = fs::File::options().read(true).write(true).open(path)?;
        Ok(Box::new(Open(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path_of(from)?, self.path_of(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().into_string().map_err(|name| {
                    let text = format!("the name {} is not UTF-8", Path::new(&name).display());
                    io::Error::new(io::ErrorKind::InvalidData, text)
                })?);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        let place = self.path.display().to_string();
        let locked = LockedFile::new(&self.path.join(LOCK), &place)?;
        Ok(Box::new(locked))
    }

    #[cfg(all(unix, not(garrick_portable)))]
    fn sync_names(&self) -> io::Result<()> {
        fs::File::open(&self.path)?.sync_all()
    }

    /// Does nothing, because only Unix systems can sync a folder.
    #[cfg(any(not(unix), garrick_portable))]
    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A locked file. Until this value is dropped, no other code in this or another process can lock
/// the file. The operating system releases the lock when the process ends.
#[doc(hidden)]
#[derive(Debug)]
pub struct LockedFile(fs::File);

impl LockedFile {
    /// Locks a file, and writes the id of this process to it. Creates the file if it does not
    /// exist. Error messages use `what` as the name of the locked object.
    ///
    /// # Errors
    /// Returns [`ResourceBusy`](io::ErrorKind::ResourceBusy) if the file is locked, and any error
    /// of the operating system.
    pub fn new(path: &Path, what: &str) -> io::Result<Self> {
        let mut file = fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                let text = format!("the process {} has locked {what}", owner.trim());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // For people, and for the error above.
        file.set_len(0)?;
        writeln!(file, "{}", process::id())?;
        Ok(Self(file))
    }
}

impl Lock for LockedFile {}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread starts at this moment has a copy of
        // the handle until it runs its program.
        let _ = self.0.unlock();
    }
}

/// An open file of the operating system.
#[derive(Debug)]
struct Open(fs::File);

/// Reads bytes of a file from the offset `at`. Returns the number of bytes that were read, which is
/// 0 at the end of the file.
#[cfg(all(unix, not(garrick_portable)))]
fn read_part(file: &mut fs::File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    // One system call instead of two.
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Reads bytes of a file from the offset `at`. Returns the number of bytes that were read, which is
/// 0 at the end of the file.
#[cfg(any(not(unix), garrick_portable))]
fn read_part(file: &mut fs::File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    file.read(buffer)
}

impl File for Open {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::End(0))?;
        self.0.write_all(bytes)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(at))?;
        self.0.write_all(bytes)
    }

    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < buffer.len() {
            match read_part(&mut self.0, at + length as u64, &mut buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.0.seek(SeekFrom::Start(0))?;
        self.0.read_to_end(&mut content)?;
        Ok(content)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
