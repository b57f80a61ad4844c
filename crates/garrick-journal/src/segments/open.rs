//! Opening of a log: reads all segments, and builds the index.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use garrick_actor::files::Files;
use hashbrown::{HashMap, HashSet};

use super::cache::Cache;
use super::counted::{Counted, DiskCounts};
use super::header::{HEADER_BYTES, Header};
use super::index::{Index, Place, SNAPSHOTS_KEPT};
use super::known::{Read, journal_of, missing};
use super::progress::{Reader, Report};
use super::sample::{Ended, Tended};
use super::scan::{copy_at_start, has_later_group, scan};
use super::segment::{OPEN_MAX, Segment, name_of, number_of, remove};
use super::{Options, SegmentLog, snapshot};
use crate::error::JournalError;
use crate::frame::{Flaw, Frame, decode};
use crate::group::JournalId;
use crate::name::check_name;
use crate::notices::Notices;

/// Result of the opening of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened {
    /// Number of events that were read, including events that snapshots cover.
    pub events: u64,
    /// Number of bytes that were read.
    pub bytes: u64,
    /// The dropped end of the log, if a crash has interrupted the writing of the last group.
    pub torn: Option<Torn>,
}

/// A group that a crash has left incomplete. It was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// Name of the file with the incomplete group.
    pub file: String,
    /// Position of the group in the file, in bytes.
    pub at: u64,
    /// Number of bytes from the start of the group to the end of the file.
    pub bytes: u64,
}

/// The data that has been collected so far while a log is read.
#[derive(Default)]
struct Reading {
    journals: HashMap<u64, Read>,
    /// Numbers of journals that were deleted.
    deleted: HashSet<u64>,
    /// Largest number that identifies a journal in the log.
    last: u64,
    /// Number of events in each segment.
    events: BTreeMap<u32, u64>,
    opened: Opened,
}

impl Reading {
    fn note(&mut self, segment: u32, at: usize, frame: Frame<'_>) -> Result<(), JournalError> {
        match frame {
            Frame::Event { journal, event } => {
                let place = Place {
                    segment,
                    at: at as u32,
                };
                self.opened.events += 1;
                *self.events.entry(segment).or_default() += 1;
                self.journals.entry(journal).or_default().add(event, place);
            }
            Frame::Name {
                journal,
                newest,
                name,
            } => {
                check_name(name).map_err(|error| {
                    JournalError::damaged(&name_of(segment), at as u64, error.to_string())
                })?;
                self.last = self.last.max(journal);
                let read = self.journals.entry(journal).or_default();
                read.newest = read.newest.max(newest);
                read.named_in = segment;
                read.name.get_or_insert_with(|| name.into());
            }
            Frame::Deleted { journal } => {
                self.last = self.last.max(journal);
                self.journals.remove(&journal);
                self.deleted.insert(journal);
            }
            Frame::Commit(_) => {}
        }
        Ok(())
    }

    /// Removes from `snapshots` each damaged snapshot that is newer than all events of its journal.
    /// Adds the errors of these snapshots to `notices`, and returns the names of their files.
    ///
    /// A snapshot is saved only after its events are durable. So if a snapshot is newer than all
    /// events of its journal, and is not damaged, events are missing from the log, and the method
    /// returns an error.
    fn check_newest(
        &self,
        files: &dyn Files,
        snapshots: &mut HashMap<u64, Vec<u64>>,
        notices: &mut Notices,
    ) -> Result<Vec<String>, JournalError> {
        let mut damaged = Vec::new();
        // In the same order each time, as a simulation requires.
        let mut ids: Vec<u64> = snapshots.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let (Some(read), Some(numbers)) = (self.journals.get(&id), snapshots.get_mut(&id))
            else {
                continue;
            };
            let newest = read.events.iter().map(|(number, _)| *number).max();
            let newest = newest.unwrap_or(0);
            let mut kept = Vec::new();
            for number in mem::take(numbers) {
                match (number > newest).then(|| snapshot::load(files, JournalId(id), number)) {
                    None => kept.push(number),
                    Some(Ok(_)) => {
                        let name = read.name.as_deref().unwrap_or_default();
                        return Err(missing(name, newest + 1, read.named_in));
                    }
                    Some(Err(error @ JournalError::Damaged { .. })) => {
                        damaged.push(snapshot::name_of(JournalId(id), number));
                        notices.add(error);
                    }
                    Some(Err(error)) => return Err(error),
                }
            }
            *numbers = kept;
        }
        Ok(damaged)
    }

    /// Returns the index of all journals, with their two newest snapshots. Removes the snapshots of
    /// these journals from `snapshots`. Adds the names of older snapshots to `useless`: their
    /// removal has failed or was not durable, and the events after them may have been removed.
    fn finish(
        self,
        snapshots: &mut HashMap<u64, Vec<u64>>,
        useless: &mut Vec<String>,
    ) -> Result<Index, JournalError> {
        let mut index = Index::default();
        index.note_given(self.last);
        let mut journals: Vec<_> = self.journals.into_iter().collect();
        journals.sort_unstable_by_key(|(id, _)| *id);
        for (id, read) in journals {
            let mut snapshots = snapshots.remove(&id).unwrap_or_default();
            snapshots.sort_unstable();
            let older = snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
            let older = snapshots.drain(..older);
            useless.extend(older.map(|number| snapshot::name_of(JournalId(id), number)));
            index.add(JournalId(id), journal_of(id, read, snapshots)?);
        }
        for (segment, events) in self.events {
            index.count_written(segment, events);
        }
        Ok(index)
    }
}

/// Opens the log in a folder. The README describes the steps.
pub(super) fn open(
    files: Arc<dyn Files>,
    options: Options,
) -> Result<(SegmentLog, Opened), JournalError> {
    let lock = (files.lock()).map_err(|error| JournalError::disk("lock", FOLDER, error))?;
    let Found {
        mut log,
        opened,
        last,
        damaged,
        useless,
    } = find(files, options)?;
    log.lock = Some(lock);
    // Step O3. Before that, what was read may not be durable.
    if !log.segments.is_empty() {
        log.add_segment_with(&last.copy)?;
        log.use_copy(&last);
    }
    // Step O4.
    if !useless.is_empty() || !damaged.is_empty() {
        for name in useless {
            remove(&*log.files, &name)?;
        }
        for name in damaged {
            snapshot::set_apart(&*log.files, &name)?;
        }
        let synced = log.files.sync_names();
        synced.map_err(|error| JournalError::disk("sync", FOLDER, error))?;
    }
    Ok((log, opened))
}

/// Reads the log in a folder, and changes nothing. Reads the log again if this fails because
/// another process has created or removed segments meanwhile.
pub(super) fn inspect(
    files: Arc<dyn Files>,
    options: Options,
) -> Result<(SegmentLog, Opened), JournalError> {
    let mut before = segments_in(&*files)?;
    for _ in 1..READINGS_MAX {
        let failed = match find(Arc::clone(&files), options.clone()) {
            Ok(found) => return Ok((found.log, found.opened)),
            Err(error) => error,
        };
        let now = segments_in(&*files)?;
        if mem::replace(&mut before, now) == before {
            return Err(failed);
        }
    }
    let found = find(files, options)?;
    Ok((found.log, found.opened))
}

/// Maximum number of times that a log is read while another process changes it.
pub(super) const READINGS_MAX: u32 = 8;

/// Returns the numbers of the segments in a folder, in the order of the names of the files.
fn segments_in(files: &dyn Files) -> Result<Vec<u32>, JournalError> {
    let names = (files.list()).map_err(|error| JournalError::disk("list", FOLDER, error))?;
    Ok(names.iter().filter_map(|name| number_of(name)).collect())
}

/// Number of the first segment of a log.
const FIRST: u32 = 1;

/// Text that stands for the folder in errors.
const FOLDER: &str = "the folder";

/// A log that was read. It does not contain the lock of its folder yet.
struct Found {
    log: SegmentLog,
    opened: Opened,
    last: LastGroup,
    /// Names of damaged snapshots that are not used.
    damaged: Vec<String>,
    /// Names of files that are not needed.
    useless: Vec<String>,
}

/// The last group of the log.
#[derive(Default)]
struct LastGroup {
    /// Number of the segment that contains the last group.
    segment: u32,
    /// Position of the last group in the segment.
    at: usize,
    /// Copy of the last group, to be written at the beginning of the next segment. Empty if the log
    /// contains no group.
    copy: Vec<u8>,
}

/// Reads the log in a folder (steps O1 and O2 in `src/README.md`).
fn find(files: Arc<dyn Files>, mut options: Options) -> Result<Found, JournalError> {
    let counts = Arc::<DiskCounts>::default();
    let files: Arc<dyn Files> = Arc::new(Counted::new(files, Arc::clone(&counts)));
    let names = (files.list()).map_err(|error| JournalError::disk("list", FOLDER, error))?;
    let mut snapshots = snapshot::found(&names);
    let Needed {
        oldest,
        numbers,
        mut useless,
    } = Needed::find(&*files, &names)?;
    let mut chain = Chain {
        reader: reader_of(&*files, &numbers, options.report.take())?,
        ..Chain::default()
    };
    for (place, &number) in numbers.iter().enumerate() {
        chain.read(&*files, number, place + 1 == numbers.len())?;
    }
    let mut notices = Notices::default();
    let reading = chain.reading;
    let damaged = reading.check_newest(&*files, &mut snapshots, &mut notices)?;
    let (opened, deleted) = (reading.opened.clone(), reading.deleted.clone());
    let mut index = reading.finish(&mut snapshots, &mut useless)?;
    let mut others: Vec<_> = snapshots.into_iter().collect();
    others.sort_unstable();
    for (journal, numbers) in others {
        // The number of a deleted journal may be given again, but not that of an unknown one.
        let names = numbers
            .iter()
            .map(|number| snapshot::name_of(JournalId(journal), *number));
        if deleted.contains(&journal) {
            useless.extend(names);
        } else {
            index.note_given(journal);
            let unknown = |name: String| JournalError::damaged(&name, 0, UNKNOWN);
            names.map(unknown).for_each(|error| notices.add(error));
        }
    }
    let log = SegmentLog {
        files,
        options,
        is_closed: false,
        segments: chain.segments,
        index,
        oldest_needed: oldest,
        next_group: chain.next_group.unwrap_or(1),
        is_broken: false,
        cause: None,
        notices,
        compact_at: 0,
        is_full: false,
        tended: Tended::default(),
        left: Vec::new(),
        cache: Cache::default(),
        buffer: Vec::new(),
        counts,
        ended: Ended::default(),
        lock: None,
    };
    Ok(Found {
        log,
        opened,
        last: chain.last,
        damaged,
        useless,
    })
}

/// Reason why a snapshot is not used.
const UNKNOWN: &str = "the log has no journal with this number, and does not tell that it had one";

/// The segments that are needed, and the names of files that are not.
struct Needed {
    /// Number of the oldest needed segment. If the folder contains no segment yet, the number of
    /// the first segment that will be created.
    oldest: u32,
    /// Numbers of the needed segments, ascending.
    numbers: Vec<u32>,
    /// Names of the other files of the log, which interrupted operations have left.
    useless: Vec<String>,
}

impl Needed {
    /// Finds the needed segments in a folder that contains files with these names. The header of
    /// the newest segment names the oldest needed segment. A crash cannot leave this header
    /// incomplete.
    fn find(files: &dyn Files, names: &[String]) -> Result<Self, JournalError> {
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number_of(name)).collect();
        numbers.sort_unstable();
        let mut oldest = FIRST;
        if let Some(newest) = numbers.last() {
            let header = header_of(files, *newest)?;
            oldest = u32::try_from(header.oldest).unwrap_or(u32::MAX);
        } else if let Some(saved) = names.iter().find(|name| snapshot::is_name(name)) {
            let why = "the folder has saved states, but no segment of a log";
            return Err(JournalError::damaged(saved, 0, why));
        }
        let removed = numbers.partition_point(|number| *number < oldest);
        let removed = numbers.drain(..removed).map(name_of);
        let unfinished = names.iter().filter(|name| {
            let name = name.strip_suffix(".new");
            name.is_some_and(|name| number_of(name).is_some() || snapshot::is_name(name))
        });
        let useless = removed.chain(unfinished.cloned()).collect();
        if let Some(&first) = numbers.first()
            && first != oldest
        {
            let why = format!("the segment {} is missing", name_of(oldest));
            return Err(JournalError::damaged(&name_of(first), 0, why));
        }
        Ok(Self {
            oldest,
            numbers,
            useless,
        })
    }
}

/// Reads the header of a segment.
fn header_of(files: &dyn Files, number: u32) -> Result<Header, JournalError> {
    let (name, mut bytes) = (name_of(number), [0; HEADER_BYTES]);
    let read = files
        .open_to_read(&name)
        .and_then(|mut file| file.read_at(0, &mut bytes));
    let read = read.map_err(|error| JournalError::disk("read", &name, error))?;
    Header::of_bytes(&bytes[..read], number.into(), &name)
}

impl SegmentLog {
    /// Uses the copy of the last group instead of the original, because it is not certain that the
    /// original is durable.
    fn use_copy(&mut self, last: &LastGroup) {
        let LastGroup { segment, at, copy } = last;
        if copy.is_empty() {
            return;
        }
        self.next_group += 1;
        if let Some(original) = self.segments.get_mut(segment) {
            original.copied_from = Some(*at as u64);
        }
        let mut from = 0;
        while let Ok((frame, size)) = decode(copy.get(from..).unwrap_or_default()) {
            let of = |segment, at: usize| Place {
                segment,
                at: (at + from) as u32,
            };
            self.index
                .moved(frame, of(*segment, *at), of(*segment + 1, HEADER_BYTES));
            from += size;
        }
    }
}

/// Returns a reader that reads the segments `numbers` and reports its progress.
fn reader_of(
    files: &dyn Files,
    numbers: &[u32],
    report: Option<Report>,
) -> Result<Reader, JournalError> {
    let mut all = 0;
    if report.is_some() {
        for &number in numbers {
            let name = name_of(number);
            let length = files.open_to_read(&name).and_then(|file| file.length());
            all += length.map_err(|error| JournalError::disk("read", &name, error))?;
        }
    }
    Ok(Reader::new(report, all))
}

/// The segments (files) of a log that have been read so far.
#[derive(Default)]
struct Chain {
    reader: Reader,
    segments: BTreeMap<u32, Segment>,
    reading: Reading,
    next_group: Option<u64>,
    /// The segment that was added last. Its groups are read when its end is known.
    waiting: Option<Waiting>,
    last: LastGroup,
}

/// A segment whose groups have not been read yet.
struct Waiting {
    number: u32,
    header: Header,
    bytes: Vec<u8>,
}

/// Information about the end of a segment.
enum End {
    /// Another segment follows. Contains the header of that segment. If the first group of that
    /// segment is a copy of a group of this segment, also contains the position of the original in
    /// this segment.
    Before(Header, Option<usize>),
    /// The end of a segment that is not followed by another segment.
    Last,
}

impl Chain {
    /// Reads a segment. `is_last` is true for the last file.
    fn read(&mut self, files: &dyn Files, number: u32, is_last: bool) -> Result<(), JournalError> {
        let name = name_of(number);
        let failed = |doing| {
            let name = &name;
            move |error| JournalError::disk(doing, name, error)
        };
        // No group is added to a segment of an earlier opening.
        let mut file = files.open_to_read(&name).map_err(failed("open"))?;
        let bytes = self.reader.read(&mut *file).map_err(failed("read"))?;
        self.reading.opened.bytes += bytes.len() as u64;
        let header = Header::of_bytes(&bytes, number.into(), &name)?;
        self.check_neighbor(number, &name)?;
        let copy = copy_at_start(&bytes, header.first_group);
        self.end(&End::Before(header, copy))?;
        if self
            .next_group
            .is_some_and(|next| next != header.first_group)
        {
            return Err(JournalError::damaged(
                &name,
                24,
                "a group before it is missing",
            ));
        }
        self.next_group = Some(header.first_group);
        let segment = Segment::new(name, file, header.first_group);
        self.segments.insert(number, segment);
        // Those of the newest segments stay open.
        if let Some(old) = number.checked_sub(OPEN_MAX as u32)
            && let Some(old) = self.segments.get_mut(&old)
        {
            old.close();
        }
        self.waiting = Some(Waiting {
            number,
            header,
            bytes,
        });
        if is_last {
            self.end(&End::Last)
        } else {
            Ok(())
        }
    }

    /// Checks that no segment is missing between the segment that was read last and the segment
    /// `number`.
    fn check_neighbor(&self, number: u32, name: &str) -> Result<(), JournalError> {
        match self.segments.last_key_value() {
            Some((last, _)) if *last + 1 != number => {
                let why = format!("the segment {} is missing", name_of(*last + 1));
                Err(JournalError::damaged(name, 0, why))
            }
            _ => Ok(()),
        }
    }

    /// Reads the groups of the segment that was added last. Its end is known now.
    fn end(&mut self, end: &End) -> Result<(), JournalError> {
        let Some(Waiting {
            number,
            header,
            bytes,
        }) = self.waiting.take()
        else {
            return Ok(());
        };
        let name = name_of(number);
        let length = match end {
            End::Last => bytes.len(),
            End::Before(next, _) => usize::try_from(next.previous_length).unwrap_or(usize::MAX),
        };
        let whole = bytes.get(..length).unwrap_or(&bytes);
        let reading = &mut self.reading;
        let scanned = scan(whole, header.first_group, |at, frame| {
            reading.note(number, at, frame)
        })?;
        let mut next_group = scanned.next_group;
        if scanned.end < length {
            match end {
                // The last group was never durable, but its copy is.
                End::Before(_, Some(copy_of)) if *copy_of == scanned.end => next_group += 1,
                End::Last if !has_later_group(whole, scanned.end, next_group) => {
                    reading.opened.torn = Some(Torn {
                        file: name,
                        at: scanned.end as u64,
                        bytes: (length - scanned.end) as u64,
                    });
                }
                _ => {
                    let (at, flaw) = scanned.flaw.unwrap_or((scanned.end, Flaw::Short));
                    return Err(JournalError::damaged(&name, at as u64, flaw.text()));
                }
            }
        }
        self.last = LastGroup {
            segment: number,
            at: scanned.last,
            copy: scanned.copy(whole),
        };
        self.next_group = Some(next_group);
        if let Some(segment) = self.segments.get_mut(&number) {
            segment.length = scanned.end as u64;
        }
        Ok(())
    }
}
