//! Watches: when a task has ended, its watchers are notified and get the reason.
//!
//! A watched task has no extra cost while it runs, because its messages take the same path as those
//! of other tasks. Only the function table of its cell is replaced by a table with a mark. The
//! watchers are in a separate register, under the address of the cell. A request to watch is sent
//! like a message, so it comes after the earlier messages of its sender.

use std::fmt;
use std::mem;
use std::sync::Arc;

use garrick_core::prim::{
    MutexGuard,
    unmodelled::{AtomicBool, Relaxed},
};
use hashbrown::HashMap;

use crate::cell::CellPtr;
use crate::quiet;
use crate::runtime::look::Looker;
use crate::runtime::shards::Shards;

/// The reason why a task has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The task stopped by itself or on request.
    Stopped,
    /// A turn of the task panicked. Contains the panic message.
    Failed(Arc<str>),
    /// All addresses of the task were dropped.
    Unreachable,
    /// The sponsor of the task has stopped.
    SponsorEnded,
    /// The task had already ended when the request for the watch arrived.
    Before,
    /// The node of the task, or the connection to this node, was lost. The task may still run.
    /// Contains the name of the node.
    NodeLost(Arc<str>),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Failed(message) => write!(f, "failed: {message}"),
            Self::Unreachable => f.write_str("stopped, because all of its addresses were dropped"),
            Self::SponsorEnded => f.write_str("ended with its sponsor"),
            Self::Before => f.write_str("had ended before it was watched"),
            Self::NodeLost(node) => write!(f, "was lost with the node {node}"),
        }
    }
}

/// A handle that can cancel a watch. [`Address::watch`](crate::Address::watch) returns it. Dropping
/// the handle does not cancel the watch.
#[derive(Debug, Clone)]
pub struct Watch {
    cancelled: Arc<AtomicBool>,
}

impl Watch {
    /// Cancels the watch, so that the function of the watch is not called. If the task is ending at
    /// this moment, the function may still be called.
    pub fn cancel(&self) {
        // Relaxed: a notice that is being given just now may still come.
        self.cancelled.store(true, Relaxed);
    }
}

/// A function that is called when a task has ended, with a flag that cancels the call.
pub(crate) struct Watcher {
    cancelled: Arc<AtomicBool>,
    notice: Box<dyn FnOnce(Ended) + Send>,
}

impl Watcher {
    pub(crate) fn new(notice: impl FnOnce(Ended) + Send + 'static) -> (Watch, Self) {
        let cancelled = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            cancelled: cancelled.clone(),
        };
        let notice = Box::new(notice);
        (watch, Self { cancelled, notice })
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// Calls the function of the watch, or drops it if the watch was cancelled. Catches panics of
    /// the function, and of the destructors of its captured values.
    pub(crate) fn tell(self, ended: Ended) {
        let is_cancelled = self.is_cancelled();
        let notice = self.notice;
        if is_cancelled {
            quiet::drop(notice);
        } else {
            let _ = quiet::call(|| notice(ended));
        }
    }
}

/// The content of a note of kind `Watch`. A note is an envelope that makes a request to the worker
/// of a task.
pub(crate) enum Request {
    /// Request to register a watcher.
    Watch(Watcher),
    /// Request for the state of the task. The worker of the task answers this request.
    Look(Looker),
}

impl Request {
    /// Handles a request that has reached its task only after the task has ended.
    pub(crate) fn turn_away(self) {
        match self {
            Self::Watch(watcher) => watcher.tell(Ended::Before),
            // The asker sees that there is no answer.
            Self::Look(looker) => drop(looker),
        }
    }
}

/// Minimum number of watches of a task before cancelled watches are removed.
const SWEEP_MIN: usize = 8;

/// Watchers of one task.
struct Watchers {
    /// Watchers in the order of their registration.
    list: Vec<Watcher>,
    /// Length of the list at which cancelled watchers are removed. This is twice the length after
    /// the last removal, so that adding a watcher takes constant time on average.
    sweep_at: usize,
}

impl Watchers {
    const NONE: Self = Self {
        list: Vec::new(),
        sweep_at: SWEEP_MIN,
    };

    /// Adds a watcher. If the list has become long, removes the cancelled watchers and returns
    /// them.
    fn add(&mut self, watcher: Watcher) -> Vec<Watcher> {
        let mut gone = Vec::new();
        if self.list.len() >= self.sweep_at {
            let kept;
            (gone, kept) = mem::take(&mut self.list)
                .into_iter()
                .partition(Watcher::is_cancelled);
            self.list = kept;
            self.sweep_at = (2 * self.list.len()).max(SWEEP_MIN);
        }
        self.list.push(watcher);
        gone
    }
}

type Register = HashMap<usize, Watchers>;

/// Watchers of all tasks, by the address of the cell of the watched task.
#[cfg(not(garrick_loom))]
static WATCHERS: std::sync::LazyLock<Shards<Register>> = std::sync::LazyLock::new(Shards::default);

#[cfg(garrick_loom)]
garrick_core::prim::lazy_static! {
    static ref WATCHERS: Shards<Register> = Shards::default();
}

fn shard(cell: CellPtr) -> MutexGuard<'static, Register> {
    WATCHERS.of(cell.0.addr().get())
}

/// Registers a watcher of a task. Returns cancelled watchers of the task, if any were removed. The
/// caller must drop these watchers at a point where foreign code may run.
#[must_use]
pub(crate) fn register(cell: CellPtr, watcher: Watcher) -> Vec<Watcher> {
    let mut shard = shard(cell);
    let watchers = shard.entry(cell.0.addr().get());
    watchers.or_insert(Watchers::NONE).add(watcher)
}

/// Notifies watchers whose requests came after their task had ended, and drops watchers that were
/// cancelled. Calls foreign code, which may do anything.
#[inline]
pub(crate) fn tell_late(late: Vec<Watcher>) {
    if !late.is_empty() {
        tell_all(late);
    }
}

#[cold]
fn tell_all(late: Vec<Watcher>) {
    for watcher in late {
        watcher.tell(Ended::Before);
    }
}

/// Notifies the watchers of a task that has ended, and tells them the reason.
pub(crate) fn tell(cell: CellPtr, ended: &Ended) {
    let watchers = shard(cell).remove(&cell.0.addr().get());
    for watcher in watchers.into_iter().flat_map(|watchers| watchers.list) {
        watcher.tell(ended.clone());
    }
}
