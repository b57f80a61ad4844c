//! Death notices: who wants to know when a task ends, and why it ended.
//!
//! A watched cell costs nothing while it lives, for its messages take the same way as before: its table is
//! replaced by one that says so, and who watches is kept beside all cells, by address. A notice to watch
//! travels like a message, so it comes behind what its sender sent before.

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

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// It stopped of its own will, or was asked to.
    Stopped,
    /// A turn panicked, and this is what it said.
    Failed(Arc<str>),
    /// Nobody could reach it any more.
    Unreachable,
    /// Its sponsor ended.
    SponsorEnded,
    /// It had ended before it was watched.
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

/// A watch under way. Dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct Watch {
    cancelled: Arc<AtomicBool>,
}

impl Watch {
    /// The notice is not wanted any more. It may be on its way already.
    pub fn cancel(&self) {
        // Relaxed: a notice that is just being given may come all the same.
        self.cancelled.store(true, Relaxed);
    }
}

/// What is to be done when a task ends.
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

    /// Calls the notice, or drops it if it was cancelled. Catches a panic of either: what a notice captured has destructors
    /// of its own.
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

/// Cancelled watches of one task that are kept at least before they are looked for.
const SWEEP_MIN: usize = 8;

/// Those who watch one task.
struct Watchers {
    /// In the order in which they came.
    list: Vec<Watcher>,
    /// The length at which cancelled ones are taken out: twice what was left the last time, so that a watch costs
    /// constant time on average.
    sweep_at: usize,
}

impl Watchers {
    const NONE: Self = Self {
        list: Vec::new(),
        sweep_at: SWEEP_MIN,
    };

    /// Adds one, and returns the cancelled ones that were taken out.
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

/// Who watches, by the cell's address.
#[cfg(not(garrick_loom))]
static WATCHERS: std::sync::LazyLock<Shards<Register>> = std::sync::LazyLock::new(Shards::default);

#[cfg(garrick_loom)]
garrick_core::prim::lazy_static! {
    static ref WATCHERS: Shards<Register> = Shards::default();
}

fn shard(cell: CellPtr) -> MutexGuard<'static, Register> {
    WATCHERS.of(cell.0.addr().get())
}

/// Registers a watcher. Returns cancelled ones, which the caller drops where foreign code may run.
#[must_use]
pub(crate) fn register(cell: CellPtr, watcher: Watcher) -> Vec<Watcher> {
    let mut shard = shard(cell);
    let watchers = shard.entry(cell.0.addr().get());
    watchers.or_insert(Watchers::NONE).add(watcher)
}

/// Tells those who watch a cell how it ended.
pub(crate) fn tell(cell: CellPtr, ended: &Ended) {
    let watchers = shard(cell).remove(&cell.0.addr().get());
    for watcher in watchers.into_iter().flat_map(|watchers| watchers.list) {
        watcher.tell(ended.clone());
    }
}
