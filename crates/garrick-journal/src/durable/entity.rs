//! Entities: the actors that run durable actors.

use std::any::type_name;
use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_actor::{Actor, Context, Next, Outcome};

use super::actor::{Decide, DurableActor};
use super::journal::Journal;
use super::queue::{Encoded, State, Waiting};
use super::stored::Stored;
use crate::error::JournalError;
use crate::group::JournalId;
use crate::log::Log;
use crate::name::check_name;

/// Number of events up to which an entity reads its state without leaving its worker.
const FEW_EVENTS: u64 = 64;

/// The actor that runs a [`DurableActor`]. [`Journal::entity`] returns it.
pub struct Entity<A: DurableActor> {
    source: Source,
    actor: A,
    /// State after the newest event. `None` before it was read, and after a failure.
    loaded: Option<Loaded<A::State>>,
    /// True if the name is recorded in the journal.
    is_entered: bool,
    /// Events of the current turn. Kept for its memory.
    events: Vec<A::Event>,
}

/// The place from which an entity reads its state.
struct Source {
    journal: Journal,
    name: String,
    /// Number of the newest event that is known to be durable.
    durable: Arc<AtomicU64>,
}

/// A state, and its place in the journal.
struct Loaded<S> {
    journal: JournalId,
    state: S,
    /// Number of the newest event.
    number: u64,
    /// Number of the event after which the state was last saved.
    saved: u64,
}

impl Journal {
    /// Returns the entity with a name. Spawn it like any other actor. Before its first message, it
    /// reads its state from the log.
    ///
    /// There can be one entity with a name at a time. A second one fails when it starts.
    ///
    /// # Errors
    /// Returns [`JournalError::Name`] if the name is not accepted by
    /// [`check_name`](crate::check_name).
    pub fn entity<A: DurableActor>(
        &self,
        name: impl Into<String>,
        actor: A,
    ) -> Result<Entity<A>, JournalError> {
        let name = name.into();
        check_name(&name)?;
        Ok(Entity::new(self.clone(), name, actor))
    }
}

impl<A: DurableActor> Entity<A> {
    fn new(journal: Journal, name: String, actor: A) -> Self {
        let source = Source {
            journal,
            name,
            durable: Arc::default(),
        };
        Self {
            source,
            actor,
            loaded: None,
            is_entered: false,
            events: Vec::new(),
        }
    }

    /// Records the name of the entity, once.
    fn enter(&mut self) -> Result<(), JournalError> {
        if !self.is_entered && !self.source.journal.core().enter(&self.source.name) {
            return Err(JournalError::InUse {
                journal: self.source.name.clone(),
            });
        }
        self.is_entered = true;
        Ok(())
    }

    /// Reads the state from the log, unless it is up to date. The events of a turn that was undone
    /// after its decision are not durable.
    fn load(&mut self, cx: &Context<'_, A::Msg>) -> Result<(), JournalError> {
        // Relaxed: the decision about the last turn orders the two.
        let durable = self.source.durable.load(Relaxed);
        let is_outdated = |loaded: &Loaded<A::State>| loaded.number != durable;
        if self.loaded.as_ref().is_none_or(is_outdated) {
            self.loaded = None;
            self.enter()?;
            let source = &self.source;
            let began = source.journal.core().figures().now();
            let read = match source.try_read::<A>() {
                Some(read) => read,
                None => cx.blocking(|| source.read::<A>(&mut source.journal.core().log())),
            };
            let loaded = read?;
            (source.journal.core()).recovered(began, loaded.number - loaded.saved);
            self.loaded = Some(loaded);
        }
        Ok(())
    }

    /// Has the events of a turn written, after which the turn commits.
    fn record(
        &mut self,
        events: &mut Vec<A::Event>,
        cx: &Context<'_, A::Msg>,
    ) -> Result<(), JournalError> {
        let (mut encoded, mut bytes) = (Encoded::default(), Vec::new());
        for event in events.iter() {
            // Each event is encoded alone, so that it cannot change the events before it.
            bytes.clear();
            let kind = event.encode(&mut bytes);
            encoded.add(kind, &bytes)?;
        }
        // If an event cannot be applied, the state may be half-way: a restart reads it again.
        let Some(mut loaded) = self.loaded.take() else {
            return Ok(());
        };
        for event in events.drain(..) {
            A::apply(&mut loaded.state, &event);
        }
        let first = loaded.number + 1;
        loaded.number += encoded.len() as u64;
        let (journal, id) = (self.source.journal.clone(), loaded.journal);
        let durable = self.source.durable.clone();
        let state = loaded.save_if_due::<A>();
        self.loaded = Some(loaded);
        cx.commit_later(move |pending| {
            journal.submit(Waiting {
                journal: id,
                first,
                events: encoded,
                state,
                durable,
                pending,
            });
        });
        Ok(())
    }
}

impl Source {
    /// Reads the state from the log at once, if no other thread uses the log and there are few
    /// events. Leaving the worker takes longer than to read them.
    fn try_read<A: DurableActor>(&self) -> Option<Result<Loaded<A::State>, JournalError>> {
        let mut log = self.journal.core().try_log()?;
        let few = log.find(&self.name).is_none_or(|journal| {
            log.newest(journal) - log.oldest(journal).saturating_sub(1) <= FEW_EVENTS
        });
        few.then(|| self.read::<A>(&mut log))
    }

    /// Reads the state from the log.
    fn read<A: DurableActor>(&self, log: &mut Log) -> Result<Loaded<A::State>, JournalError> {
        if log.is_broken() {
            // The newest events may be missing in the index.
            return Err(JournalError::Broken);
        }
        let journal = log.journal(&self.name)?;
        let unknown = |number, why: String| JournalError::Event {
            journal: self.name.clone(),
            number,
            why,
        };
        let saved = log.snapshot(journal)?;
        let decoded = saved.map(|saved| {
            let decoded =
                guard(|| A::load(saved.kind, &saved.payload).map_err(|error| error.to_string()));
            (saved.number, decoded.and_then(|state| state))
        });
        let (mut state, from) = match decoded {
            None => (A::State::default(), 1),
            Some((number, Ok(state))) => (state, number + 1),
            // All events are there, so the state is not needed.
            Some((_, Err(_))) if log.oldest(journal) == 1 => (A::State::default(), 1),
            Some((number, Err(why))) => return Err(unknown(number, why)),
        };
        let mut failed = None;
        log.read(journal, from, |event| {
            if failed.is_some() {
                return;
            }
            let applied = guard(|| {
                let decoded = A::Event::decode(event.kind, event.payload);
                let decoded = decoded.map_err(|error| error.to_string())?;
                A::apply(&mut state, &decoded);
                Ok(())
            });
            if let Err(why) = applied.and_then(|applied| applied) {
                failed = Some(unknown(event.number, why));
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => {
                let number = log.newest(journal);
                // Relaxed: no turn of this entity is under way.
                self.durable.store(number, Relaxed);
                Ok(Loaded {
                    journal,
                    state,
                    number,
                    saved: from - 1,
                })
            }
        }
    }
}

impl<S> Loaded<S> {
    /// Encodes the state, if enough events have come since it was last saved.
    fn save_if_due<A: DurableActor<State = S>>(&mut self) -> Option<State> {
        if self.number - self.saved < A::SAVE_EVERY {
            return None;
        }
        let mut bytes = Vec::new();
        self.saved = self.number;
        // A state that cannot be saved is no reason to lose a turn: the events are there.
        let kind = guard(|| A::save(&self.state, &mut bytes)).ok()??;
        Some(State { kind, bytes })
    }
}

impl<A: DurableActor> Actor for Entity<A> {
    type Msg = A::Msg;
    type Outcome = Next;
    const COMMITS_LATER: bool = true;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        match self.load(cx) {
            Ok(()) => Next::Continue,
            Err(error) => cx.fail(error),
        }
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        if let Err(error) = self.load(cx) {
            return cx.fail(error);
        }
        let Some(loaded) = &self.loaded else {
            return Next::Undo;
        };
        let mut events = mem::take(&mut self.events);
        let mut decide = Decide::new(cx, &mut events);
        let next = (self.actor.decide(&loaded.state, msg, &mut decide)).into_next();
        let commits = matches!(next, Next::Continue | Next::Stop);
        let recorded = match events.is_empty() || !commits {
            true => Ok(()),
            false => self.record(&mut events, cx),
        };
        events.clear();
        self.events = events;
        match recorded {
            Ok(()) => next,
            Err(error) => cx.fail(error),
        }
    }

    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn message_kind(msg: &A::Msg) -> usize {
        A::message_kind(msg)
    }

    fn name() -> &'static str {
        type_name::<A>()
    }

    fn label(&self) -> Option<String> {
        Some(self.source.name.clone())
    }
}

impl<A: DurableActor> Drop for Entity<A> {
    fn drop(&mut self) {
        if self.is_entered {
            self.source.journal.core().leave(&self.source.name);
        }
    }
}

impl<A: DurableActor> fmt::Debug for Entity<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entity")
            .field("name", &self.source.name)
            .finish_non_exhaustive()
    }
}

/// Calls foreign code. Returns a panic as an error.
fn guard<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    panic::catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "it panics".to_owned())
    })
}
