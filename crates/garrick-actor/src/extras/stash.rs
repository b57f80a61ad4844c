//! Messages set aside for later.
//!
//! An actor's cell has no place for them, and most actors never need one. So a table finds the
//! stash of an actor by its [`TaskId`], from its first stashed message on. Changes take effect when the turn
//! commits, and are taken back when it is undone: the turn's end calls [`Changes`].
//!
//! ```text
//!   cx.stash ------> added --- commit ---> kept --- the actor ends ---> dead letters
//!   cx.unstash_all --------------------> released --- commit ---> sent to the actor
//! ```
//!
//! Unstashed messages go to the end of the mailbox. Messages that wait there already are handled
//! first. They were accepted before, so a bounded mailbox takes them above its bound.

use std::any::Any;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, AtEnd, TaskId, count_dead_letters};
use indexmap::IndexMap;

use crate::beside::Beside;
use crate::beside::shelf::Shelf;
use crate::model::context::Context;

/// Maximum number of messages in a stash. [`Spawn::stash`](crate::spawn::Spawn::stash) sets another
/// one.
const CAPACITY: usize = 1024;
/// Number of tables, each with its own lock.
const SHARDS: usize = 16;

/// Drops a stash, whatever the type of its messages.
trait Drops: Send + Sync {
    /// Drops the messages as dead letters.
    fn drop_all(&self);

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

type Shard = Mutex<IndexMap<TaskId, Arc<dyn Drops>>>;

static STASHES: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code under these locks can fail halfway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shard(owner: TaskId) -> MutexGuard<'static, IndexMap<TaskId, Arc<dyn Drops>>> {
    let mut hasher = DefaultHasher::new();
    owner.hash(&mut hasher);
    lock(&STASHES[hasher.finish() as usize % SHARDS])
}

/// Drops the stash of an actor that has ended or is to be replaced. Its messages become dead
/// letters.
pub(crate) fn drop_of(owner: TaskId) {
    let stash = shard(owner).swap_remove(&owner);
    if let Some(stash) = stash {
        stash.drop_all();
    }
}

/// The messages of an actor, and what is known of the turn under way.
struct Inner<M> {
    shelf: Shelf<M>,
    /// True if the turn under way has changed something.
    is_changed: bool,
    /// True once the end of the actor is watched.
    is_watched: bool,
}

/// The stash of an actor. The turns of the actor change it, its end drops it.
struct Stash<M>(Mutex<Inner<M>>);

impl<M: Send + 'static> Stash<M> {
    /// Returns the stash of an actor, if there is one.
    fn of(owner: TaskId) -> Option<Arc<Self>> {
        let stash = shard(owner).get(&owner)?.clone();
        Self::known(stash)
    }

    /// Returns the stash of an actor.
    fn of_or_new(owner: TaskId, capacity: usize) -> Arc<Self> {
        let stash = shard(owner)
            .entry(owner)
            .or_insert_with(|| {
                Arc::new(Self(Mutex::new(Inner {
                    shelf: Shelf::new(capacity),
                    is_changed: false,
                    is_watched: false,
                })))
            })
            .clone();
        Self::known(stash).expect("an actor has messages of one type")
    }

    fn known(stash: Arc<dyn Drops>) -> Option<Arc<Self>> {
        stash.into_any().downcast().ok()
    }
}

impl<M: Send + 'static> Drops for Stash<M> {
    fn drop_all(&self) {
        // Dropped when nothing is locked.
        let left = lock(&self.0).shelf.take_all();
        count_dead_letters(left.len() as u64);
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The changes of a turn to the stash of its actor.
struct Changes<M> {
    stash: Arc<Stash<M>>,
    actor: Address<M>,
}

impl<M: Send + 'static> Changes<M> {
    /// Ends a turn. From the first one on, the end of the actor drops the stash.
    fn end(&self, mut inner: MutexGuard<'_, Inner<M>>) {
        inner.is_changed = false;
        let is_first = !mem::replace(&mut inner.is_watched, true);
        drop(inner);
        if is_first {
            let owner = self.actor.id();
            // An actor that has ended already drops the stash at once.
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
            // An actor that another thread stops at this moment no longer receives the message.
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
    /// Stashes a message if this turn ends well. The stash holds 1,024 messages, or as many as
    /// [`Spawn::stash`](crate::spawn::Spawn::stash) allows.
    ///
    /// Messages that are still stashed when the actor ends, however it ends, become dead letters.
    ///
    /// # Errors
    /// Returns the message if the stash is full.
    ///
    /// # Examples
    /// A door that makes callers wait until it is opened, as two behaviors:
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
    ///             // A message over the capacity is dropped with its reply.
    ///             caller => drop(cx.stash(caller)),
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
    /// let door = local.spawn(closed());
    /// let caller = door.ask(Msg::Enter);
    /// door.send(Msg::Open).unwrap();
    /// assert_eq!(local.block_on(caller), Ok("welcome"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stash(&self, msg: M) -> Result<(), StashError<M>> {
        let capacity = self.beside().and_then(Beside::stash).unwrap_or(CAPACITY);
        let stash = Stash::of_or_new(self.address().id(), capacity);
        self.change(&stash, |shelf| shelf.add(msg))
            .map_err(StashError)
    }

    /// Unstashes all messages if this turn ends well, and returns their number. This actor receives
    /// them again in the order in which they were stashed, after the messages that wait already.
    pub fn unstash_all(&self) -> usize {
        self.unstash(usize::MAX)
    }

    /// Unstashes the oldest messages, at most `count` of them, and returns their number. See
    /// [`Context::unstash_all`].
    pub fn unstash(&self, count: usize) -> usize {
        let stash = Stash::of(self.address().id());
        stash.map_or(0, |stash| self.change(&stash, |shelf| shelf.release(count)))
    }

    /// Returns the number of stashed messages.
    #[must_use]
    pub fn stash_len(&self) -> usize {
        let stash = Stash::<M>::of(self.address().id());
        stash.map_or(0, |stash| lock(&stash.0).shelf.len())
    }

    /// Changes the stash, and registers the change for the end of the turn.
    fn change<R>(&self, stash: &Arc<Stash<M>>, change: impl FnOnce(&mut Shelf<M>) -> R) -> R {
        let mut inner = lock(&stash.0);
        let changed = change(&mut inner.shelf);
        let is_first = !mem::replace(&mut inner.is_changed, true);
        drop(inner);
        if is_first {
            self.turn().at_end(Arc::new(Changes {
                stash: stash.clone(),
                actor: self.address(),
            }));
        }
        changed
    }
}

/// The error for a message that finds the stash full. Contains the message.
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
