//! Files in a folder of the operating system.

use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{self, Component, Path, PathBuf};
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
    /// Opens a folder. A relative path begins at the current folder of the process. If the current
    /// folder changes later, this value still stands for the same folder.
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
        let path = path::absolute(path)?;
        Ok(Self { path })
    }

    /// Opens a folder, and creates it if it does not exist. Also creates its parents, and makes the
    /// new names durable.
    ///
    /// If the folder exists, its name also becomes durable, because a process that was killed may
    /// have created it. However, if its parent folder cannot be synced, for example because this
    /// process has no permission to read the parent folder, the name is left as it is.
    ///
    /// # Errors
    /// Returns the errors of [`Folder::open`] except `NotFound`, and any I/O error.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        create_durable(&path, sync_folder)?;
        Self::open(path)
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }
}

/// Creates a folder, and those of its parents that do not exist. `sync` makes the names in a folder
/// durable. Each name is durable before anything is created in the new folder. So if the process is
/// killed during the call, at most one folder is left without a durable name: the innermost one
/// that exists. The next call makes this name durable.
///
/// # Errors
/// Returns any I/O error, except if the innermost existing folder is in a folder that cannot be
/// synced at all.
fn create_durable(path: &Path, mut sync: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    // Without empty parts and parts `.`: a system creates no folder whose path ends with `.`.
    let path: PathBuf = path.components().collect();
    let folders = || path.ancestors().filter(|path| !path.as_os_str().is_empty());
    let missing: Vec<_> = folders().take_while(|folder| !folder.exists()).collect();
    let existing = folders().nth(missing.len());
    if let Some(parent) = existing.and_then(parent_of) {
        match sync(&parent) {
            // The folder may belong to others, and its name may have been durable for a long time.
            Err(error) if cannot_be_synced(&error) => {}
            synced => synced?,
        }
    }
    for folder in missing.into_iter().rev() {
        if folder.ends_with("..") {
            // It exists now, because the folder before `..` does. It is not new.
            continue;
        }
        let is_new = match fs::create_dir(folder) {
            Ok(()) => true,
            // Another process creates it, too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => false,
            Err(error) => return Err(error),
        };
        if let Some(parent) = parent_of(folder)
            && let Err(error) = sync(&parent)
        {
            if is_new {
                // After a failed sync, another sync of the same name proves nothing.
                let _ = fs::remove_dir(folder);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the folder that contains a folder. Returns `None` for the root of all folders.
fn parent_of(folder: &Path) -> Option<PathBuf> {
    match folder.components().next_back()? {
        // Without its last part, such a path would not lead to the folder outside.
        Component::ParentDir | Component::CurDir => Some(folder.join("..")),
        _ => {
            let parent = folder.parent()?;
            let is_here = parent.as_os_str().is_empty();
            Some(if is_here { Path::new(".") } else { parent }.to_owned())
        }
    }
}

/// Returns true if a folder could not be synced because this process has no permission to read the
/// folder, or because the file system cannot sync folders or is read-only.
fn cannot_be_synced(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::Unsupported
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Makes the names in a folder durable.
#[cfg(all(unix, not(garrick_portable)))]
fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Does nothing, because only Unix systems can sync a folder.
#[cfg(any(not(unix), garrick_portable))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
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

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = fs::File::open(self.path_of(name)?)?;
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

    fn sync_names(&self) -> io::Result<()> {
        sync_folder(&self.path)
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

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::path::{Path, PathBuf};
    use std::{env, fs, process, slice};

    use super::create_durable;

    /// An empty folder, which is removed when this value is dropped.
    struct Place(PathBuf);

    impl Place {
        fn new(test: &str) -> Self {
            let name = format!("garrick-folder-unit-{}-{test}", process::id());
            let path = env::temp_dir().join(name);
            // A run that was killed may have left it, if its process had the same number.
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_name_of_a_folder_that_a_killed_process_has_left_is_synced() {
        let place = Place::new("left");
        let log = place.0.join("log");
        fs::create_dir(&log).unwrap();
        let mut synced = Vec::new();
        let sync = |folder: &Path| {
            synced.push(folder.to_owned());
            Ok(())
        };
        create_durable(&log, sync).unwrap();
        assert_eq!(synced, slice::from_ref(&place.0));
        // The root of all folders has no name.
        create_durable(Path::new("/"), |folder| panic!("{}", folder.display())).unwrap();
    }

    #[test]
    fn the_name_of_a_folder_is_synced_where_it_is() {
        let place = Place::new("dots");
        fs::create_dir(place.0.join("there")).unwrap();
        let canonical = |path: &Path| fs::canonicalize(path).unwrap();
        let create = |path: &Path| {
            let mut synced = Vec::new();
            let sync = |folder: &Path| {
                synced.push(canonical(folder));
                Ok(())
            };
            create_durable(path, sync).unwrap();
            synced
        };
        let outer = canonical(place.0.parent().unwrap());
        let inner = canonical(&place.0);
        // Folders that exist.
        for path in ["there/..", "there/./..", "there//../", "there/../there/.."] {
            assert_eq!(
                create(&place.0.join(path)),
                slice::from_ref(&outer),
                "{path}"
            );
        }
        for path in ["there", "there/", ".//there/.", "there/../there"] {
            assert_eq!(
                create(&place.0.join(path)),
                slice::from_ref(&inner),
                "{path}"
            );
        }
        // A new folder in a folder that exists.
        let two = [outer.clone(), inner.clone()];
        assert_eq!(create(&place.0.join("there/../a")), two);
        assert_eq!(create(&place.0.join(".//b/./")), two);
        // Two new folders, and a name that becomes valid with the first of them.
        let three = [outer, inner.clone(), inner];
        assert_eq!(create(&place.0.join("c/../d")), three);
        let here = canonical(Path::new("."));
        assert_eq!(create(Path::new(".")), [here.parent().unwrap()]);
    }

    #[test]
    fn the_name_of_a_folder_is_synced_before_anything_is_created_in_it() {
        let place = Place::new("nested");
        let (a, b) = (place.0.join("a"), place.0.join("a/b"));
        let log = b.join("log");
        let mut synced = Vec::new();
        let sync = |folder: &Path| {
            let exist = [&a, &b, &log].map(|folder| folder.exists());
            synced.push((folder.to_owned(), exist.map(u8::from)));
            Ok(())
        };
        create_durable(&log, sync).unwrap();
        let parent = place.0.parent().unwrap().to_owned();
        let expected = [
            (parent, [0, 0, 0]),
            (place.0.clone(), [1, 0, 0]),
            (a, [1, 1, 0]),
            (b, [1, 1, 1]),
        ];
        assert_eq!(synced, expected);
    }

    #[test]
    fn a_parent_that_cannot_be_synced_matters_if_a_folder_was_created() {
        let place = Place::new("refused");
        let log = place.0.join("log");
        let (refused, failed) = (ErrorKind::PermissionDenied, ErrorKind::Other);
        let create = |kind: ErrorKind| {
            create_durable(&log, |folder| {
                let is_parent = folder == place.0;
                if is_parent {
                    Err(io::Error::from(kind))
                } else {
                    Ok(())
                }
            })
        };
        for kind in [refused, failed] {
            assert_eq!(create(kind).unwrap_err().kind(), kind);
            assert!(!log.exists(), "the next call does not take it for durable");
        }
        fs::create_dir(&log).unwrap();
        create(refused).unwrap();
        create(ErrorKind::InvalidInput).unwrap();
        assert_eq!(create(failed).unwrap_err().kind(), failed);
    }
}
