//! Folders for the files of a test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{env, fs, io, process};

/// An empty folder for the files of a test. The folder is removed when this value is dropped.
#[derive(Debug)]
pub struct Place(PathBuf);

impl Place {
    /// Creates a folder among the temporary files of the system. Its name contains `test`, and no
    /// other folder of this process or of another running process has the same name.
    ///
    /// # Panics
    ///
    /// Panics if the folder cannot be created.
    #[must_use]
    pub fn new(test: &str) -> Self {
        Self::within(env::temp_dir(), test)
    }

    /// Creates a folder like [`Place::new`], in the folder `parent`. For tests that need a disk,
    /// `parent` is usually `env!("CARGO_TARGET_TMPDIR")`.
    ///
    /// # Panics
    ///
    /// Panics if the folder cannot be created.
    #[must_use]
    pub fn within(parent: impl AsRef<Path>, test: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("garrick-{test}-{}-{number}", process::id());
        let path = parent.as_ref().join(name);
        let created = fs::create_dir(&path).or_else(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            // A run that was killed has left it, and its process had the same number.
            fs::remove_dir_all(&path)?;
            fs::create_dir(&path)
        });
        if let Err(error) = created {
            panic!("cannot create {}: {error}", path.display());
        }
        Self(path)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // If this fails, the system removes its temporary files at some time.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_of_a_test_are_different_and_empty_and_are_removed() {
        let (one, two) = (Place::new("place"), Place::new("place"));
        let paths = [&one, &two].map(|place| place.path().to_owned());
        for path in &paths {
            assert_eq!(fs::read_dir(path).unwrap().count(), 0);
            fs::write(path.join("file"), "text").unwrap();
        }
        drop((one, two));
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_a_killed_run_has_left_is_removed() {
        let outer = Place::new("outer");
        // The numbers of the next places. Other tests may take some of them.
        for number in 0..100 {
            let name = format!("garrick-inner-{}-{number}", process::id());
            fs::create_dir_all(outer.path().join(name).join("left")).unwrap();
        }
        let inner = Place::within(outer.path(), "inner");
        assert_eq!(fs::read_dir(inner.path()).unwrap().count(), 0);
    }
}
