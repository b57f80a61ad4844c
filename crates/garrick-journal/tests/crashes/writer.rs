//! The writer, and the model of what its log must contain.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use garrick_actor::files::Files;
use garrick_actor::{Actor, Context};
use garrick_core::random::mix;
use garrick_journal::{Event, EventKind, Group, JournalError, Options, SegmentLog};

const KIND: EventKind = EventKind { tag: 3, version: 1 };

/// Size of segments, so small that there are several.
const SEGMENT_BYTES: u64 = 700;

/// The state of a journal: the number of the newest event, and a hash of all events.
type State = (u64, u64);

/// Expected content of the log.
pub(crate) struct Model {
    /// Generator of random numbers.
    random: u64,
    /// States of the journals by name. A journal without events is not in the map.
    journals: BTreeMap<String, State>,
    /// States if the operation under way succeeds.
    under_way: Option<BTreeMap<String, State>>,
    mistake: Option<String>,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: seed,
            journals: BTreeMap::new(),
            under_way: None,
            mistake: None,
        }
    }

    pub(crate) fn mistake(&self) -> Option<String> {
        self.mistake.clone()
    }

    /// Returns a random number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random) % limit
    }

    /// Compares what was read with the model, and continues with what was read.
    fn found(&mut self, found: BTreeMap<String, State>) {
        let expected = [Some(&self.journals), self.under_way.as_ref()];
        if !expected.contains(&Some(&found)) {
            let text = format!("found {found:?}, expected one of {expected:?}");
            self.mistake.get_or_insert(text);
        }
        self.journals = found;
        self.under_way = None;
    }

    /// Records the result of the operation under way.
    fn ended(&mut self, result: &Result<(), JournalError>) {
        match result {
            Ok(()) => self.journals = self.under_way.take().unwrap_or_default(),
            // It may or may not have taken effect.
            Err(JournalError::Broken) => {}
            Err(_) => self.under_way = None,
        }
    }
}

/// Returns the state after an event. An event with the whole state replaces it.
fn folded((_, hash): State, event: Event<'_>) -> State {
    let add = |hash: u64, byte: &u8| mix(hash ^ u64::from(*byte));
    let before = if event.is_whole { 0 } else { hash };
    (event.number, event.payload.iter().fold(before + 1, add))
}

pub(crate) struct Writer {
    files: Arc<dyn Files>,
    model: Arc<Mutex<Model>>,
    log: Option<SegmentLog>,
}

impl Writer {
    pub(crate) fn new(files: Arc<dyn Files>, model: Arc<Mutex<Model>>) -> Self {
        Self {
            files,
            model,
            log: None,
        }
    }

    /// Returns the writer as it is after a crash.
    pub(crate) fn again(&self) -> Self {
        Self::new(Arc::clone(&self.files), Arc::clone(&self.model))
    }

    /// Opens the log, and compares it with the model.
    fn open(&mut self) -> Result<(), JournalError> {
        // The lock is released first.
        self.log = None;
        let options = Options::new().segment_bytes(SEGMENT_BYTES);
        let (mut log, _) = options.open(Arc::clone(&self.files))?;
        let found = states(&mut log)?;
        self.model.lock().unwrap().found(found);
        self.log = Some(log);
        Ok(())
    }

    /// Performs a random operation.
    fn step(&mut self) -> Result<(), JournalError> {
        let Some(log) = &mut self.log else {
            return self.open();
        };
        let mut model = self.model.lock().unwrap();
        let name = format!("j{}", model.below(3));
        let mut next = model.journals.clone();
        let what = model.below(10);
        let result = match what {
            0..=5 => {
                let (count, size) = (1 + model.below(4), model.below(120) as usize);
                let mut group = Group::new();
                for at in 0..count {
                    let name = format!("j{}", (model.below(3) + at) % 3);
                    let payload = vec![model.below(256) as u8; size];
                    let state = next.entry(name.clone()).or_default();
                    let event = Event {
                        number: state.0 + 1,
                        kind: KIND,
                        is_whole: model.below(6) == 0,
                        payload: &payload,
                    };
                    *state = folded(*state, event);
                    group.add(log.journal(&name)?, event)?;
                }
                model.under_way = Some(next);
                drop(model);
                log.append(&group)
            }
            6 | 7 => {
                let Some(&(number, hash)) = next.get(&name) else {
                    return Ok(());
                };
                model.under_way = Some(next);
                drop(model);
                let id = log.journal(&name)?;
                match log.save(id, number, KIND, &hash.to_le_bytes()) {
                    // There is one for this event.
                    Err(JournalError::Conflict { .. }) => Ok(()),
                    result => result,
                }
            }
            8 if next.remove(&name).is_some() && model.below(3) == 0 => {
                model.under_way = Some(next);
                drop(model);
                let id = log.journal(&name)?;
                log.delete(id)
            }
            8 => {
                drop(model);
                return self.open();
            }
            _ => {
                let kept = model.below(12);
                model.under_way = Some(next);
                drop(model);
                log.compact(kept).map(|_| ())
            }
        };
        self.model.lock().unwrap().ended(&result);
        result
    }
}

/// Returns the states of all journals of a log, as computed from their snapshots and events.
fn states(log: &mut SegmentLog) -> Result<BTreeMap<String, State>, JournalError> {
    let journals: Vec<_> = log
        .journals()
        .map(|(id, name)| (id, name.to_owned()))
        .collect();
    let mut states = BTreeMap::new();
    for (id, name) in journals {
        let mut state = State::default();
        if let Some(snapshot) = log.snapshot(id)? {
            let hash = snapshot.payload.try_into().map(u64::from_le_bytes);
            state = (snapshot.number, hash.expect("a hash was saved"));
        }
        let mut numbers = Vec::new();
        log.read(id, state.0 + 1, |event| {
            numbers.push(event.number);
            state = folded(state, event);
        })?;
        assert!(numbers.is_sorted() && state.0 == log.newest(id));
        states.insert(name, state);
    }
    let is_damaged = |notice: &JournalError| matches!(notice, JournalError::Damaged { .. });
    assert!(!log.take_notices().iter().any(is_damaged));
    Ok(states)
}

impl Actor for Writer {
    type Msg = u32;
    type Outcome = io::Result<()>;

    fn started(&mut self, _: &mut Context<'_, u32>) -> io::Result<()> {
        self.step_or_note();
        Ok(())
    }

    fn receive(&mut self, left: u32, cx: &mut Context<'_, u32>) -> io::Result<()> {
        self.step_or_note();
        if left > 0 {
            let _ = cx.send(&cx.address(), left - 1);
        }
        Ok(())
    }
}

impl Writer {
    /// Performs a step. Records damage and conflicts as mistakes. Errors of the disk are not
    /// mistakes.
    fn step_or_note(&mut self) {
        match self.step() {
            Err(error @ (JournalError::Damaged { .. } | JournalError::Conflict { .. })) => {
                let mut model = self.model.lock().unwrap();
                model.mistake.get_or_insert(error.to_string());
            }
            Err(JournalError::Broken) => self.log = None,
            _ => {}
        }
    }
}
