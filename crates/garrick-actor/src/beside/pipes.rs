//! Work under way beside an actor: futures piped to it, and streams attached to it.
//!
//! ```text
//!   cx.pipe(future) --> a separate cell --- enter --> Pipes [ room: the limit  | under way ]
//!                          |    ^                        ^                          |
//!                          |    '-- a place, in turn ----'                          | cancel
//!                          '-- result, as a message --> actor --- its end, a restart
//! ```
//!
//! An actor's cell has no place for them, and most actors never need one. So a table finds the
//! [`Pipes`] of an actor by its [`TaskId`] while anything is under way. Every future keeps the
//! pipes alive, and the last one removes the entry. An actor with its own limit brings its own
//! pipes, which need no table. Cancelled pipes stay cancelled. After a restart the actor gets new
//! ones, so work from before cannot enter there.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use garrick_sched::{Address, Room, TaskId, Watch};
use indexmap::IndexMap;

/// Default limit on the futures of one actor that are polled at once.
pub(crate) const PIPES_MAX: usize = 64;
/// Number of tables, each with its own lock.
const SHARDS: usize = 16;

/// A future or stream under way.
pub(crate) trait Cancel: Send + Sync {
    /// Ends it.
    fn cancel(&self);
}

/// The futures and streams under way.
#[derive(Default)]
struct Members {
    /// Members by number, so in the order in which they came. Each enters itself and leaves.
    cells: BTreeMap<u64, Arc<dyn Cancel>>,
    /// Number of the last member.
    last: u64,
    /// Watch for the actor's end, once there is one.
    watch: Option<Watch>,
    /// True once a member has set up the watch.
    is_watching: bool,
    /// True once no more may enter.
    is_cancelled: bool,
}

/// The futures and streams that an actor has under way.
pub(crate) struct Pipes {
    /// Key in the table. `None` if the actor brought these pipes.
    owner: Option<TaskId>,
    /// Places for the futures that are polled.
    room: Arc<Room>,
    /// Locked for moments only.
    members: Mutex<Members>,
}

type Shard = Mutex<IndexMap<TaskId, Weak<Pipes>>>;

static PIPES: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code under these locks can fail halfway.
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

    /// Creates the pipes of an actor with its own limit.
    pub(crate) fn limited(limit: usize) -> Arc<Self> {
        Self::new(None, limit)
    }

    /// Returns the pipes of an actor without its own limit.
    pub(crate) fn of(owner: TaskId) -> Arc<Self> {
        let mut shard = shard(owner);
        if let Some(pipes) = shard.get(&owner).and_then(Weak::upgrade) {
            return pipes;
        }
        let pipes = Self::new(Some(owner), PIPES_MAX);
        shard.insert(owner, Arc::downgrade(&pipes));
        pipes
    }

    /// Ends everything that an actor has under way, because it has ended or is to be replaced.
    pub(crate) fn cancel_of(owner: TaskId) {
        let pipes = shard(owner).swap_remove(&owner);
        if let Some(pipes) = pipes.and_then(|pipes| pipes.upgrade()) {
            pipes.cancel();
        }
    }

    /// Ends everything under way, for good.
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

    /// Returns true if the pipes were cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        lock(&self.members).is_cancelled
    }

    /// Enters a cell as under way. Returns `None` if no more may enter. If the second value is
    /// true, the caller must commit the turn under way at once: the end of the actor is watched
    /// from then on.
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

    /// Watches the actor, whose end is the end of everything under way.
    fn watch<M: Send + 'static>(self: &Arc<Self>, actor: &Address<M>) {
        // The notice keeps nothing alive: the last cell under way is to end the pipes.
        let pipes = Arc::downgrade(self);
        let watch = actor.watch(move |_| {
            if let Some(pipes) = pipes.upgrade() {
                pipes.cancel();
            }
        });
        lock(&self.members).watch = Some(watch);
    }

    /// Returns the places for the futures that are polled.
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
            // A newer entry may stand there by now.
            if shard
                .get(&owner)
                .is_some_and(|pipes| pipes.strong_count() == 0)
            {
                shard.swap_remove(&owner);
            }
        }
    }
}

/// A registration of a cell under way. Ends when it is dropped.
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
