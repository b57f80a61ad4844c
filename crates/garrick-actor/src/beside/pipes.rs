//! What an actor has under way beside itself: futures that were piped to it, and streams that are attached to it.
//!
//! ```text
//!   cx.pipe(future) --> a cell of its own -- enter --> Pipes [ room for so many | who is under way ]
//!                          |    ^                        ^                          |
//!                          |    '-- a place, in turn ----'                          | cancel
//!                          '-- result, as a message --> actor --- its end, a restart
//! ```
//!
//! An actor's cell has no place for them, and most actors never need one. So the [`Pipes`] of an actor are found by its
//! [`TaskId`] in a table, while there is anything under way: every future keeps them, and the last one takes the entry
//! out. An actor that was made with a limit of its own brings its own, which need no table. What is cancelled stays
//! cancelled: who pipes after a restart gets new ones, so nothing of the time before can enter there.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use garrick_sched::{Address, Room, TaskId, Watch};
use indexmap::IndexMap;

/// Futures of one actor that are under way at once, unless it was made with another limit.
pub(crate) const PIPES_MAX: usize = 64;
/// Tables with a lock each.
const SHARDS: usize = 16;

/// Somebody under way.
pub(crate) trait Cancel: Send + Sync {
    /// Ends it.
    fn cancel(&self);
}

/// Those under way.
#[derive(Default)]
struct Members {
    /// By their numbers, so in the order in which they came. Each enters itself and leaves.
    cells: BTreeMap<u64, Arc<dyn Cancel>>,
    /// The number of the last one.
    last: u64,
    /// What tells of the actor's end, once it does.
    watch: Option<Watch>,
    /// Whether somebody has seen to that.
    is_watching: bool,
    /// Whether nobody may enter any more.
    is_cancelled: bool,
}

/// See the module.
pub(crate) struct Pipes {
    /// Under what they stand in the table; none if an actor brought them.
    owner: Option<TaskId>,
    /// Places for those that are polled.
    room: Arc<Room>,
    /// Locked for moments only.
    members: Mutex<Members>,
}

type Shard = Mutex<IndexMap<TaskId, Weak<Pipes>>>;

static PIPES: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is done under these locks that can fail half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shard(owner: TaskId) -> MutexGuard<'static, IndexMap<TaskId, Weak<Pipes>>> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    owner.hash(&mut hasher);
    lock(&PIPES[hasher.finish() as usize % SHARDS])
}

impl Pipes {
    fn new(owner: Option<TaskId>, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            owner,
            room: Room::new(limit),
            members: Mutex::default(),
        })
    }

    /// Those of an actor that has a limit of its own.
    pub(crate) fn limited(limit: usize) -> Arc<Self> {
        Self::new(None, limit)
    }

    /// Those of an actor that has not.
    pub(crate) fn of(owner: TaskId) -> Arc<Self> {
        let mut shard = shard(owner);
        if let Some(pipes) = shard.get(&owner).and_then(Weak::upgrade) {
            return pipes;
        }
        let pipes = Self::new(Some(owner), PIPES_MAX);
        shard.insert(owner, Arc::downgrade(&pipes));
        pipes
    }

    /// Ends all that an actor has under way, if there is anything: it has ended, or is to be replaced.
    pub(crate) fn cancel_of(owner: TaskId) {
        let pipes = shard(owner).swap_remove(&owner);
        if let Some(pipes) = pipes.and_then(|pipes| pipes.upgrade()) {
            pipes.cancel();
        }
    }

    /// Ends all that is under way, for good.
    pub(crate) fn cancel(&self) {
        let mut members = lock(&self.members);
        members.is_cancelled = true;
        let (cells, watch) = (mem::take(&mut members.cells), members.watch.take());
        drop(members);
        cells.into_values().for_each(|cell| cell.cancel());
        if let Some(watch) = watch {
            watch.cancel();
        }
    }

    /// Whether they were cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        lock(&self.members).is_cancelled
    }

    /// One more is under way; none may be any more if there is no answer. It has to give the turn under way a good end
    /// at once if the second value is true: the end of the actor is watched from then on.
    pub(crate) fn enter<M: Send + 'static>(
        self: &Arc<Self>,
        cell: Arc<dyn Cancel>,
        actor: &Address<M>,
    ) -> Option<(Entered, bool)> {
        let mut members = lock(&self.members);
        if members.is_cancelled {
            return None;
        }
        members.last += 1;
        let number = members.last;
        members.cells.insert(number, cell);
        let is_first = !mem::replace(&mut members.is_watching, true);
        drop(members);
        if is_first {
            self.watch(actor);
        }
        let entered = Entered {
            pipes: self.clone(),
            number,
        };
        Some((entered, is_first))
    }

    /// The end of the actor is the end of all that is under way.
    fn watch<M: Send + 'static>(self: &Arc<Self>, actor: &Address<M>) {
        // The notice keeps nothing: the last one under way is to be the end of all this.
        let pipes = Arc::downgrade(self);
        let watch = actor.watch(move |_| {
            if let Some(pipes) = pipes.upgrade() {
                pipes.cancel();
            }
        });
        lock(&self.members).watch = Some(watch);
    }

    /// Places for those that are polled.
    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        if let Some(watch) = lock(&self.members).watch.take() {
            watch.cancel();
        }
        if let Some(owner) = self.owner {
            let mut shard = shard(owner);
            // Somebody else's may stand there by now.
            if shard
                .get(&owner)
                .is_some_and(|pipes| pipes.strong_count() == 0)
            {
                shard.swap_remove(&owner);
            }
        }
    }
}

/// One under way, until dropped.
pub(crate) struct Entered {
    pipes: Arc<Pipes>,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let cell = lock(&self.pipes.members).cells.remove(&self.number);
        drop(cell);
    }
}
