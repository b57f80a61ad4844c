//! Reading of journals.
//!
//! The leader of a stream answers reads. A server that has not yet noticed that it is no longer the
//! leader may answer with an older state. So this process reads again if the returned state is
//! older than the last state that this process has read. The current leader refuses an append that
//! is based on an older state.

use std::sync::Arc;

use garrick_journal::{
    Event, Group, JournalError, JournalId, READ_BYTES, Snapshot, Start, check_name,
};
use tokio::time::Instant;

use super::NatsLog;
use super::append::pause;
use super::format::{Head, MessageOf, StateHead, empty_batch, take_event};
use super::journals::{Known, SavedStates};
use super::store::{Found, Store, engine};
use super::subject::Kind;
use crate::nats::publish::Published;

/// Answers of the server about a journal.
struct Told {
    /// Head and sequence number of the newest message.
    last: Option<(Head, u64)>,
    saved: SavedStates,
    state: Option<Snapshot>,
    /// Reason why the newest saved state cannot be read. `None` if it can be read.
    damage: Option<&'static str>,
}

impl NatsLog {
    /// Requests the newest event and the saved states of a journal, and waits for the answer. If
    /// `waits` is false, requests nothing and returns `None`.
    pub(super) fn begin(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        check_name(name)?;
        self.check_usable()?;
        if !waits {
            return Ok(None);
        }
        let known = {
            let mut journals = self.journals();
            let journal = journals.number(name);
            journals.get(journal).cloned().unwrap_or_default()
        };
        let (store, until) = (self.store.clone(), Instant::now() + self.answer_within);
        let fence = self.fences.then(|| self.next_message());
        let told = self.run(async move { ask(&store, &known, fence, until).await });
        let stream = self.store.name(Kind::Events);
        let failed = |why: String| engine("read the newest event of", stream, why);
        let told = told.map_err(failed)?;
        let Told {
            last,
            saved,
            state,
            damage,
        } = told.map_err(|error| match error {
            Unread::Failed(why) => failed(why),
            Unread::Full => JournalError::Full {
                file: stream.to_owned(),
            },
            Unread::Damaged(row, why) => self.damaged(Kind::Events, row, why),
        })?;
        if let Some(why) = damage {
            let row = format!("the newest state of the journal {name:?}");
            self.add_notice(self.damaged(Kind::States, row, why));
        }
        let mut journals = self.journals();
        // The journal may have been forgotten meanwhile, and then gets another number.
        let journal = journals.number(name);
        let known = journals.get_mut(journal).ok_or(JournalError::Broken)?;
        if let Some((head, sequence)) = last {
            known.last(&head, sequence);
        }
        known.saved = saved;
        let (newest, oldest) = (known.newest, known.oldest());
        drop(journals);
        let is_usable = |state: &Snapshot| state.number + 1 >= oldest;
        if state.as_ref().is_some_and(|state| state.number > newest) {
            let row = format!("the journal {name:?}");
            return Err(self.damaged(Kind::Events, row, "it has a state after its newest event"));
        }
        Ok(Some(Start {
            journal,
            newest,
            oldest,
            snapshot: state.filter(is_usable),
        }))
    }

    /// Requests the newest saved state of a journal that is older than the state with the number
    /// `number`, if no event after the older state is missing.
    pub(super) fn older_state(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        self.check_usable()?;
        let Some(known) = self.journals().get(journal).cloned() else {
            return Ok(None);
        };
        let (store, name) = (self.store.clone(), Arc::clone(&known.name));
        let until = Instant::now() + self.answer_within;
        let told = self.run(async move {
            let mut attempt = 0;
            loop {
                match ask_older(&store, &known, number, until).await {
                    Err(_) if pause(attempt, until).await => attempt += 1,
                    told => return told,
                }
            }
        });
        let stream = self.store.name(Kind::States);
        let failed = |why: String| engine("read an older state of", stream, why);
        match told.and_then(|told| told).map_err(failed)? {
            Older::State(state) => Ok(Some(state)),
            Older::Absent => Ok(None),
            Older::Damaged(why) => {
                let row = format!("a state before event {number} of the journal {name:?}");
                Err(self.damaged(Kind::States, row, why))
            }
        }
    }

    /// Returns the error for data that differs from what was written.
    pub(super) fn damaged(&self, of: Kind, row: String, why: &str) -> JournalError {
        JournalError::DamagedRow {
            file: self.store.name(of).to_owned(),
            row,
            why: why.to_owned(),
        }
    }

    /// Reads events of a journal from the number `from` on, and adds them to the group `events`
    /// until the group is full.
    pub(super) fn read_events(
        &self,
        journal: JournalId,
        from: u64,
        events: &mut Group,
    ) -> Result<(), JournalError> {
        let Some(known) = self.journals().get(journal).cloned() else {
            return Ok(());
        };
        let mut next = from.max(known.oldest());
        if next > known.newest {
            return Ok(());
        }
        let until = Instant::now() + self.answer_within;
        let (mut sequence, before) = (known.search(next), events.len());
        loop {
            let found = self.next_message_of(&known, sequence, until)?;
            let damaged = |why| self.damaged(Kind::Events, row(&known, next), why);
            let (head, rest) = Head::read(&found.payload).map_err(damaged)?;
            // A fence comes after all events up to its number.
            if head.first() > next {
                return Err(damaged("it is missing"));
            }
            next = copy(&head, rest, journal, next..=known.newest, events).map_err(|failed| {
                match failed {
                    Uncopied::Damaged(why) => self.damaged(Kind::Events, row(&known, next), why),
                    Uncopied::Refused(error) => error,
                }
            })?;
            // The rest of this message is read again.
            let is_done = head.newest < next;
            sequence = if is_done {
                found.sequence + 1
            } else {
                found.sequence
            };
            // A message may have no event that is wanted, and at least one is added.
            let is_full = events.size() >= READ_BYTES && events.len() > before;
            if next > known.newest || is_full {
                break;
            }
        }
        if let Some(known) = self.journals().get_mut(journal) {
            (known.cursor.number, known.cursor.covers) = (next, sequence);
        }
        Ok(())
    }

    /// Returns the first message of a journal from the sequence number `sequence` on. The message
    /// must exist.
    fn next_message_of(
        &self,
        known: &Known,
        sequence: u64,
        until: Instant,
    ) -> Result<Found, JournalError> {
        let (store, tokens) = (self.store.clone(), known.tokens.clone());
        let found = self.run(async move {
            let mut attempt = 0;
            loop {
                let why = match store.next(Kind::Events, &tokens, sequence).await {
                    Ok(Some(found)) => return Ok(found),
                    Ok(None) => "its last messages are missing".to_owned(),
                    Err(why) => why,
                };
                attempt += 1;
                if !pause(attempt, until).await {
                    return Err(why);
                }
            }
        });
        let stream = self.store.name(Kind::Events);
        let failed = |why| engine("read an event of", stream, why);
        found.and_then(|found| found).map_err(failed)
    }
}

/// Describes where an event is stored, for an error message.
fn row(known: &Known, number: u64) -> String {
    format!("event {number} of the journal {:?}", known.name)
}

/// Reason why the events of a message could not be added to a group.
enum Uncopied {
    Damaged(&'static str),
    Refused(JournalError),
}

/// Adds events of a message to a group, until the group is full. Skips events whose numbers are not
/// in the range `numbers`. Returns the number that follows the last added event, or the start of
/// the range if no event was added.
fn copy(
    head: &Head,
    mut rest: &[u8],
    journal: JournalId,
    numbers: std::ops::RangeInclusive<u64>,
    events: &mut Group,
) -> Result<u64, Uncopied> {
    let mut next = *numbers.start();
    for number in head.first()..=head.newest {
        let event: Event<'_> = take_event(&mut rest, number).map_err(Uncopied::Damaged)?;
        if !numbers.contains(&number) {
            continue;
        }
        events.add(journal, event).map_err(Uncopied::Refused)?;
        next = number + 1;
        if events.size() >= READ_BYTES {
            break;
        }
    }
    Ok(next)
}

/// Reason why the newest event of a journal is not known.
pub(super) enum Unread {
    Failed(String),
    /// The stream has no space for a fence (a message without events that stops earlier writers).
    Full,
    /// A message is damaged. Contains the place and the reason.
    Damaged(String, &'static str),
}

/// Requests the newest message and the saved states of a journal. If `fence` is given, first
/// appends a message without events (a fence), so that earlier writers can no longer append.
async fn ask(
    store: &Store,
    known: &Known,
    fence: Option<MessageOf>,
    until: Instant,
) -> Result<Told, Unread> {
    let mut attempt = 0;
    loop {
        let why = match ask_once(store, known, fence).await {
            Err(Unread::Failed(why)) => why,
            told => return told,
        };
        attempt += 1;
        if !pause(attempt, until).await {
            return Err(Unread::Failed(why));
        }
    }
}

async fn ask_once(store: &Store, known: &Known, fence: Option<MessageOf>) -> Result<Told, Unread> {
    store.check().map_err(Unread::Failed)?;
    let last = store.last(Kind::Events, &known.tokens).await;
    let last = match last.map_err(Unread::Failed)? {
        None => None,
        Some(found) => {
            let row = || format!("the last message of the journal {:?}", known.name);
            let read = Head::read(&found.payload);
            let (head, _) = read.map_err(|why| Unread::Damaged(row(), why))?;
            Some((head, found.sequence))
        }
    };
    let sequence = last.map_or(0, |(_, sequence)| sequence);
    if sequence < known.sequence {
        return Err(Unread::Failed("the server has an older state".to_owned()));
    }
    let last = match fence {
        None => last,
        Some(of) => Some(set_fence(store, known, of, last).await?),
    };
    let whole = last.map_or(0, |(head, _)| head.whole);
    let (saved, state, damage) = ask_state(store, known, whole).await?;
    Ok(Told {
        last,
        saved,
        state,
        damage,
    })
}

/// Appends a message without events. Returns its head and its sequence number.
async fn set_fence(
    store: &Store,
    known: &Known,
    of: MessageOf,
    last: Option<(Head, u64)>,
) -> Result<(Head, u64), Unread> {
    let before = last.map_or(0, |(_, sequence)| sequence);
    let head = Head {
        of,
        after: before,
        newest: last.map_or(0, |(head, _)| head.newest),
        whole: last.map_or(0, |(head, _)| head.whole),
        whole_after: last.map_or(0, |(head, _)| head.whole_after),
        count: 0,
    };
    let content = head.seal(empty_batch()).into();
    match store
        .publish(Kind::Events, &known.tokens, content, before)
        .await
    {
        Published::Stored(sequence) => Ok((head, sequence)),
        Published::Wrong => Err(Unread::Failed("another writer appends".to_owned())),
        Published::Full(_) => Err(Unread::Full),
        Published::Absent(why) | Published::Unknown(why) => Err(Unread::Failed(why)),
    }
}

/// Saved states of a journal: which states exist, the newest state that can be read, and the reason
/// why a newer state cannot be read, if there is one.
type States = (SavedStates, Option<Snapshot>, Option<&'static str>);

/// Requests the saved states of a journal. `whole` is the number of the journal's newest whole
/// event (an event that contains the whole state), or 0.
pub(super) async fn ask_state(store: &Store, known: &Known, whole: u64) -> Result<States, Unread> {
    let last = store.last(Kind::States, &known.tokens).await;
    let Some(last) = last.map_err(Unread::Failed)? else {
        return Ok(<_>::default());
    };
    let sequence = last.sequence;
    let why = match StateHead::read(&last.payload) {
        Ok((head, state)) => return Ok(states(head, state, sequence, None)),
        Err(why) => why,
    };
    let first = store.next(Kind::States, &known.tokens, 1).await;
    match first.map_err(Unread::Failed)? {
        Some(first) if first.sequence != sequence => match StateHead::read(&first.payload) {
            Ok((head, state)) => Ok(states(head, state, sequence, Some(why))),
            Err(_) => no_state(store, known, whole, sequence, why).await,
        },
        _ => no_state(store, known, whole, sequence, why).await,
    }
}

/// Result of the search for an older saved state.
enum Older {
    State(Snapshot),
    Absent,
    /// A message that may be the searched state is damaged. Contains the reason.
    Damaged(&'static str),
}

/// Requests the saved states of a journal, oldest first, until one is not older than the state with
/// the number `number`.
async fn ask_older(
    store: &Store,
    known: &Known,
    number: u64,
    until: Instant,
) -> Result<Older, String> {
    let (mut sequence, mut older) = (1, Older::Absent);
    // A stream with other settings may have more than two.
    while let Some(found) = store.next(Kind::States, &known.tokens, sequence).await? {
        sequence = found.sequence + 1;
        match StateHead::read(&found.payload) {
            Ok((head, _)) if head.marks[0].number >= number => break,
            Ok((head, state)) if head.marks[0].number + 1 >= known.oldest() => {
                older = Older::State(snapshot(&head, state));
            }
            Ok(_) => {}
            Err(why) if matches!(older, Older::Absent) => older = Older::Damaged(why),
            Err(_) => {}
        }
        if Instant::now() >= until {
            return Err("it has too many states".to_owned());
        }
    }
    Ok(older)
}

fn snapshot(head: &StateHead, state: &[u8]) -> Snapshot {
    Snapshot {
        number: head.marks[0].number,
        kind: head.kind,
        payload: state.to_vec(),
    }
}

fn states(head: StateHead, state: &[u8], sequence: u64, damage: Option<&'static str>) -> States {
    let saved = SavedStates {
        marks: head.marks,
        sequence,
    };
    (saved, Some(snapshot(&head, state)), damage)
}

/// Returns the result for a journal that has no readable saved state. Fails if the first events of
/// the journal are missing, and no whole event (an event that contains the whole state) replaces
/// them. `whole` is the number of the newest whole event, or 0.
async fn no_state(
    store: &Store,
    known: &Known,
    whole: u64,
    sequence: u64,
    why: &'static str,
) -> Result<States, Unread> {
    let first = store.next(Kind::Events, &known.tokens, 1).await;
    let first = first.map_err(Unread::Failed)?;
    let first = first.and_then(|found| Head::read(&found.payload).ok().map(|(head, _)| head));
    // Messages are removed from the beginning, and an earlier whole event may be removed, too.
    let is_there = first.is_some_and(|head| head.first() <= whole.max(1));
    if !is_there {
        let row = format!("the states of the journal {:?}", known.name);
        return Err(Unread::Damaged(row, why));
    }
    let saved = SavedStates {
        sequence,
        ..SavedStates::default()
    };
    Ok((saved, None, Some(why)))
}
