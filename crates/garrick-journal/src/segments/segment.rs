//! Segments: the files of a log.

use garrick_actor::files::{File, Files};

use super::header::Header;
use crate::error::JournalError;

/// Suffix of the names of segments.
const SUFFIX: &str = ".log";

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) file: Box<dyn File>,
    /// Length in bytes up to the end of the last group that was acknowledged.
    pub(super) length: u64,
    /// Number of its first group.
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
    /// Creates a durable segment with these groups. Replaces a file that an interrupted creation
    /// has left. After a crash, either that file is there or the new one.
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
            name,
            file,
            length: bytes.len() as u64,
            first_group: header.first_group,
        })
    }

    /// Writes bytes behind the last group. They are a part of the segment after
    /// [`Segment::sync_group`].
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.file
            .append(bytes)
            .map_err(|error| JournalError::disk("write", &self.name, error))
    }

    /// Makes a group of `bytes` bytes durable that was written.
    pub(super) fn sync_group(&mut self, bytes: usize) -> Result<(), JournalError> {
        self.sync()?;
        self.length += bytes as u64;
        Ok(())
    }

    /// Removes what is behind the last group, durably.
    pub(super) fn cut(&mut self) -> Result<(), JournalError> {
        self.file
            .set_length(self.length)
            .map_err(|error| JournalError::disk("cut", &self.name, error))?;
        self.sync()
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.file
            .sync()
            .map_err(|error| JournalError::disk("sync", &self.name, error))
    }

    /// Reads bytes at a position into a buffer. Returns the number of bytes read.
    pub(super) fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> Result<usize, JournalError> {
        self.file
            .read_at(at, buffer)
            .map_err(|error| JournalError::disk("read", &self.name, error))
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
