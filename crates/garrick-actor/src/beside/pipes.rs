//! Futures and streams that run concurrently with an actor and send their results to it.
//!
//! ```text
//!   cx.pipe(future) --> a separate cell --- enter --> Pipes [ room: the limit  | under way ]
//!                          |    ^                        ^                          |
//!                          |    '-- a place, in turn ----'                          | cancel
//!                          '-- result, as a message --> actor --- its end, a restart
//! ```
//!
//! Most actors have no such futures, so the memory block of an actor (its cell) has no field for
//! them. Instead, a global table maps the [`TaskId`] of an actor to its [`Pipes`] while any future
//! or stream of the actor is running. Each future and stream keeps the [`Pipes`] alive, and the
//! last one removes the entry. An actor for which a limit was set stores its [`Pipes`] itself,
//! without the table. After [`Pipes::cancel`], no future or stream can be added. A restart
//! cancels the [`Pipes`] of the failed actor, and the new actor gets new ones. So a future that was
//! requested before the restart, and that has not been added yet, is refused.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use garrick_sched::{Address, Room, TaskId, Watch};

use super::table::{Table, lock};

/// Default limit on how many futures of one actor are polled concurrently.
pub(crate) const PIPES_MAX: usize = 64;

/// A running future or stream.
pub(crate) trait Cancel: Send + Sync {
    fn cancel(&self);
}

/// The running futures and streams.
#[derive(Default)]
struct Members {
    /// The running futures and streams, with their numbers as keys. Later futures and streams have
    /// higher numbers. Each future and stream adds and removes itself.
    cells: BTreeMap<u64, Arc<dyn Cancel>>,
    /// Number that identifies the future or stream that was added last.
    last: u64,
    /// Request to be notified when the actor stops (a watch). The notification cancels the futures
    /// and streams.
    watch: Option<Watch>,
    /// True once the first future or stream has been added. From then on, the actor is watched.
    is_watching: bool,
    /// True once all futures and streams have been cancelled. After that, none can be added.
    is_cancelled: bool,
}

/// The running futures and streams of an actor.
pub(crate) struct Pipes {
    /// Key of this value in the table [`PIPES`]. `None` if the value is not in the table, because
    /// the actor was spawned with a limit for its futures.
    owner: Option<TaskId>,
    /// A counter of places, which limits how many futures are polled at the same time. A future is
    /// polled only while it holds a place.
    room: Arc<Room>,
    /// The running futures and streams. The lock is only held for short periods.
    members: Mutex<Members>,
}

static PIPES: LazyLock<Table<Weak<Pipes>>> = LazyLock::new(Table::default);

impl Pipes {
    fn new(owner: Option<TaskId>, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            owner,
            room: Room::new(limit),
            members: Mutex::default(),
        })
    }

    /// Creates the collection of the running futures and streams of an actor that was spawned with
    /// a limit for its futures.
    pub(crate) fn limited(limit: usize) -> Arc<Self> {
        Self::new(None, limit)
    }

    /// Returns the collection of the running futures and streams of an actor that has the default
    /// limit for its futures. Creates the collection if it does not exist.
    pub(crate) fn of(owner: TaskId) -> Arc<Self> {
        let mut shard = PIPES.shard(owner);
        if let Some(pipes) = shard.get(&owner).and_then(Weak::upgrade) {
            return pipes;
        }
        let pipes = Self::new(Some(owner), PIPES_MAX);
        shard.insert(owner, Arc::downgrade(&pipes));
        pipes
    }

    /// Cancels all futures and streams of an actor that has stopped or is about to be replaced.
    pub(crate) fn cancel_of(owner: TaskId) {
        let pipes = PIPES.shard(owner).swap_remove(&owner);
        if let Some(pipes) = pipes.and_then(|pipes| pipes.upgrade()) {
            pipes.cancel();
        }
    }

    /// Cancels all futures and streams. After this call, no future or stream can be added.
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

    /// Returns true if [`Pipes::cancel`] has been called.
    pub(crate) fn is_cancelled(&self) -> bool {
        lock(&self.members).is_cancelled
    }

    /// Adds a running future or stream, which `cell` can cancel. Returns `None` if
    /// [`Pipes::cancel`] has been called.
    ///
    /// The second value of the result is true if this call has requested the notification that the
    /// actor has stopped (a watch). In this case, the caller must commit the current turn
    /// immediately, so that the watch takes effect.
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

    /// Watches the actor, so that all futures and streams are cancelled when the actor stops.
    fn watch<M: Send + 'static>(self: &Arc<Self>, actor: &Address<M>) {
        // The notice has only a weak reference, so that the pipes are dropped with the last running
        // cell.
        let pipes = Arc::downgrade(self);
        let watch = actor.watch(move |_| {
            if let Some(pipes) = pipes.upgrade() {
                pipes.cancel();
            }
        });
        lock(&self.members).watch = Some(watch);
    }

    /// Returns the counter of places, which limits how many futures are polled at the same time.
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
            let mut shard = PIPES.shard(owner);
            // A newer entry may have replaced this one.
            if shard
                .get(&owner)
                .is_some_and(|pipes| pipes.strong_count() == 0)
            {
                shard.swap_remove(&owner);
            }
        }
    }
}

/// Registration of a running future or stream. Dropping this value ends the registration.
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
