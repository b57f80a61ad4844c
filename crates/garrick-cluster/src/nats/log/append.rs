//! Appending groups of events.
//!
//! All events of a group for one journal are one message, which is stored as a whole or not at all.
//! The message is stored only if this writer knows the last message of the journal. The messages of
//! all journals are sent at the same time.
//!
//! ```text
//! message --- acknowledged ---------------------------------------> stored
//!    |------- another writer was there, or the stream is full -----> refused
//!    '------- no answer: fence --- acknowledged -------------------> refused
//!                         |------- refused: read what is there ----> stored, or refused
//!                         '------- no answer until the time is up -> broken
//! ```
//! A fence is a message without events, which takes the place of a message with events. If the
//! fence is stored, the message that it replaces can no longer be stored.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use garrick_journal::{Event, Group, JournalError, JournalId, Refused};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use tokio::time::{Instant, sleep};

use super::NatsLog;
use super::format::{EVENT_BYTES, HEAD_BYTES, Head, MessageOf, empty_batch, put_event};
use super::journals::Known;
use super::store::{Store, engine};
use super::subject::Kind;
use crate::lock::lock;
use crate::nats::publish::Published;

/// Shortest and longest time between two attempts to send a message.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// The events of one journal in a group of events.
struct Part {
    journal: JournalId,
    name: Arc<str>,
    tokens: Arc<str>,
    head: Head,
    /// Head of the fence that is sent if the message with the events is not acknowledged. A fence
    /// is a message without events, which takes the place of that message.
    before: Head,
    bytes: Vec<u8>,
    /// Size of the message in bytes.
    size: usize,
    /// Reason why the events were refused. `None` if the events are appended.
    refused: Option<JournalError>,
}

/// Result of sending one part of a group. (A part is the events of one journal.)
enum Settled {
    /// The message with the events was stored, with this sequence number.
    Stored(u64),
    /// A fence (a message without events) was stored, with this sequence number. Contains the
    /// reason why the fence was sent.
    Fenced(u64, String),
    /// Another writer has appended a message. Contains the number that the next event of the
    /// journal must have, or 0 if this number is not known.
    Conflict(u64),
    Full,
    /// Nothing was stored. Contains the reason.
    Absent(String),
    /// The result is not known. Contains the reason.
    Lost(String),
}

/// A part of a group (the events of one journal) that is being sent.
struct Outgoing {
    tokens: Arc<str>,
    head: Head,
    before: Head,
    content: Bytes,
}

impl NatsLog {
    /// Appends the events of a group.
    pub(super) fn append_group(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.check_usable()?;
        if group.is_empty() {
            return Ok(Vec::new());
        }
        group.check_size()?;
        let doing = "append a group to";
        let stream = self.store.name(Kind::Events);
        self.store
            .check()
            .map_err(|why| engine(doing, stream, why))?;
        let _appending = lock(&self.appending);
        let mut parts = self.parts(group);
        let outgoing: Vec<_> = parts.iter_mut().filter_map(Part::outgoing).collect();
        let store = self.store.clone();
        let fence = self.next_message();
        let until = Instant::now() + self.answer_within;
        let settled = self.run(async move {
            let all = outgoing
                .iter()
                .map(|part| settle(&store, part, fence, until));
            join_all(all).await
        });
        // After a panic or a standstill, nothing is known.
        let settled = settled.map_err(|why| self.break_down(&why))?;
        self.conclude(parts, settled)
    }

    /// Returns the parts of a group. Marks a part as refused if its events do not follow the newest
    /// event of their journal.
    fn parts(&self, group: &Group) -> Vec<Part> {
        let of = self.next_message();
        let (mut parts, mut places): (Vec<Part>, HashMap<JournalId, usize>) = Default::default();
        let journals = self.journals();
        for (journal, event) in group.events() {
            let place = match places.entry(journal) {
                Entry::Occupied(place) => *place.get(),
                Entry::Vacant(place) => {
                    parts.push(Part::new(journal, journals.get(journal), of));
                    *place.insert(parts.len() - 1)
                }
            };
            parts[place].add(&event);
        }
        drop(journals);
        let limit = self.store.message_max();
        for part in &mut parts {
            part.check_size(limit);
        }
        parts
    }

    /// Records the results for all parts of a group. Returns the journals whose events were
    /// refused.
    fn conclude(
        &self,
        parts: Vec<Part>,
        settled: Vec<Settled>,
    ) -> Result<Vec<Refused>, JournalError> {
        let stream = self.store.name(Kind::Events);
        let (mut refused, mut stored, mut settled) = (Vec::new(), 0, settled.into_iter());
        let mut journals = self.journals();
        for part in parts {
            let error = match part.refused {
                Some(error) => error,
                None => match settled.next() {
                    Some(Settled::Stored(sequence)) => {
                        if let Some(known) = journals.get_mut(part.journal) {
                            known.appended(&part.head, sequence);
                            self.mark_replaced(known);
                        }
                        stored += 1;
                        self.count_written(part.size);
                        continue;
                    }
                    Some(Settled::Fenced(sequence, why)) => {
                        if let Some(known) = journals.get_mut(part.journal) {
                            known.sequence = sequence;
                        }
                        engine("append a group to", stream, why)
                    }
                    Some(Settled::Conflict(expected)) => JournalError::Conflict {
                        journal: part.name.to_string(),
                        expected,
                        found: part.head.first(),
                    },
                    Some(Settled::Full) => JournalError::Full {
                        file: stream.to_owned(),
                    },
                    Some(Settled::Absent(why)) => engine("append a group to", stream, why),
                    Some(Settled::Lost(why)) => return Err(self.break_down(&why)),
                    None => return Err(self.break_down("a part of a group is missing")),
                },
            };
            refused.push(Refused {
                journal: part.journal,
                error,
            });
        }
        drop(journals);
        // An error of the whole group says more than one for each journal.
        let is_conflict = |refused: &Refused| {
            matches!(
                refused.error,
                JournalError::Conflict { .. } | JournalError::TooLarge { .. }
            )
        };
        if stored == 0 && !refused.iter().any(is_conflict) {
            return Err(refused.remove(0).error);
        }
        Ok(refused)
    }
}

impl Part {
    fn new(journal: JournalId, known: Option<&Known>, of: MessageOf) -> Self {
        let unknown = || format!("number {}", journal.get()).into();
        let head = Head {
            of,
            after: known.map_or(0, |known| known.sequence),
            // No number follows that of an unknown journal.
            newest: known.map_or(u64::MAX, |known| known.newest),
            whole: known.map_or(0, |known| known.whole.number),
            whole_after: known.map_or(0, |known| known.whole.covers),
            count: 0,
        };
        Self {
            journal,
            name: known.map_or_else(unknown, |known| Arc::clone(&known.name)),
            tokens: known.map_or_else(Arc::default, |known| Arc::clone(&known.tokens)),
            head,
            before: head,
            bytes: empty_batch(),
            size: 0,
            refused: None,
        }
    }

    /// Adds an event to a part: the events of one journal in a group. If the event does not follow
    /// the event before it, refuses all events of the part.
    fn add(&mut self, event: &Event<'_>) {
        if self.refused.is_some() {
            return;
        }
        let follows = self.head.newest.wrapping_add(1);
        if event.number != follows || follows == 0 {
            self.refused = Some(JournalError::Conflict {
                journal: self.name.to_string(),
                expected: follows,
                found: event.number,
            });
            return;
        }
        self.head.newest = event.number;
        self.head.count += 1;
        if event.is_whole {
            (self.head.whole, self.head.whole_after) = (event.number, self.head.after);
        }
        put_event(event, &mut self.bytes);
    }

    /// Refuses the events of one journal (a part of a group) if their encoding has more than
    /// `limit` bytes, so that they do not fit into one message.
    fn check_size(&mut self, limit: usize) {
        if self.refused.is_none() && self.bytes.len() > limit {
            let overhead = HEAD_BYTES + self.head.count as usize * EVENT_BYTES;
            self.refused = Some(JournalError::TooLarge {
                what: "the events of a journal in a group",
                bytes: self.bytes.len() - overhead,
                limit: limit.saturating_sub(overhead),
            });
        }
    }

    /// Returns the message to send. Returns `None` if the events were refused.
    fn outgoing(&mut self) -> Option<Outgoing> {
        if self.refused.is_some() {
            return None;
        }
        let content = self.head.seal(std::mem::take(&mut self.bytes));
        self.size = content.len();
        Some(Outgoing {
            tokens: Arc::clone(&self.tokens),
            head: self.head,
            before: self.before,
            content: content.into(),
        })
    }
}

/// Waits before the next attempt. Returns false if the time limit has passed.
pub(super) async fn pause(attempt: u32, until: Instant) -> bool {
    let [shortest, longest] = PAUSES;
    let next = Instant::now() + longest.min(shortest * (1 << attempt.min(8)));
    if next >= until {
        return false;
    }
    sleep(next.saturating_duration_since(Instant::now())).await;
    true
}

/// Sends the events of one journal (a part of a group) again and again, until they are stored, or
/// until the reason of a failure is known.
async fn settle(store: &Store, part: &Outgoing, fence: MessageOf, until: Instant) -> Settled {
    let (after, mut attempt) = (part.head.after, 0);
    let why = loop {
        let content = part.content.clone();
        match store
            .publish(Kind::Events, &part.tokens, content, after)
            .await
        {
            Published::Stored(sequence) => return Settled::Stored(sequence),
            Published::Wrong => return conflict(store, part).await,
            Published::Full(_) => return Settled::Full,
            Published::Unknown(why) => break why,
            Published::Absent(why) => {
                attempt += 1;
                if !pause(attempt, until).await {
                    return Settled::Absent(why);
                }
            }
        }
    };
    // The message may still come.
    let fence = Head {
        of: fence,
        ..part.before
    };
    resolve(store, part, fence, until, why).await
}

/// Finds out if a message without an acknowledgement was stored. If not, makes sure that it cannot
/// be stored later.
async fn resolve(
    store: &Store,
    part: &Outgoing,
    fence: Head,
    until: Instant,
    why: String,
) -> Settled {
    let (after, mut attempt) = (part.head.after, 0);
    let content = Bytes::from(fence.seal(empty_batch()));
    loop {
        let content = content.clone();
        match store
            .publish(Kind::Events, &part.tokens, content, after)
            .await
        {
            Published::Stored(sequence) => return Settled::Fenced(sequence, why),
            Published::Wrong => {
                if let Some(settled) = stored_instead(store, part, fence, &why).await {
                    return settled;
                }
            }
            Published::Full(_) | Published::Absent(_) | Published::Unknown(_) => {}
        }
        attempt += 1;
        if !pause(attempt, until).await {
            return Settled::Lost(why);
        }
    }
}

/// Finds out what was stored instead of a fence that was refused. Returns `None` if that is not
/// known yet. `why` is the reason why the fence was sent.
async fn stored_instead(store: &Store, part: &Outgoing, fence: Head, why: &str) -> Option<Settled> {
    let after = part.head.after;
    let next = store.next(Kind::Events, &part.tokens, after + 1).await;
    let Some(found) = next.ok()? else {
        return give_way(store, part, fence).await;
    };
    let (head, _) = Head::read(&found.payload).ok()?;
    if head.after == after {
        return Some(match head.of {
            of if of == part.head.of => Settled::Stored(found.sequence),
            of if of == fence.of => Settled::Fenced(found.sequence, why.to_owned()),
            _ => conflict(store, part).await,
        });
    }
    // The message behind `after` was removed. The events were not in it, because the journal had
    // fewer events later.
    match head.newest < part.head.newest {
        true => Some(conflict(store, part).await),
        false => None,
    }
}

/// Returns the result for a part whose journal has no message any more: another writer has removed
/// the fences of the journal, which had no events. To be sure of that, and not to be deceived by a
/// server that is no longer the leader, stores a fence as the first message. Returns `None` if the
/// fence is not stored.
async fn give_way(store: &Store, part: &Outgoing, fence: Head) -> Option<Settled> {
    if part.before.newest > 0 {
        return None;
    }
    let content = Bytes::from(Head { after: 0, ..fence }.seal(empty_batch()));
    let published = store.publish(Kind::Events, &part.tokens, content, 0).await;
    match published {
        Published::Stored(_) => Some(conflict(store, part).await),
        _ => None,
    }
}

/// Returns the result for a conflict with another writer. The result contains the number that the
/// next event of the journal must have, or 0 if this number is not known.
async fn conflict(store: &Store, part: &Outgoing) -> Settled {
    let last = store.last(Kind::Events, &part.tokens).await;
    let expected = match last {
        Ok(Some(found)) => Head::read(&found.payload).map_or(0, |(head, _)| head.newest + 1),
        Ok(None) | Err(_) => 0,
    };
    Settled::Conflict(expected)
}
