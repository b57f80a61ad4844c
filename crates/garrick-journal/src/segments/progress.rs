//! The progress that is reported while a log is being opened.

use std::fmt;
use std::io;
use std::sync::Arc;

use garrick_actor::files::File;

/// Minimum number of bytes that are read between two reports.
const STEP_BYTES: usize = 1 << 20;

/// The part of a log that has been read so far, while the log is being opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of bytes that were read.
    pub read: u64,
    /// Number of bytes of all segments.
    pub all: u64,
}

/// A function that receives the progress while a log is opened.
#[derive(Clone)]
pub(crate) struct Report(Arc<dyn Fn(Progress) + Send + Sync>);

impl Report {
    pub(crate) fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(crate) fn call(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

/// A reader of files, which reports the progress.
#[derive(Default)]
pub(super) struct Reader {
    /// Function that receives the progress, if one was set.
    report: Option<Report>,
    progress: Progress,
    /// Number of bytes that had been read at the time of the last report.
    reported: u64,
}

impl Reader {
    /// Creates a reader for files that have `all` bytes in total.
    pub(super) fn new(report: Option<Report>, all: u64) -> Self {
        let progress = Progress { read: 0, all };
        if let Some(report) = &report {
            report.call(progress);
        }
        Self {
            report,
            progress,
            reported: 0,
        }
    }

    /// Returns the whole content of a file.
    pub(super) fn read(&mut self, file: &mut dyn File) -> io::Result<Vec<u8>> {
        let Some(report) = self.report.clone() else {
            return file.read();
        };
        let length = usize::try_from(file.length()?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        let mut start = 0;
        while start < length {
            let end = length.min(start.saturating_add(STEP_BYTES));
            let read = file.read_at(start as u64, &mut bytes[start..end])?;
            start += read;
            self.note(&report, read);
            if start < end {
                // The file has become shorter meanwhile.
                break;
            }
        }
        bytes.truncate(start);
        Ok(bytes)
    }

    fn note(&mut self, report: &Report, read: usize) {
        let progress = &mut self.progress;
        progress.read += read as u64;
        // A process that writes the log may have extended a file.
        progress.all = progress.all.max(progress.read);
        let is_due = progress.read - self.reported >= STEP_BYTES as u64;
        if is_due || progress.read == progress.all && progress.read > self.reported {
            self.reported = progress.read;
            report.call(*progress);
        }
    }
}
