//! Messages that an entity sends itself about its duties: effects, reminders and letters.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::Duration;

use garrick_actor::{Context, Timer};

use super::actor::DurableActor;
use super::duties::Duties;
use super::listing::Listing;
use super::source::Loaded;
use super::told::{Mailboxes, Told};
use crate::error::JournalError;

/// The messages about the duties of an entity that were sent, and the timers of its reminders.
#[derive(Default)]
pub(super) struct Telling {
    /// Timers of reminders, by the keys of the reminders. Some of these timers may have fired. Some
    /// were never started, because the turns that requested them were undone.
    timers: BTreeMap<String, Timer>,
    /// Timers that the latest turn has replaced. If this turn was undone, these timers are still
    /// running.
    replaced: Vec<Timer>,
    /// Number of messages that the current part of the turn has sent.
    sent: usize,
    /// Number of messages that the latest turn with messages about all duties has sent, and the
    /// number of the event that is durable if that turn was not undone. `None` once it is known
    /// whether the turn was undone.
    told: Option<(usize, u64)>,
    /// Number of messages to handle before the messages about all duties may be sent again. So
    /// turns that are undone again and again do not fill the mailbox.
    left: usize,
    /// The mailbox of this entity, through which the next instance learns the value of `left`.
    /// Cannot be upgraded if no turn has sent messages about all duties.
    mailbox: Weak<Told>,
}

impl Telling {
    /// Begins the first turn of an instance of the entity with the name `name`. An earlier instance
    /// may have left messages in the mailbox.
    pub(super) fn start<M: 'static>(
        &mut self,
        mailboxes: &Mailboxes,
        name: &str,
        cx: &Context<'_, M>,
    ) {
        if let Some(told) = mailboxes.find(name, cx.address().id()) {
            self.left = told.left();
            self.mailbox = Arc::downgrade(&told);
        }
    }

    /// Lets the next instance of the entity with the name `name` know of the messages that the
    /// current turn has sent, if there are any.
    pub(super) fn note_mailbox<M: 'static>(
        &mut self,
        mailboxes: &Mailboxes,
        name: &str,
        cx: &Context<'_, M>,
    ) {
        if self.sent > 0 && self.mailbox.strong_count() == 0 {
            self.mailbox = mailboxes.add(name, &cx.address());
        }
    }

    /// Records that this instance of the entity ends. `durable` is the number of the newest durable
    /// event.
    pub(super) fn end(&mut self, durable: u64) {
        if let Some(told) = self.mailbox.upgrade() {
            self.begin(durable, 0);
            told.set_left(self.left);
        }
    }

    /// Begins a turn that handles `messages` messages. `durable` is the number of the newest
    /// durable event.
    pub(super) fn begin(&mut self, durable: u64, messages: usize) {
        if let Some((sent, number)) = self.told.take()
            && number <= durable
        {
            self.left = sent;
        }
        self.count(messages);
    }

    /// Records that the current turn handles `messages` more messages.
    pub(super) fn count(&mut self, messages: usize) {
        self.left = self.left.saturating_sub(messages);
    }

    /// Records that the latest turn was not undone.
    pub(super) fn keep(&mut self) {
        self.replaced.clear();
    }

    /// Sends the entity the messages about all its duties, if no turn has done so since the state
    /// was read. Called for each message. Returns true if messages were sent.
    ///
    /// If the state was read again because a turn was undone, the messages of an earlier turn may
    /// still be in the mailbox. Then only sets the timers again, and sends the messages later.
    pub(super) fn tell_if_needed<A: DurableActor>(
        &mut self,
        name: &str,
        listing: Option<&Listing>,
        loaded: &Loaded<A::State>,
        cx: &Context<'_, A::Msg>,
    ) -> Result<bool, JournalError> {
        self.sent = 0;
        if loaded.is_told {
            return Ok(false);
        }
        let (duties, tells) = (&loaded.duties, self.left == 0 || loaded.duties.are_done());
        if tells || !loaded.has_timers {
            self.tell_all::<A>(name, duties, tells, cx)?;
            if let Some(listing) = listing.filter(|_| !duties.are_done()) {
                // The entity is in the list already, unless its duties are older than the list. The
                // next turn with events makes sure.
                listing.complete(loaded.number);
            }
        }
        Ok(tells)
    }

    /// Sets the timers of all reminders that are not due. If `tells` is true, also sends the entity
    /// the messages for all its unfinished effects and overdue reminders, and for the oldest
    /// unconfirmed letter (durable message) to each receiver.
    fn tell_all<A: DurableActor>(
        &mut self,
        name: &str,
        duties: &Duties,
        tells: bool,
        cx: &Context<'_, A::Msg>,
    ) -> Result<(), JournalError> {
        // Those of an earlier reading.
        for timer in mem::take(&mut self.timers)
            .into_values()
            .chain(self.replaced.drain(..))
        {
            timer.cancel();
        }
        for key in duties.keys() {
            self.tell::<A>(name, duties, &key, tells, cx)?;
        }
        if tells {
            for to in duties.letters().receivers() {
                self.tell_letter::<A>(name, duties, &to, cx)?;
            }
        }
        Ok(())
    }

    /// Records that a part of the turn has succeeded, which has sent the messages about all duties
    /// if `tells` is true. They arrive if the newest event of the state becomes durable.
    pub(super) fn note_told<S>(&mut self, loaded: &mut Loaded<S>, tells: bool) {
        loaded.has_timers = true;
        if tells {
            loaded.is_told = true;
            self.told = Some((self.sent, loaded.number));
        }
    }

    /// Sends the entity the message for its oldest unconfirmed letter to the entity `to`, if there
    /// is such a letter. A letter is a durable message to another entity. `name` is the name of the
    /// sender.
    pub(super) fn tell_letter<A: DurableActor>(
        &mut self,
        name: &str,
        duties: &Duties,
        to: &str,
        cx: &Context<'_, A::Msg>,
    ) -> Result<(), JournalError> {
        let Some(letter) = duties.letters().letter(name, to) else {
            return Ok(());
        };
        let msg = A::letter(letter).ok_or_else(|| JournalError::Letter {
            journal: name.to_owned(),
            to: to.to_owned(),
        })?;
        self.send(msg, cx);
        Ok(())
    }

    /// Cancels the timer of the effect or reminder with the key `key`, if there is one. If the
    /// effect or reminder is not done, sends the entity the message for it if `tells` is true, or
    /// sets the timer of a reminder that is not due yet.
    pub(super) fn tell<A: DurableActor>(
        &mut self,
        name: &str,
        duties: &Duties,
        key: &str,
        tells: bool,
        cx: &Context<'_, A::Msg>,
    ) -> Result<(), JournalError> {
        // If this turn is undone, so is the cancellation.
        if let Some(timer) = self.timers.remove(key) {
            timer.cancel();
            self.replaced.push(timer);
        }
        let Some(due) = duties.due(key) else {
            return Ok(());
        };
        let left = due.at.and_then(|at| at.duration_since(cx.date()).ok());
        let left = left.unwrap_or(Duration::ZERO);
        if left.is_zero() && !tells {
            return Ok(());
        }
        let msg = A::due(due).ok_or_else(|| JournalError::Due {
            journal: name.to_owned(),
            key: key.to_owned(),
        })?;
        if left.is_zero() {
            self.send(msg, cx);
        } else if let Ok(timer) = cx.start_timer(left, &cx.address(), msg) {
            // A full mailbox accepts the messages of timers, too.
            self.timers.insert(key.to_owned(), timer);
        }
        Ok(())
    }

    /// Sends the entity a message about an effect, an overdue reminder or a letter (durable
    /// message), if the turn commits. The mailbox accepts this message even if it is full, because
    /// the message would otherwise be lost until the next start.
    fn send<M: 'static>(&mut self, msg: M, cx: &Context<'_, M>) {
        self.sent += 1;
        // The send fails only if another thread has stopped the entity. Then the entity handles no
        // more messages, and the message is sent again after the next start.
        let _ = cx.address().send_promised(msg);
    }
}
