//! Measurement of the raw disk. One thread alternately writes 4 KiB and syncs.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A new folder, which is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    /// Creates a folder in `parent`, which must exist.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only the numbers must differ.
        let number = PLACES.fetch_add(1, Relaxed);
        let name = format!("garrick-rivals-journal-{}-{number}", process::id());
        let place = parent.join(name);
        fs::create_dir(&place)?;
        Ok(Self(place))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Measures the disk that contains `folder`. Returns the number of times per second that one thread
/// has written 4 KiB and synced.
pub(super) fn raw(folder: &Path, lasts: Duration) -> io::Result<f64> {
    let path = folder.join("raw");
    let file = File::create(&path)?;
    let (began, mut syncs) = (Instant::now(), 0_u32);
    while syncs == 0 || began.elapsed() < lasts {
        file.write_all_at(&[1; 4096], u64::from(syncs) * 4096)?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = f64::from(syncs) / began.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(rate)
}

/// Returns the type of the file system of `folder`, such as `ext4`. Returns `unknown` if the system
/// does not report it.
pub(super) fn file_system(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    type_of(&mounts, &folder).unwrap_or("unknown").to_owned()
}

/// Returns the type of the file system that contains `folder`. Of the mount points above `folder`,
/// the one with the longest path is the nearest, and determines the type.
fn type_of<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let above = mounted.filter(|(point, _)| folder.starts_with(point));
    // Of several mounts at one point, the last one is visible.
    let nearest = above.max_by_key(|(point, _)| point.len());
    nearest.map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_system_is_named() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\n";
        for (folder, kind) in [("/work", "ext4"), ("/tmp/y", "tmpfs"), ("/tmp/x/y", "xfs")] {
            assert_eq!(type_of(mounts, Path::new(folder)), Some(kind));
        }
        assert_eq!(type_of("", Path::new("/work")), None);
    }

    #[test]
    fn a_place_is_removed_and_the_disk_has_a_rate() {
        let place = Place::new(&std::env::temp_dir()).expect("there is a folder for files");
        let path = place.path().to_owned();
        assert!(raw(&path, Duration::ZERO).expect("the disk works") > 0.0);
        drop(place);
        assert!(!path.exists());
    }
}
