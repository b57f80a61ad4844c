//! Reads the sizes of this machine's caches.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Assumed size of the second-level cache if the system does not report it.
const SECOND_LEVEL_BYTES_USUAL: usize = 512 * 1024;

/// Returns the size of a core's second-level cache in bytes.
pub(crate) fn second_level_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let cache = second_level(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        cache.unwrap_or(SECOND_LEVEL_BYTES_USUAL)
    })
}

/// Returns the size of the second-level cache in bytes, as Linux reports it in `folder`.
fn second_level(folder: &Path) -> Option<usize> {
    let caches = fs::read_dir(folder).ok()?.flatten();
    let sizes = caches.filter_map(|cache| {
        let word = |name| fs::read_to_string(cache.path().join(name)).ok();
        let is_second = word("level")?.trim() == "2";
        is_second
            .then(|| parse_size(word("size")?.trim()))
            .flatten()
    });
    sizes.max()
}

/// Parses a size in the format that Linux uses: "512K", "2M", or a number of bytes.
fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = match text.strip_suffix(['K', 'M']) {
        Some(number) if text.ends_with('K') => (number, 1 << 10),
        Some(number) => (number, 1 << 20),
        None => (text, 1),
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let sizes = [
            "512K",
            "2M",
            "4096",
            "",
            "K",
            "many",
            "-1K",
            "99999999999999999999K",
        ];
        let parsed = sizes.map(parse_size);
        let none = [None; 5];
        assert_eq!(parsed[..3], [Some(512 << 10), Some(2 << 20), Some(4096)]);
        assert_eq!(parsed[3..], none);
    }

    #[test]
    fn a_system_that_does_not_tell_is_no_trouble() {
        assert_eq!(second_level(Path::new("/nowhere/at/all")), None);
        assert!(second_level_bytes() > 0);
    }
}
