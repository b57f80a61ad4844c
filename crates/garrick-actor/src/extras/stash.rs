//! The stash: messages that an actor keeps for later.
//!
//! Most actors have no stash, so the memory block of an actor (its cell) has no field for a stash.
//! Instead, a global table maps the [`TaskId`] of an actor to its stash. The entry is created when
//! the actor stashes its first message. Changes to a stash take effect when the turn commits, and
//! are reverted if the turn is undone. The scheduler calls [`Changes`] at the end of the turn to
//! commit or revert them.
//!
//! ```text
//!   cx.stash ------> added --- commit ---> kept --- the actor ends ---> dead letters
//!   cx.unstash_all --------------------> released --- commit ---> sent to the actor
//! ```
//!
//! Unstashed messages are added to the end of the mailbox, so messages that are already in the
//! mailbox are handled first. A bounded mailbox accepts unstashed messages even if it is full,
//! because it has already accepted each of them once.

use std::any::Any;
use std::any::type_name;
use std::fmt;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use garrick_sched::{Address, AtEnd, TaskId, count_left_letters};

use crate::beside::Beside;
use crate::beside::shelf::Shelf;
use crate::beside::table::{Table, lock};
use crate::model::context::Context;

/// Default capacity of a stash, in messages. [`Spawn::stash`](crate::spawn::Spawn::stash) sets a
/// different capacity.
const CAPACITY: usize = 1024;

/// A stash of messages of any type.
trait Drops: Any + Send + Sync {
    /// Drops all messages and counts them as dead letters.
    fn drop_all(&self);
}

static STASHES: LazyLock<Table<Arc<dyn Drops>>> = LazyLock::new(Table::default);

/// Drops the stashed messages of an actor that is about to be replaced, and counts them as dead
/// letters. Keeps the empty stash for the new actor.
pub(crate) fn clear_of(owner: TaskId) {
    let stash = STASHES.shard(owner).get(&owner).cloned();
    if let Some(stash) = stash {
        stash.drop_all();
    }
}

/// Drops the stash of an actor that has stopped. The messages in the stash become dead letters.
fn drop_of(owner: TaskId) {
    let stash = STASHES.shard(owner).swap_remove(&owner);
    if let Some(stash) = stash {
        stash.drop_all();
    }
}

/// The stashed messages of an actor, with two flags. The first flag is true if the current turn has
/// changed the stash. The second flag is true if the stash will be dropped when the actor stops.
struct Inner<M> {
    shelf: Shelf<M>,
    /// True if the current turn has changed the stash.
    is_changed: bool,
    /// True once the actor is watched, so that the stash is dropped when the actor stops.
    is_watched: bool,
}

/// The stash of an actor. Only the actor's turns change it. The stash is dropped when the actor
/// stops.
struct Stash<M>(Mutex<Inner<M>>);

impl<M: Send + 'static> Stash<M> {
    /// Returns the stash of an actor, if there is one.
    fn of(owner: TaskId) -> Option<Arc<Self>> {
        let stash = STASHES.shard(owner).get(&owner)?.clone();
        Self::known(stash)
    }

    /// Returns the stash of an actor. Creates the stash if there is none.
    fn of_or_new(owner: TaskId, capacity: usize) -> Arc<Self> {
        let stash = STASHES
            .shard(owner)
            .entry(owner)
            .or_insert_with(|| {
                Arc::new(Self(Mutex::new(Inner {
                    shelf: Shelf::new(capacity),
                    is_changed: false,
                    is_watched: false,
                })))
            })
            .clone();
        Self::known(stash).expect("all messages of an actor have the same type")
    }

    fn known(stash: Arc<dyn Drops>) -> Option<Arc<Self>> {
        let stash: Arc<dyn Any + Send + Sync> = stash;
        stash.downcast().ok()
    }
}

impl<M: Send + 'static> Drops for Stash<M> {
    fn drop_all(&self) {
        // The messages are dropped while no lock is held.
        let left = lock(&self.0).shelf.take_all();
        let count = left.len() as u64;
        count_left_letters(type_name::<M>, count);
    }
}

/// The changes that a turn makes to the stash of its actor.
struct Changes<M> {
    stash: Arc<Stash<M>>,
    actor: Address<M>,
}

impl<M: Send + 'static> Changes<M> {
    /// Resets the state for the next turn. After the first turn that changes the stash, also
    /// arranges that the stash is dropped when the actor stops.
    fn end(&self, mut inner: MutexGuard<'_, Inner<M>>) {
        inner.is_changed = false;
        let is_first = !mem::replace(&mut inner.is_watched, true);
        drop(inner);
        if is_first {
            let owner = self.actor.id();
            // If the actor has already stopped, the notice drops the stash immediately.
            let _ = self.actor.watch(move |_| drop_of(owner));
        }
    }
}

impl<M: Send + 'static> AtEnd for Changes<M> {
    fn committed(&self) {
        let mut inner = lock(&self.stash.0);
        let mut released = inner.shelf.commit();
        self.end(inner);
        while let Some(msg) = released.pop_front() {
            // If another thread stops the actor at this moment, the actor no longer receives the
            // message.
            let _ = self.actor.send_promised(msg);
        }
    }

    fn undone(&self) {
        let mut inner = lock(&self.stash.0);
        let added = inner.shelf.undo();
        self.end(inner);
        drop(added);
    }
}

impl<M: Send + 'static> Context<'_, M> {
    /// Stashes a message if this turn commits. The message stays in the actor's stash until
    /// [`Context::unstash`] or [`Context::unstash_all`] returns it to the mailbox. The default
    /// capacity of a stash is 1,024 messages. [`Spawn::stash`](crate::spawn::Spawn::stash) sets a
    /// different capacity.
    ///
    /// When the actor stops for any reason, or is restarted by its supervisor, the messages that
    /// are still in its stash become dead letters.
    ///
    /// # Errors
    /// Returns the message if the stash is full.
    ///
    /// # Examples
    /// A shop that is closed at first. The closed shop stashes the questions of its customers, and
    /// answers them after it has opened:
    /// ```
    /// use garrick_actor::{Behavior, Local, Reply, behavior};
    ///
    /// enum Msg {
    ///     Open,
    ///     Enter(Reply<&'static str>),
    /// }
    ///
    /// fn closed() -> Behavior<Msg> {
    ///     behavior(|msg, cx| {
    ///         match msg {
    ///             Msg::Open => {
    ///                 cx.unstash_all();
    ///                 cx.becomes_behavior(open());
    ///             }
    ///             // If the stash is full, the message is dropped with its reply.
    ///             question => drop(cx.stash(question)),
    ///         }
    ///     })
    /// }
    ///
    /// fn open() -> Behavior<Msg> {
    ///     behavior(|msg, _| {
    ///         if let Msg::Enter(reply) = msg {
    ///             reply.send("welcome");
    ///         }
    ///     })
    /// }
    ///
    /// let local = Local::new()?;
    /// let shop = local.spawn(closed());
    /// let customer = shop.ask(Msg::Enter);
    /// shop.send(Msg::Open).unwrap();
    /// assert_eq!(local.block_on(customer), Ok("welcome"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stash(&self, msg: M) -> Result<(), StashError<M>> {
        let capacity = self.beside().and_then(Beside::stash).unwrap_or(CAPACITY);
        let stash = Stash::of_or_new(self.address().id(), capacity);
        self.change(&stash, |shelf| shelf.add(msg))
            .map_err(StashError)
    }

    /// Unstashes all messages if this turn commits. Returns the number of unstashed messages.
    ///
    /// The actor receives the messages again in the order in which they were stashed, after the
    /// messages that are already in its mailbox.
    pub fn unstash_all(&self) -> usize {
        self.unstash(usize::MAX)
    }

    /// Unstashes at most `count` messages, oldest first, like [`Context::unstash_all`]. Returns the
    /// number of unstashed messages.
    pub fn unstash(&self, count: usize) -> usize {
        let stash = Stash::of(self.address().id());
        stash.map_or(0, |stash| self.change(&stash, |shelf| shelf.release(count)))
    }

    /// Returns the number of stashed messages. Messages that this turn has stashed are counted, and
    /// messages that this turn has unstashed are not.
    #[must_use]
    pub fn stash_len(&self) -> usize {
        let stash = Stash::<M>::of(self.address().id());
        stash.map_or(0, |stash| lock(&stash.0).shelf.len())
    }

    /// Changes the stash. The change is committed or reverted at the end of the turn.
    fn change<R>(&self, stash: &Arc<Stash<M>>, change: impl FnOnce(&mut Shelf<M>) -> R) -> R {
        let mut inner = lock(&stash.0);
        let changed = change(&mut inner.shelf);
        let is_first = !mem::replace(&mut inner.is_changed, true);
        drop(inner);
        if is_first {
            self.turn().at_end(Changes {
                stash: stash.clone(),
                actor: self.address(),
            });
        }
        changed
    }
}

/// The error returned when a message cannot be stashed because the stash is full. It contains the
/// message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StashError<M>(pub M);

impl<M> fmt::Debug for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StashError").finish_non_exhaustive()
    }
}

impl<M> fmt::Display for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the stash is full: spawn the actor with `.stash(capacity)` to allow more messages",
        )
    }
}

impl<M> std::error::Error for StashError<M> {}
