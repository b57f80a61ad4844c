//! Saving of the states of entities, and removal of events that are no longer needed.

use garrick_journal::{EventKind, JournalError, JournalId};

use super::NatsLog;
use super::format::{Mark, STATE_BYTES, StateHead};
use super::journals::{Known, SavedStates};
use super::read::ask_state;
use super::store::engine;
use super::subject::Kind;
use crate::nats::publish::Published;

/// Number of messages that are added to a journal between two removals of its old messages. Old
/// messages are those before the newest whole event (an event that contains the whole state).
const PURGE_EVERY: u32 = 64;

/// Number of attempts to save a state if other writers save states at the same time.
const ATTEMPTS: u32 = 3;

impl NatsLog {
    /// Saves the state that a journal's entity has after a given event.
    pub(super) fn save_state(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        self.check_usable()?;
        let Some(mut known) = self.journals().get(journal).cloned() else {
            return Ok(());
        };
        if known.newest == 0 {
            return Ok(());
        }
        let limit = self.store.message_max().saturating_sub(STATE_BYTES);
        if state.len() > limit {
            return Err(JournalError::TooLarge {
                what: "a state",
                bytes: state.len(),
                limit,
            });
        }
        for _ in 0..ATTEMPTS {
            if let Some(saved) = self.try_save(&known, number, kind, state)? {
                self.saved(journal, saved, STATE_BYTES + state.len());
                return Ok(());
            }
            // Another writer has saved a state, or an attempt without an answer has gone through.
            let (store, asked) = (self.store.clone(), known.clone());
            let whole = asked.whole.number;
            let told = self.run(async move { ask_state(&store, &asked, whole).await.ok() });
            let Ok(Some((saved, ..))) = told else { break };
            known.saved = saved;
        }
        Err(self.not_saved("another writer saves states"))
    }

    fn not_saved(&self, why: impl Into<String>) -> JournalError {
        engine("save a state in", self.store.name(Kind::States), why)
    }

    /// Tries once to save a state. Returns `None` if another writer has saved a state that this log
    /// does not know.
    fn try_save(
        &self,
        known: &Known,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<Option<SavedStates>, JournalError> {
        let [newest, _] = known.saved.marks;
        if number > known.newest || number <= newest.number {
            return Err(JournalError::Conflict {
                journal: known.name.to_string(),
                expected: newest.number + 1,
                found: number,
            });
        }
        let this = Mark {
            number,
            covers: known.covers(number),
        };
        let head = StateHead {
            of: self.next_message(),
            marks: [this, newest],
            kind,
        };
        let (store, tokens, after) = (
            self.store.clone(),
            known.tokens.clone(),
            known.saved.sequence,
        );
        let content = head.seal(state).into();
        let published = self.run(async move {
            let published = store.publish(Kind::States, &tokens, content, after).await;
            if !matches!(published, Published::Unknown(_)) {
                return published;
            }
            // If it comes later, that does no harm: it is the state after an event of the journal.
            match store.last(Kind::States, &tokens).await {
                Ok(Some(found)) => match StateHead::read(&found.payload) {
                    Ok((last, _)) if last.of == head.of => Published::Stored(found.sequence),
                    _ => published,
                },
                _ => published,
            }
        });
        match published.map_err(|why| self.not_saved(why))? {
            Published::Stored(sequence) => Ok(Some(SavedStates {
                marks: head.marks,
                sequence,
            })),
            Published::Wrong => Ok(None),
            Published::Full(_) => Err(JournalError::Full {
                file: self.store.name(Kind::States).to_owned(),
            }),
            Published::Absent(why) | Published::Unknown(why) => Err(self.not_saved(why)),
        }
    }

    /// Records that a state was saved.
    fn saved(&self, journal: JournalId, saved: SavedStates, bytes: usize) {
        self.count_written(bytes);
        self.count_saved();
        let [_, before] = saved.marks;
        if let Some(known) = self.journals().get_mut(journal) {
            known.saved = saved;
            if before.covers > 0 {
                self.due.add(&known.tokens, before.covers);
            }
        }
    }

    /// Marks old messages of a journal for removal, if enough messages were added since the last
    /// marking. Old messages are those before the newest whole event (an event that contains the
    /// whole state).
    pub(super) fn mark_replaced(&self, known: &mut Known) {
        if known.whole.covers > 0 && known.unpurged >= PURGE_EVERY {
            known.unpurged = 0;
            self.due.add(&known.tokens, known.whole.covers);
        }
    }

    /// Removes the fences (messages without events) of a journal that has no events and was
    /// forgotten. Otherwise, each name for which an entity was ever started would leave a message
    /// on the server.
    ///
    /// A later fence of another process stays. An earlier writer cannot append afterwards, because
    /// it expects the sequence number of its own fence, which is never used again. A writer without
    /// fences expects that there is no message, so the log removes nothing if it sets no fences.
    pub(super) fn remove_fences(&self, known: &Known) {
        if self.fences && known.sequence > 0 {
            self.due.add_forgotten(&known.tokens, known.sequence);
            self.purge_if_due();
        }
    }

    /// Starts to remove messages whose events are no longer needed. Does nothing while an earlier
    /// removal is running.
    pub(super) fn purge_if_due(&self) {
        let Some(purges) = self.purging() else { return };
        let mut all = self.due.take();
        if all.is_empty() {
            return;
        }
        let (store, notes, due) = (self.store.clone(), self.notes(), self.due.clone());
        self.spawn(async move {
            while !all.is_empty() {
                for (tokens, sequence) in all {
                    if let Err(why) = store.purge(&tokens, sequence).await {
                        let stream = store.name(Kind::Events);
                        notes.add(engine("remove old events of", stream, why));
                    }
                }
                // Some were added meanwhile.
                all = due.take();
            }
            drop(purges);
        });
    }
}
