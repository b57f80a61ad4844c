//! Segments: the files of a log.

use std::collections::BTreeMap;
use std::io;

use garrick_actor::files::{File, Files};

use super::header::Header;
use crate::error::JournalError;

/// Suffix of the names of segments.
const SUFFIX: &str = ".log";

/// Maximum number of open files of segments. For a moment, more files can be open.
pub(super) const OPEN_MAX: usize = 64;

/// A segment: one of the files of a log.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    /// The open file. `None` while the file is closed, so that a log does not need an open handle
    /// for each of its files.
    file: Option<Box<dyn File>>,
    /// Length in bytes up to the end of the latest group that was acknowledged.
    pub(super) length: u64,
    /// Position of the segment's last group, if the log uses the copy of this group in the next
    /// segment instead, because the original is possibly not durable. Otherwise `None`.
    pub(super) copied_from: Option<u64>,
    /// Sequence number of the first group of the segment.
    pub(super) first_group: u64,
}

/// Returns the name of the file of a segment.
pub(super) fn name_of(number: u32) -> String {
    format!("{number:010}{SUFFIX}")
}

/// Returns the number of the segment in a file with this name. Returns `None` for other files.
pub(super) fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (name_of(number) == name).then_some(number)
}

impl Segment {
    /// Creates the description of a segment whose file is open.
    pub(super) fn new(name: String, file: Box<dyn File>, first_group: u64) -> Self {
        Self {
            name,
            file: Some(file),
            length: 0,
            copied_from: None,
            first_group,
        }
    }

    /// Creates a durable segment that contains the given groups. Replaces a file that an
    /// interrupted creation has left. After a crash, the folder contains either the old file or the
    /// new one.
    pub(super) fn create(
        files: &dyn Files,
        header: Header,
        groups: &[u8],
    ) -> Result<Self, JournalError> {
        let name = name_of(header.segment as u32);
        let failed = |doing| {
            let name = &name;
            move |error| JournalError::disk(doing, name, error)
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(groups);
        files.replace(&name, &bytes).map_err(failed("create"))?;
        let file = files.open(&name).map_err(failed("open"))?;
        Ok(Self {
            length: bytes.len() as u64,
            ..Self::new(name, file, header.first_group)
        })
    }

    /// Closes the file. The next read opens it again.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Returns the file, which must be open.
    fn file(&mut self) -> &mut dyn File {
        &mut **self.file.as_mut().expect("the segment was opened")
    }

    /// Writes bytes after the last group. The bytes become part of the segment when
    /// [`Segment::sync_group`] is called.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.file()
            .append(bytes)
            .map_err(|error| JournalError::disk("write", &self.name, error))
    }

    /// Makes a written group of `bytes` bytes durable.
    pub(super) fn sync_group(&mut self, bytes: usize) -> Result<(), JournalError> {
        self.sync()?;
        self.length += bytes as u64;
        Ok(())
    }

    /// Durably removes the bytes after the last group.
    pub(super) fn cut(&mut self) -> Result<(), JournalError> {
        let length = self.length;
        self.file()
            .set_length(length)
            .map_err(|error| JournalError::disk("cut", &self.name, error))?;
        self.sync()
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.file()
            .sync()
            .map_err(|error| JournalError::disk("sync", &self.name, error))
    }

    /// Reads bytes at a position into a buffer. Returns the number of bytes read.
    pub(super) fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> Result<usize, JournalError> {
        self.file()
            .read_at(at, buffer)
            .map_err(|error| JournalError::disk("read", &self.name, error))
    }
}

/// Returns a segment of a log with its file open for reading, or `None` if there is no such
/// segment. If too many files are open, closes the one that has the lowest number.
pub(super) fn opened<'s>(
    segments: &'s mut BTreeMap<u32, Segment>,
    files: &dyn Files,
    number: u32,
) -> Result<Option<&'s mut Segment>, JournalError> {
    let Some(segment) = segments.get_mut(&number) else {
        return Ok(None);
    };
    if segment.file.is_none() {
        // Only the last segment is written, and it is never closed.
        let opened = files.open_to_read(&segment.name);
        let opened = opened.map_err(|error| JournalError::disk("open", &segment.name, error))?;
        segment.file = Some(opened);
        close_some(segments, number);
    }
    Ok(segments.get_mut(&number))
}

/// Closes the open file with the lowest number if too many files are open. Never closes the file of
/// the segment `kept` or of the last segment.
pub(super) fn close_some(segments: &mut BTreeMap<u32, Segment>, kept: u32) {
    let last = segments.last_key_value().map_or(0, |(number, _)| *number);
    let is_open = |segment: &Segment| segment.file.is_some();
    if segments.values().filter(|segment| is_open(segment)).count() <= OPEN_MAX {
        return;
    }
    let mut others = segments
        .iter_mut()
        .filter(|(number, segment)| ![kept, last].contains(number) && segment.file.is_some());
    if let Some((_, oldest)) = others.next() {
        oldest.close();
    }
}

/// Removes a file, if it exists.
pub(super) fn remove(files: &dyn Files, name: &str) -> Result<(), JournalError> {
    match files.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JournalError::disk("remove", name, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{name_of, number_of};

    #[test]
    fn names_of_segments_have_numbers() {
        assert_eq!(name_of(7), "0000000007.log");
        assert_eq!(number_of("0000000007.log"), Some(7));
        for other in ["7.log", "0000000007.txt", "-000000007.log", "lock"] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
