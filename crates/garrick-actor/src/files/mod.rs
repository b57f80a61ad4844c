//! Files of an actor: one interface for a real folder and for the disk of a simulation.
//!
//! An actor that keeps files gets an `Arc<dyn Files>` from the function that starts it. In
//! production, the value is a [`Folder`]. In a simulation, the value is the disk of the actor's
//! node. After a crash, this disk loses data that were not synced. The disk may also be slow,
//! become full, or fail. The code of the actor is the same in both cases.
//!
//! A call blocks the thread until the disk has answered. Use [`Context::blocking`] around long
//! calls, or run the actor on a separate system.
//!
//! [`Context::blocking`]: crate::Context::blocking
//!
//! # What is durable
//! After a crash of the machine, only the following is certain:
//! - The content that a file had at the last successful [`File::sync`].
//! - The names that the folder had at the last successful [`Files::sync_names`]. A new file whose
//!   name was not synced may be missing, even if its content was synced.
//!
//! A sync that returns an error may have lost the data that were written before it. A second sync
//! of the same file proves nothing: write the content again, to a new file.

use std::fmt::Debug;
use std::io;

mod folder;

pub use folder::Folder;
#[doc(hidden)]
pub use folder::LockedFile;

/// Maximum length of a name in bytes.
const NAME_MAX: usize = 255;

/// A folder that contains only files, and no other folders.
///
/// # Errors
/// All methods return an error of kind [`InvalidInput`](io::ErrorKind::InvalidInput) if
/// [`check_name`] does not accept a name, and any I/O error.
///
/// # Examples
/// ```
/// use std::io;
/// use std::sync::Arc;
///
/// use garrick_actor::files::{File, Files};
/// use garrick_actor::{Actor, Context};
///
/// /// Counts its messages. The count survives a crash.
/// struct Counter {
///     files: Arc<dyn Files>,
///     count: u64,
/// }
///
/// impl Actor for Counter {
///     type Msg = ();
///     type Outcome = io::Result<()>;
///
///     fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> io::Result<()> {
///         self.files.replace("count", &(self.count + 1).to_le_bytes())?;
///         self.count += 1;
///         Ok(())
///     }
/// }
/// ```
pub trait Files: Debug + Send + Sync {
    /// Creates an empty file.
    ///
    /// # Errors
    /// Returns [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a file with this name.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if there is no file with this name.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file for reading. Unlike [`Files::open`], this method needs no permission to write
    /// the file. Methods of the file that write may return an error. The default implementation
    /// calls [`Files::open`].
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if there is no file with this name.
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open(name)
    }

    /// Renames a file from `from` to `to`. If there already is a file with the name `to`, replaces
    /// it. Open files remain usable.
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if there is no file with the name `from`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Code that has opened the file can still use it.
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if there is no file with this name.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the names of all files, in ascending order.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes the names of the files durable, so that the creation, renaming and removal of files
    /// survive a crash. Does not sync the content of any file.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn sync_names(&self) -> io::Result<()>;

    /// Locks the folder for this process, until the lock is dropped or the process ends. Other
    /// methods do not check the lock.
    ///
    /// To lock a [`Folder`], this method locks a file named `lock` in the folder.
    ///
    /// # Errors
    /// Returns [`ResourceBusy`](io::ErrorKind::ResourceBusy) if the folder is locked.
    fn lock(&self) -> io::Result<Box<dyn Lock>>;

    /// Returns the content of a file.
    ///
    /// # Errors
    /// Returns [`NotFound`](io::ErrorKind::NotFound) if there is no file with this name.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.open_to_read(name)?.read()
    }

    /// Replaces the content of a file, or creates the file. After a crash, the file has either the
    /// old content or the new one. When this method returns `Ok`, the new content is durable.
    ///
    /// Writes a file named `name` with the suffix `.new`, syncs it, renames it, and syncs the
    /// names. So `name` can have at most 251 bytes.
    ///
    /// After an error, the file has the old content or the new one. The method then tries to remove
    /// the file with the suffix `.new`.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        match self.remove(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let replaced = self.create(&new).and_then(|mut file| {
            file.append(content)?;
            file.sync()?;
            self.rename(&new, name)?;
            self.sync_names()
        });
        if replaced.is_err() {
            // Its space may be needed, and nobody else would remove it.
            let _ = self.remove(&new);
        }
        replaced
    }
}

/// An open file.
///
/// # Errors
/// All methods return any I/O error. After an error in a method that writes, some of the bytes may
/// have been written.
pub trait File: Debug + Send {
    /// Appends bytes to the file.
    ///
    /// # Errors
    /// Returns [`StorageFull`](io::ErrorKind::StorageFull) if there is no space. In this case, some
    /// of the bytes may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Writes bytes at a position. If the file ends before `at`, the gap is filled with zeros.
    ///
    /// # Errors
    /// Returns [`StorageFull`](io::ErrorKind::StorageFull) if there is no space. In this case, some
    /// of the bytes may have been written.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads bytes at a position. Returns the number of bytes read, which is less than the length
    /// of `buffer` only at the end of the file.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the whole content.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    /// Returns any I/O error.
    fn length(&self) -> io::Result<u64>;

    /// Truncates the file to a length, or extends it with zeros.
    ///
    /// # Errors
    /// Returns [`StorageFull`](io::ErrorKind::StorageFull) if there is no space.
    fn set_length(&mut self, length: u64) -> io::Result<()>;

    /// Makes the content durable. Does not make the name of the file durable.
    ///
    /// # Errors
    /// Returns any I/O error. After an error, the data written since the last sync may be
    /// lost, even if a later sync succeeds.
    fn sync(&mut self) -> io::Result<()>;
}

/// The lock of a folder, which [`Files::lock`] returns.
pub trait Lock: Debug + Send {}

/// Checks the name of a file.
///
/// # Errors
/// Returns an error of kind [`InvalidInput`](io::ErrorKind::InvalidInput) if the name is empty, is
/// `.` or `..`, contains `/`, `\` or a NUL, or is longer than 255 bytes.
pub fn check_name(name: &str) -> io::Result<()> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "it is the name of a folder",
        _ if name.contains(['/', '\\']) => "it contains a separator of paths",
        _ if name.contains('\0') => "it contains a NUL",
        _ if name.len() > NAME_MAX => "it is longer than 255 bytes",
        _ => return Ok(()),
    };
    let text = format!("{name:?} is not a valid name for a file: {why}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}
