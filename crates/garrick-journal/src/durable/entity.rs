//! Entities. An entity is an actor of the runtime, and runs the code of one durable actor.

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use garrick_actor::{Actor, Context, Next, Outcome, Pending};
use garrick_core::quiet::{self, Contained};

use super::actor::{Decide, DurableActor, Recorded};
use super::duties::{CHANGE, Change, Duties, RESERVED};
use super::journal::Journal;
use super::listing::{Addition, DutyList, Listing};
use super::queue::{Batch, Encoded, Waiting};
use super::source::{Loaded, Source};
use super::stored::Stored;
use super::telling::Telling;
use crate::error::JournalError;
use crate::event::EventKind;
use crate::group::JournalId;
use crate::name::check_name;

/// Maximum number of bytes that a turn allocates in advance for the encoding of its events.
const BYTES_MAX: usize = 4 << 10;

/// Size limit of the events of a turn, in bytes. When this limit, or half of the limit of the log,
/// is reached, the turn takes no more messages.
const TURN_BYTES: usize = 1 << 20;

/// Events and requests that a turn has recorded. Dropped one by one, because their destructors are
/// foreign code, and each of them may panic, even while another panic unwinds.
struct Records<E>(Vec<Recorded<E>>);

impl<E> Records<E> {
    fn discard(&mut self) {
        self.0.drain(..).for_each(quiet::drop);
    }
}

impl<E> Drop for Records<E> {
    fn drop(&mut self) {
        self.discard();
    }
}

/// The actor that runs the code of a [`DurableActor`], as returned by [`Journal::entity`].
pub struct Entity<A: DurableActor> {
    source: Source,
    actor: A,
    /// State after the newest event. `None` before the state was read, and after a failure.
    loaded: Option<Box<Loaded<A::State>>>,
    /// True if the name of this entity is registered, so that no second entity with this name can
    /// run.
    is_entered: bool,
    /// Events of the current turn. The vector is kept between turns, so that its memory is reused.
    recorded: Records<A::Event>,
    /// Number of bytes to allocate for the events of the next turn: as many as the latest turn with
    /// events needed, but at most [`BYTES_MAX`].
    bytes: usize,
    /// The messages to this entity about its duties.
    telling: Telling,
    /// True if a turn handles all messages that wait.
    is_pipelined: bool,
    /// True if the entity appends an additional event after it has read its state, because other
    /// writers may append to the journal.
    is_fenced: bool,
    /// True if the entity appends the fence when it starts, and not with its first decision.
    fences_at_start: bool,
    /// Entry of this entity in a list of the entities that have something to do.
    listing: Option<Listing>,
    /// True if this entity has read its state.
    has_read: bool,
    /// True if a turn since the last reading of the state has made sure that this entity is in the
    /// list.
    is_listed: bool,
}

impl Journal {
    /// Returns the entity with the given name. Spawn it like any other actor. Before an entity
    /// handles its first message, it reads its state from the log.
    ///
    /// A mailbox with a bound accepts the messages about effects, reminders and letters even if it
    /// is full. But [`OnFull::DropOldest`](garrick_actor::mailbox::OnFull::DropOldest) may drop
    /// them when later messages arrive. Messages that were dropped in this way are sent again after
    /// the next start.
    ///
    /// Only one entity with the same name can run at a time. A second entity with this name fails
    /// when it starts.
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
    pub(super) fn new(journal: Journal, name: String, actor: A) -> Self {
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
            recorded: Records(Vec::new()),
            bytes: 0,
            telling: Telling::default(),
            is_pipelined: false,
            is_fenced: false,
            fences_at_start: false,
            listing: None,
            has_read: false,
            is_listed: false,
        }
    }

    /// Lets the actor decide ahead: it handles all messages that wait in its mailbox, one after
    /// another, before the events of the first one are durable. Each decision sees the events of
    /// the decisions before it. The events of all these decisions are written together. Then all
    /// effects take place, in the order of the messages. So the number of decisions is not limited
    /// by the number of syncs of the disk.
    ///
    /// If the events cannot be written, all of these decisions are undone. If a decision fails,
    /// only that decision is undone, and the actor fails when the events of the earlier decisions
    /// are durable.
    ///
    /// An actor with a receive timeout handles only one message at a time.
    ///
    /// # Examples
    /// ```no_run
    /// # use garrick_actor::System;
    /// # use garrick_journal::{DurableActor, Journal};
    /// # fn spawn<A: DurableActor>(
    /// #     system: &System, journal: &Journal, counter: A,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let counter = system.spawn(journal.entity("visits", counter)?.pipelined())?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pipelined(mut self) -> Self {
        self.is_pipelined = true;
        self
    }

    /// Makes the entity append an additional event after it has read its state: the *fence*, which
    /// changes nothing. The fence is appended together with the events of the first decision. The
    /// effects of this decision take place when the fence is durable. From then on, the log refuses
    /// events of writers that have not read the fence. A durable fence also proves that the state
    /// that this entity has read was up to date.
    ///
    /// Use this method for logs that several processes share. If another writer appends later, the
    /// next turn with events is undone, and this entity fails and reads its state again.
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.is_fenced = true;
        self
    }

    /// Makes the entity append the fence when it starts, instead of with its first decision. After
    /// the start, no other writer can add effects, reminders or letters. Supervise the entity.
    #[doc(hidden)]
    #[must_use]
    pub fn fenced_at_start(mut self) -> Self {
        (self.is_fenced, self.fences_at_start) = (true, true);
        self
    }

    /// Connects the entity to `list`. The name of the entity is added before the entity has
    /// something to do: an effect or a reminder that is not done, or a letter that is not
    /// confirmed. The name is removed when the entity stops and has nothing to do.
    #[must_use]
    pub fn listed(self, list: &DutyList) -> Self {
        let listing = list.listing(&*self.source.name);
        self.listed_as(listing)
    }

    /// Connects the entity to a list like [`Entity::listed`], with the name in `listing`.
    #[doc(hidden)]
    #[must_use]
    pub fn listed_as(mut self, listing: Listing) -> Self {
        self.listing = Some(listing);
        self
    }

    /// Registers the name of the entity, unless the name is already registered for this entity.
    /// Fails if another entity has the name.
    fn enter(&mut self, cx: &Context<'_, A::Msg>) -> Result<(), JournalError> {
        if self.is_entered {
            return Ok(());
        }
        let (core, name) = (self.source.journal.core(), &self.source.name);
        if !core.enter(name) {
            return Err(JournalError::InUse {
                journal: name.clone(),
            });
        }
        self.is_entered = true;
        self.telling.start(core.mailboxes(), name, cx);
        Ok(())
    }

    /// Takes the state out of this entity. Reads the state from the log instead if this entity has
    /// no state, or if its state contains events of a turn that was undone. If the current turn
    /// fails, the state is not put back, and the next turn reads the state again. `messages` is the
    /// number of messages that the turn handles at first.
    fn load(
        &mut self,
        messages: usize,
        cx: &Context<'_, A::Msg>,
    ) -> Result<Box<Loaded<A::State>>, JournalError> {
        // Relaxed: the decision about the last turn orders the two.
        let durable = self.source.durable.load(Relaxed);
        self.telling.begin(durable, messages);
        if let Some(loaded) = self.loaded.take()
            && loaded.number == durable
        {
            self.telling.keep();
            return Ok(loaded);
        }
        self.enter(cx)?;
        let source = &self.source;
        let core = source.journal.core();
        let began = core.figures().now();
        let read = match source.read::<A>(false)? {
            Some(loaded) => Some(loaded),
            None => cx.blocking(|| source.read::<A>(true))?,
        };
        let loaded = read.ok_or(JournalError::Closed)?;
        core.recovered(began, loaded.events);
        (self.has_read, self.is_listed) = (true, false);
        self.note_duties(&loaded.duties);
        Ok(Box::new(loaded))
    }

    /// Records whether the entity has something to do. The owner of the entity reads this before it
    /// stops an idle entity.
    fn note_duties(&self, duties: &Duties) {
        if let Some(listing) = &self.listing {
            listing.note_duties(!duties.are_done());
        }
    }

    /// Sends this entity the messages about all its duties, if needed. Called for each message.
    /// Returns true if messages were sent.
    fn tell_if_needed(
        &mut self,
        loaded: &Loaded<A::State>,
        cx: &Context<'_, A::Msg>,
    ) -> Result<bool, JournalError> {
        let (name, listing) = (&self.source.name, self.listing.as_ref());
        let telling = &mut self.telling;
        let tells = telling.tell_if_needed::<A>(name, listing, loaded, cx)?;
        if tells {
            telling.note_mailbox(self.source.journal.core().mailboxes(), name, cx);
        }
        Ok(tells)
    }

    /// Encodes the events and requests that a turn has recorded.
    fn encode(
        &self,
        recorded: &[Recorded<A::Event>],
        duties: &Duties,
    ) -> Result<Encoded, JournalError> {
        let mut encoded = Encoded::with_capacity(self.bytes);
        for part in recorded {
            match part {
                Recorded::Event(event) => {
                    let mut kind = EventKind::default();
                    encoded.add(A::IS_WHOLE, |bytes| {
                        kind = if A::IS_WHOLE {
                            // Encoded alone, so that it cannot change the duties.
                            let mut state = Vec::new();
                            let kind = event.encode(&mut state);
                            duties.encode(bytes);
                            bytes.append(&mut state);
                            kind
                        } else {
                            event.encode(bytes)
                        };
                        kind
                    })?;
                    if kind.tag >= RESERVED {
                        return Err(JournalError::Tag {
                            journal: self.source.name.clone(),
                            tag: kind.tag,
                        });
                    }
                }
                Recorded::Change(change) => encoded.add(false, |bytes| {
                    change.encode(bytes);
                    CHANGE
                })?,
            }
        }
        Ok(encoded)
    }

    /// Encodes and applies the events and requests that the actor has recorded.
    fn record(
        &mut self,
        recorded: &mut Vec<Recorded<A::Event>>,
        loaded: &mut Loaded<A::State>,
        cx: &Context<'_, A::Msg>,
    ) -> Result<Batch, JournalError> {
        if A::IS_WHOLE {
            // An event with the whole state has the duties before the turn.
            recorded.sort_by_key(|part| matches!(part, Recorded::Change(_)));
        }
        let events = self.encode(recorded, &loaded.duties)?;
        self.bytes = events.bytes().min(BYTES_MAX);
        let first = loaded.number + 1;
        let is_new = loaded.duties.are_done();
        // A part that cannot be applied leaves the others where they are.
        recorded.reverse();
        while let Some(part) = recorded.pop() {
            loaded.number += 1;
            match part {
                Recorded::Event(event) => {
                    A::apply_own(&mut loaded.state, event);
                    if A::IS_WHOLE {
                        loaded.note_whole();
                    }
                }
                Recorded::Change(change) => self.change(loaded, change, cx)?,
            }
        }
        let state = loaded.save_if_due::<A>(&self.source.name);
        Ok(Batch {
            first,
            events,
            state,
            adds: self.addition(first, is_new, &loaded.duties),
        })
    }

    /// Returns the entry that must be in the list of this entity before the events of a turn are
    /// written. `first` is the number of the first event. `is_new` is true if the entity has had
    /// nothing to do before the turn. `duties` are the duties after the turn.
    fn addition(&mut self, first: u64, is_new: bool, duties: &Duties) -> Option<Addition> {
        self.note_duties(duties);
        let listing = self.listing.as_ref()?;
        if self.is_listed || duties.are_done() {
            return None;
        }
        self.is_listed = true;
        Some(Addition {
            listing: listing.clone(),
            number: first,
            is_new,
        })
    }

    /// Returns a function that submits a turn of this entity to the writer. The turn commits when
    /// its events are durable.
    ///
    /// If the entity must be added to its list first, the list submits the turn when the entry is
    /// durable. If the entry cannot be written, the turn is undone.
    fn submission(&self, journal: JournalId) -> impl FnOnce(Batch, Pending) + use<A> {
        let (shared, durable) = (self.source.journal.clone(), self.source.durable.clone());
        move |mut batch, pending| {
            let adds = batch.adds.take();
            let waiting = Waiting {
                journal,
                batch,
                durable,
                pending,
            };
            match adds {
                None => shared.submit(waiting),
                Some(addition) => {
                    let unlisted = Unlisted {
                        journal: shared,
                        turn: Some(waiting),
                    };
                    addition.then(Box::new(move || unlisted.submit()));
                }
            }
        }
    }

    /// Applies a change to the effects, reminders and letters (durable messages) of the entity.
    fn change(
        &mut self,
        loaded: &mut Loaded<A::State>,
        change: Change,
        cx: &Context<'_, A::Msg>,
    ) -> Result<(), JournalError> {
        let key = change.key().map(str::to_owned);
        // A letter behind others is told when these are confirmed.
        let to = match &change {
            Change::Post(to, _) if loaded.duties.letters().first(to).is_none() => Some(to.clone()),
            Change::Delivered(to, _) => Some(to.clone()),
            _ => None,
        };
        loaded.duties.apply(loaded.number, change);
        let (name, duties) = (&self.source.name, &loaded.duties);
        match (key, to) {
            (Some(key), _) => self.telling.tell::<A>(name, duties, &key, true, cx),
            (None, Some(to)) => self.telling.tell_letter::<A>(name, duties, &to, cx),
            (None, None) => Ok(()),
        }
    }

    /// Calls the actor's `decide` for a message. Returns the outcome, and the events that the
    /// decision has recorded. Returns no events if there are none, or if the decision has failed or
    /// was discarded.
    fn decide(
        &mut self,
        msg: A::Msg,
        loaded: &mut Loaded<A::State>,
        cx: &mut Context<'_, A::Msg>,
    ) -> Result<(Next, Option<Batch>), JournalError> {
        let tells = self.tell_if_needed(loaded, cx)?;
        let mut records = Records(mem::take(&mut self.recorded.0));
        let recorded = &mut records.0;
        if self.is_fenced && !loaded.is_fenced {
            recorded.push(Recorded::Change(Change::Fence));
        }
        let mut decide = Decide::new(cx, recorded, &loaded.duties, &self.source.name);
        let next = (self.actor.decide(&loaded.state, msg, &mut decide)).into_next();
        let mut batch = None;
        if matches!(next, Next::Continue | Next::Stop) {
            loaded.is_fenced = true;
            if !recorded.is_empty() {
                batch = Some(self.record(recorded, loaded, cx)?);
            }
            self.telling.note_told(loaded, tells);
        }
        records.discard();
        self.recorded.0 = mem::take(&mut records.0);
        Ok((next, batch))
    }

    /// Takes the state out of this entity like [`Entity::load`]. If the turn panics, a panic of the
    /// destructor of the state does not abort the process.
    #[expect(
        clippy::type_complexity,
        reason = "a state that is contained for one turn"
    )]
    fn hold(
        &mut self,
        messages: usize,
        cx: &Context<'_, A::Msg>,
    ) -> Result<Contained<Option<Box<Loaded<A::State>>>>, JournalError> {
        self.load(messages, cx)
            .map(|loaded| Contained::new(Some(loaded)))
    }

    /// Handles a message. Afterwards stores the state in this entity again, unless the turn fails.
    fn handle(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Result<Next, JournalError> {
        let mut held = self.hold(1, cx)?;
        let loaded = held.as_mut().expect("it was just loaded");
        let next = if self.is_pipelined {
            self.decide_all(msg, loaded, cx)?
        } else {
            let (next, batch) = self.decide(msg, loaded, cx)?;
            if let Some(batch) = batch {
                let submit = self.submission(loaded.journal);
                cx.commit_later(move |pending| submit(batch, pending));
            }
            next
        };
        self.loaded = held.take();
        Ok(next)
    }

    /// Calls the actor's `decide` for a message, and for each message that waits in the mailbox.
    /// Each call is a part of the turn.
    ///
    /// If a part fails, it is undone. The entity fails when the earlier parts are durable.
    fn decide_all(
        &mut self,
        mut msg: A::Msg,
        loaded: &mut Loaded<A::State>,
        cx: &mut Context<'_, A::Msg>,
    ) -> Result<Next, JournalError> {
        let all = Rc::new(RefCell::new(None::<Batch>));
        let log = self.source.journal.core().log();
        let limit = TURN_BYTES.min(log.journal_bytes_max() / 2);
        loop {
            let (next, batch) = self.decide(msg, loaded, cx)?;
            if let Some(batch) = batch {
                let mut all_now = all.borrow_mut();
                if let Some(all) = &mut *all_now {
                    all.append(batch);
                } else {
                    *all_now = Some(batch);
                    let (all, submit) = (Rc::clone(&all), self.submission(loaded.journal));
                    cx.commit_later(move |pending| {
                        // There are events as long as the request exists.
                        if let Some(batch) = all.take() {
                            submit(batch, pending);
                        }
                    });
                }
            }
            let size = all.borrow().as_ref().map_or(0, |all| all.events.size());
            if next != Next::Continue || size >= limit {
                return Ok(next);
            }
            let Some(next) = cx.next_message() else {
                return Ok(Next::Continue);
            };
            self.telling.count(1);
            msg = next;
        }
    }
}

impl<A: DurableActor> Actor for Entity<A> {
    type Msg = A::Msg;
    type Outcome = Next;
    const COMMITS_LATER: bool = true;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        let told = self.hold(0, cx).and_then(|mut held| {
            let loaded = held.as_mut().expect("it was just loaded");
            let tells = self.tell_if_needed(loaded, cx)?;
            if self.fences_at_start && !loaded.is_fenced {
                let mut fence = vec![Recorded::Change(Change::Fence)];
                let batch = self.record(&mut fence, loaded, cx)?;
                loaded.is_fenced = true;
                let submit = self.submission(loaded.journal);
                cx.commit_later(move |pending| submit(batch, pending));
            }
            self.telling.note_told(loaded, tells);
            self.loaded = held.take();
            Ok(())
        });
        match told {
            Ok(()) => Next::Continue,
            Err(error) => cx.fail(error),
        }
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        match self.handle(msg, cx) {
            Ok(next) => next,
            Err(error) => cx.fail(error),
        }
    }

    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn message_kind(msg: &A::Msg) -> usize {
        A::message_kind(msg)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        Some(self.source.name.clone())
    }
}

impl<A: DurableActor> Drop for Entity<A> {
    fn drop(&mut self) {
        if let Some(listing) = &self.listing {
            // Relaxed: no turn with events is under way.
            let durable = self.source.durable.load(Relaxed);
            let is_done = |loaded: &&Loaded<A::State>| {
                loaded.number == durable && loaded.is_told && loaded.duties.are_done()
            };
            let done = self.loaded.as_deref().filter(is_done);
            // Events of the last turn may be lost. Then the entity may have something to do.
            if self.has_read {
                listing.note_duties(done.is_none());
            }
            if let Some(loaded) = done {
                listing.remove(loaded.number);
            }
        }
        if self.is_entered {
            // Relaxed: no turn with events is under way.
            let durable = self.source.durable.load(Relaxed);
            // Before the next instance can begin.
            self.telling.end(durable);
            let core = self.source.journal.core();
            core.leave(&self.source.name, durable == 0);
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

/// Reason that is reported for a turn that is undone because its entity was not added to the list.
const NOT_LISTED: &str = "the list of entities with something to do was closed or cannot be written, \
     so the turn was undone";

/// A turn that waits until its entity is in the list. Dropping this value undoes the turn.
struct Unlisted {
    journal: Journal,
    turn: Option<Waiting>,
}

impl Unlisted {
    /// Submits the turn to the writer, because the entity is in the list.
    fn submit(mut self) {
        if let Some(turn) = self.turn.take() {
            self.journal.submit(turn);
        }
    }
}

impl Drop for Unlisted {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.pending.undo(NOT_LISTED);
        }
    }
}
