//! A log in memory.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use crate::error::JournalError;
use crate::event::{Event, EventKind};
use crate::group::{Group, JournalId, check_state};
use crate::log::{Log, LogSample, READ_BYTES, Refused, Snapshot, Start};
use crate::name::check_name;
use crate::notices::Notices;

/// Number of snapshots that are kept for each journal.
const SNAPSHOTS: usize = 2;

/// A log in memory, for tests and for simulations. Clones are handles to the same log. When the
/// last handle is dropped, the log is dropped.
///
/// Several [`Journal`](crate::Journal)s can use one log, for example the journals of the nodes of a
/// simulated cluster. Then entities of different journals can have the same name. An entity must
/// have read all events of the other entities with its name before it records events. Otherwise,
/// its next turn that records events is undone: see [`Entity::fenced`](crate::Entity::fenced).
///
/// # Examples
/// ```
/// use garrick_journal::{Event, Group, Log, MemoryLog};
///
/// let (one, other) = (MemoryLog::new(), MemoryLog::new());
/// let journal = one.start("account/42", true)?.expect("it waits").journal;
/// let mut group = Group::new();
/// group.add(journal, Event { number: 1, payload: b"opened", ..Event::default() })?;
/// assert!(one.append(&group)?.is_empty());
/// // The same number again is refused.
/// assert_eq!(one.append(&group)?.len(), 1);
/// assert_eq!(other.start("account/42", true)?.expect("it waits").newest, 0);
/// # Ok::<(), garrick_journal::JournalError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryLog {
    store: Arc<Mutex<Store>>,
}

#[derive(Default)]
struct Store {
    numbers: HashMap<Arc<str>, u64>,
    journals: HashMap<u64, Stored>,
    /// Number of the next journal that gets one.
    next: u64,
    bytes: u64,
    saved: u64,
    notices: Notices,
}

/// The stored events and snapshots of a journal.
struct Stored {
    name: Arc<str>,
    newest: u64,
    /// Events that can be read, oldest first.
    events: VecDeque<Kept>,
    /// The kept snapshots, oldest first.
    snapshots: VecDeque<Snapshot>,
}

/// An event that is stored in memory.
struct Kept {
    number: u64,
    kind: EventKind,
    is_whole: bool,
    payload: Box<[u8]>,
}

impl MemoryLog {
    /// Creates a log without events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // No method leaves the store half changed.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            newest: 0,
            events: VecDeque::new(),
            snapshots: VecDeque::new(),
        }
    }

    /// Returns the sequence number of the oldest event that can be read. If no event can be read,
    /// returns the number of the next event.
    fn oldest(&self) -> u64 {
        self.events
            .front()
            .map_or(self.newest + 1, |kept| kept.number)
    }

    fn append(&mut self, event: &Event<'_>) {
        if event.is_whole {
            self.events.clear();
        }
        self.newest = event.number;
        self.events.push_back(Kept {
            number: event.number,
            kind: event.kind,
            is_whole: event.is_whole,
            payload: event.payload.into(),
        });
    }
}

impl Store {
    fn get(&self, journal: JournalId) -> Option<&Stored> {
        self.journals.get(&journal.get())
    }

    fn get_mut(&mut self, journal: JournalId) -> Option<&mut Stored> {
        self.journals.get_mut(&journal.get())
    }

    /// Returns the journals of a group whose events are refused.
    fn refused(&self, group: &Group) -> Vec<Refused> {
        let mut newest: HashMap<JournalId, Option<u64>> = HashMap::new();
        let mut refused = Vec::new();
        for (journal, event) in group.events() {
            let stored = self.get(journal);
            let known = stored.map_or(0, |stored| stored.newest);
            let last = newest.entry(journal).or_insert(Some(known));
            let Some(number) = *last else { continue };
            // A wrong number may be the largest one.
            if stored.is_some() && event.number.checked_sub(1) == Some(number) {
                *last = Some(event.number);
                continue;
            }
            *last = None;
            let unknown = || format!("number {}", journal.get());
            let error = JournalError::Conflict {
                journal: stored.map_or_else(unknown, |stored| stored.name.to_string()),
                expected: stored.map_or(0, |_| number + 1),
                found: event.number,
            };
            refused.push(Refused { journal, error });
        }
        refused
    }
}

impl Log for MemoryLog {
    fn start(&self, name: &str, _: bool) -> Result<Option<Start>, JournalError> {
        check_name(name)?;
        let mut store = self.store();
        let number = match store.numbers.get(name) {
            Some(number) => *number,
            None => {
                let (number, name) = (store.next, Arc::<str>::from(name));
                store.next += 1;
                store.numbers.insert(name.clone(), number);
                store.journals.insert(number, Stored::new(name));
                number
            }
        };
        let journal = JournalId::new(number);
        let stored = &store.journals[&number];
        let oldest = stored.oldest();
        let snapshot = stored.snapshots.back();
        Ok(Some(Start {
            journal,
            newest: stored.newest,
            oldest,
            snapshot: snapshot.filter(|saved| saved.number + 1 >= oldest).cloned(),
        }))
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        let store = self.store();
        let Some(stored) = store.get(journal) else {
            return Ok(());
        };
        let skipped = usize::try_from(from.saturating_sub(stored.oldest())).unwrap_or(usize::MAX);
        for kept in stored.events.iter().skip(skipped) {
            let event = Event {
                number: kept.number,
                kind: kept.kind,
                is_whole: kept.is_whole,
                payload: &kept.payload,
            };
            events.add(journal, event)?;
            if events.size() >= READ_BYTES {
                break;
            }
        }
        Ok(())
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        group.check_size()?;
        let mut store = self.store();
        let refused = store.refused(group);
        let journals: HashSet<JournalId> = refused.iter().map(|refused| refused.journal).collect();
        for (journal, event) in group.events() {
            if journals.contains(&journal) {
                continue;
            }
            store.bytes += event.payload.len() as u64;
            if let Some(stored) = store.get_mut(journal) {
                stored.append(&event);
            }
        }
        Ok(refused)
    }

    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        check_state(state)?;
        let mut store = self.store();
        let Some(stored) = store.get_mut(journal).filter(|stored| stored.newest > 0) else {
            return Ok(());
        };
        let last = stored.snapshots.back().map_or(0, |saved| saved.number);
        if number <= last || number > stored.newest {
            return Err(JournalError::Conflict {
                journal: stored.name.to_string(),
                expected: last + 1,
                found: number,
            });
        }
        if stored.snapshots.len() == SNAPSHOTS {
            stored.snapshots.pop_front();
        }
        stored.snapshots.push_back(Snapshot {
            number,
            kind,
            payload: state.to_vec(),
        });
        if stored.snapshots.len() == SNAPSHOTS {
            let older = stored.snapshots[0].number;
            while stored
                .events
                .front()
                .is_some_and(|kept| kept.number <= older)
            {
                stored.events.pop_front();
            }
        }
        store.bytes += state.len() as u64;
        store.saved += 1;
        Ok(())
    }

    fn saved_before(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        let store = self.store();
        Ok(store.get(journal).and_then(|stored| {
            let is_it =
                |saved: &&Snapshot| saved.number < number && saved.number + 1 >= stored.oldest();
            stored.snapshots.iter().rev().find(is_it).cloned()
        }))
    }

    fn tend(&self) {}

    fn forget(&self, name: &str) -> bool {
        // Another journal may have an entity with this name, which knows the number.
        if Arc::strong_count(&self.store) > 1 {
            return true;
        }
        let mut store = self.store();
        if let Some(number) = store.numbers.get(name).copied()
            && store
                .journals
                .get(&number)
                .is_some_and(|stored| stored.newest == 0)
        {
            store.numbers.remove(name);
            store.journals.remove(&number);
        }
        true
    }

    fn is_broken(&self) -> bool {
        false
    }

    fn sample(&self, _: bool) -> Option<LogSample> {
        let store = self.store();
        Some(LogSample {
            written: store.bytes,
            saved: store.saved,
            notices: store.notices.count(),
            notice: store.notices.newest().cloned(),
            ..LogSample::default()
        })
    }

    fn notice(&self, error: JournalError) {
        self.store().notices.add(error);
    }

    fn take_notices(&self) -> Vec<JournalError> {
        self.store().notices.take()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryLog;
    use crate::{Event, Group, Log};

    #[test]
    fn names_without_events_are_forgotten_if_the_log_has_one_handle() {
        let log = MemoryLog::new();
        let start = |name: &str| log.start(name, true).unwrap().unwrap();
        let kept = start("kept").journal;
        let mut group = Group::new();
        let event = Event {
            number: 1,
            ..Event::default()
        };
        group.add(kept, event).unwrap();
        assert!(log.append(&group).unwrap().is_empty());
        let names = || (0..100).map(|number| format!("probed/{number}"));
        names().for_each(|name| assert_eq!(start(&name).newest, 0));
        let other = log.clone();
        assert!(names().all(|name| log.forget(&name)));
        assert_eq!(log.store().numbers.len(), 101);
        drop(other);
        assert!(names().all(|name| log.forget(&name)) && log.forget("kept"));
        assert_eq!(log.store().numbers.len(), 1);
        assert_eq!(log.store().journals.len(), 1);
        assert_eq!((start("kept").journal, start("kept").newest), (kept, 1));
        assert_eq!(start("probed/0").journal.get(), 101, "a new number");
    }
}
