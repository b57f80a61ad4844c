//! Death notices: watchers that are notified when a task ends, with the reason.
//!
//! A watched cell costs nothing while it lives, because its messages take the same path as before:
//! only its table is replaced by one with a mark. The watchers are kept outside of the cells, by
//! cell address. A request to watch travels like a message, so it comes after the earlier messages
//! of its sender.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use garrick_core::prim::{
    MutexGuard,
    unmodelled::{AtomicBool, Relaxed},
};

use crate::cell::CellPtr;
use crate::quiet;
use crate::runtime::shards::Shards;

/// The reason why a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The task stopped by itself, or was asked to stop.
    Stopped,
    /// A turn panicked, with this message.
    Failed(Arc<str>),
    /// No address of the task was left.
    Unreachable,
    /// The task's sponsor ended.
    SponsorEnded,
    /// The task had ended before it was watched.
    Before,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Failed(message) => write!(f, "failed: {message}"),
            Self::Unreachable => f.write_str("was not reachable any more"),
            Self::SponsorEnded => f.write_str("ended with its sponsor"),
            Self::Before => f.write_str("had ended before it was watched"),
        }
    }
}

/// An active watch. Dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct Watch {
    cancelled: Arc<AtomicBool>,
}

impl Watch {
    /// Cancels the notice. The notice may be on its way already.
    pub fn cancel(&self) {
        // Relaxed: a notice that is being given just now may still come.
        self.cancelled.store(true, Relaxed);
    }
}

/// A function to call when a task ends, with the mark that cancels it.
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

    /// Calls the notice, or drops it if it was cancelled. Catches a panic of either: captured
    /// values of a notice have destructors.
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

/// Smallest number of watches of one task at which cancelled watches are swept.
const SWEEP_MIN: usize = 8;

/// The watchers of one task.
struct Watchers {
    /// Watchers in the order of their registration.
    list: Vec<Watcher>,
    /// The length at which cancelled watchers are removed: twice the length after the last sweep.
    /// So a watch costs constant time on average.
    sweep_at: usize,
}

impl Watchers {
    const NONE: Self = Self {
        list: Vec::new(),
        sweep_at: SWEEP_MIN,
    };

    /// Adds a watcher, and returns the cancelled watchers that were removed.
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

/// Watchers, by the cell's address.
#[cfg(not(garrick_loom))]
static WATCHERS: std::sync::LazyLock<Shards<Register>> = std::sync::LazyLock::new(Shards::default);

#[cfg(garrick_loom)]
garrick_core::prim::lazy_static! {
    static ref WATCHERS: Shards<Register> = Shards::default();
}

fn shard(cell: CellPtr) -> MutexGuard<'static, Register> {
    WATCHERS.of(cell.0.addr().get())
}

/// Registers a watcher. Returns cancelled watchers, which the caller drops where foreign code may
/// run.
#[must_use]
pub(crate) fn register(cell: CellPtr, watcher: Watcher) -> Vec<Watcher> {
    let mut shard = shard(cell);
    let watchers = shard.entry(cell.0.addr().get());
    watchers.or_insert(Watchers::NONE).add(watcher)
}

/// Notifies the watchers of a cell how it ended.
pub(crate) fn tell(cell: CellPtr, ended: &Ended) {
    let watchers = shard(cell).remove(&cell.0.addr().get());
    for watcher in watchers.into_iter().flat_map(|watchers| watchers.list) {
        watcher.tell(ended.clone());
    }
}
