//! The place from which an entity reads its state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_core::quiet::{self, Contained};

use super::actor::DurableActor;
use super::duties::{Change, Duties, RESERVED};
use super::journal::Journal;
use super::queue::{Saved, State};
use super::stored::{BoxError, Stored};
use crate::error::JournalError;
use crate::event::Event;
use crate::group::{Group, JournalId};
use crate::log::{Snapshot, Start};

/// Reason why an event cannot be applied.
const MISSING: &str = "it is missing in the log";

/// The place from which an entity reads its state.
pub(super) struct Source {
    pub(super) journal: Journal,
    pub(super) name: String,
    /// Sequence number of the newest event that is known to be durable.
    pub(super) durable: Arc<AtomicU64>,
}

/// A state, and the position in the journal at which the state was reached.
pub(super) struct Loaded<S> {
    pub(super) journal: JournalId,
    pub(super) state: S,
    pub(super) duties: Duties,
    /// True after a turn has sent the entity the messages that it needs after a start, and this
    /// turn did not fail. These are the messages for its unfinished effects, its overdue reminders
    /// and its letters (durable messages to other entities). This turn has also set the timers of
    /// the other reminders.
    pub(super) is_told: bool,
    /// True after a turn has set the timers of the reminders that are not due, and this turn did
    /// not fail.
    pub(super) has_timers: bool,
    /// True if the log needs no further fence for this state. A fence is an event that changes
    /// nothing, and by which this entity claims the journal. The turn that handles the first
    /// message after the state was read sets this field, and records the fence if the entity uses
    /// fences.
    pub(super) is_fenced: bool,
    /// Sequence number of the newest event that the state contains.
    pub(super) number: u64,
    /// Sequence number of the event after which the state was last saved, or of the newest event
    /// with the whole state, whichever is greater.
    saved: u64,
    /// Number of events that were read from the log to compute the state.
    pub(super) events: u64,
}

/// A state that was read from a snapshot or from events, with the unfinished effects and reminders,
/// and the letters (durable messages) to and from other entities.
struct Image<S> {
    state: S,
    duties: Duties,
    /// Sequence number of the event after which the state was saved, or 0 if it was not read from a
    /// snapshot.
    saved: u64,
}

impl Source {
    /// Reads the state from the log. If `waits` is false and reading may take long, returns `None`
    /// instead.
    pub(super) fn read<A: DurableActor>(
        &self,
        waits: bool,
    ) -> Result<Option<Loaded<A::State>>, JournalError> {
        let log = self.journal.core().log();
        let Some(start) = log.start(&self.name, waits)? else {
            return Ok(None);
        };
        let Some(mut image) = self.begin::<A>(&start, waits)? else {
            return Ok(None);
        };
        let mut saved = image.saved;
        let (mut number, mut read, mut events) = (saved, 0, Group::new());
        while number < start.newest {
            events.clear();
            let next = number + 1;
            log.read(start.journal, next.max(start.oldest), &mut events)?;
            if events.is_empty() {
                return Err(self.unknown(next, MISSING.to_owned()));
            }
            read += events.len() as u64;
            // The log is not in use meanwhile.
            for (_, event) in events.events() {
                if event.number != number + 1 && !event.is_whole {
                    return Err(self.unknown(number + 1, MISSING.to_owned()));
                }
                let applied = guard(|| image.apply::<A>(event));
                applied.map_err(|why| self.unknown(event.number, why))?;
                number = event.number;
                if event.is_whole {
                    saved = number;
                }
            }
        }
        // Relaxed: no turn of this entity is under way.
        self.durable.store(start.newest, Relaxed);
        Ok(Some(Loaded {
            journal: start.journal,
            state: image.state,
            duties: image.duties,
            is_told: false,
            has_timers: false,
            is_fenced: false,
            number: start.newest,
            saved,
            events: read,
        }))
    }

    /// Returns the newest saved state that can be loaded. Returns the empty state if no state was
    /// saved, or if no saved state can be loaded but none is needed: the log contains all events,
    /// or the oldest one contains the whole state. Returns `None` if `waits` is false and the
    /// newest saved state cannot be loaded.
    fn begin<A: DurableActor>(
        &self,
        start: &Start,
        waits: bool,
    ) -> Result<Option<Image<A::State>>, JournalError> {
        let empty = Image {
            state: A::State::default(),
            duties: Duties::default(),
            saved: 0,
        };
        let Some(newest) = &start.snapshot else {
            return Ok(Some(empty));
        };
        let error = match Image::load::<A>(newest) {
            Ok(image) => return Ok(Some(image)),
            Err(_) if !waits => return Ok(None),
            Err(why) => self.unknown(newest.number, why),
        };
        let log = self.journal.core().log();
        let mut number = newest.number;
        // A state that the log cannot read is no better than one that cannot be loaded.
        while let Ok(Some(older)) = log.saved_before(start.journal, number)
            && older.number < number
            && older.number + 1 >= start.oldest
        {
            number = older.number;
            if let Ok(image) = Image::load::<A>(&older) {
                log.notice(error);
                return Ok(Some(image));
            }
        }
        if start.oldest == 1 || self.is_oldest_whole(start)? {
            return Ok(Some(empty));
        }
        Err(error)
    }

    /// Returns true if the oldest event that can be read contains the whole state.
    fn is_oldest_whole(&self, start: &Start) -> Result<bool, JournalError> {
        let mut events = Group::new();
        let log = self.journal.core().log();
        log.read(start.journal, start.oldest, &mut events)?;
        Ok((events.events().next()).is_some_and(|(_, event)| event.is_whole))
    }

    fn unknown(&self, number: u64, why: String) -> JournalError {
        JournalError::Event {
            journal: self.name.clone(),
            number,
            why,
        }
    }
}

impl<S> Image<S> {
    /// Decodes a saved state.
    fn load<A: DurableActor<State = S>>(saved: &Snapshot) -> Result<Self, String> {
        guard(|| {
            let (duties, state) = Duties::decode(&saved.payload)?;
            let state = A::load(saved.kind, state)?;
            let saved = saved.number;
            Ok(Self {
                state,
                duties,
                saved,
            })
        })
    }

    /// Applies an event of the log.
    fn apply<A: DurableActor<State = S>>(&mut self, event: Event<'_>) -> Result<(), BoxError> {
        let (kind, mut payload) = (event.kind, event.payload);
        if event.is_whole {
            (self.duties, payload) = Duties::decode(payload)?;
        } else if kind.tag >= RESERVED {
            self.duties
                .apply(event.number, Change::decode(kind, payload)?);
            return Ok(());
        }
        let decoded = Contained::new(A::Event::decode(kind, payload)?);
        A::apply(&mut self.state, &decoded);
        Ok(())
    }
}

impl<S> Loaded<S> {
    /// Records that the newest event contains the whole state.
    pub(super) fn note_whole(&mut self) {
        self.saved = self.number;
    }

    /// Encodes the state, if enough events were recorded since it was last saved. `name` is the
    /// name of the journal.
    pub(super) fn save_if_due<A: DurableActor<State = S>>(&mut self, name: &str) -> Option<Saved> {
        if self.number - self.saved < A::SAVE_EVERY {
            return None;
        }
        self.saved = self.number;
        let mut bytes = Vec::new();
        self.duties.encode(&mut bytes);
        let mut state = Vec::new();
        match guard(|| Ok(A::save(&self.state, &mut state))) {
            Ok(kind) => {
                bytes.append(&mut state);
                Some(Ok(Box::new(State {
                    number: self.number,
                    kind: kind?,
                    bytes,
                })))
            }
            // A state that cannot be saved is no reason to lose a turn: the events are there.
            Err(why) => Some(Err(Box::new(JournalError::Save {
                journal: name.to_owned(),
                number: self.number,
                why,
            }))),
        }
    }
}

/// Calls `f`, which is code of the user's program. If `f` returns an error or panics, returns the
/// text of the error or of the panic.
fn guard<R>(f: impl FnOnce() -> Result<R, BoxError>) -> Result<R, String> {
    match quiet::call(f) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(panic.message()),
    }
}
