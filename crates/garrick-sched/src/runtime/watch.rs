//! Death notices: who wants to know when a task ends, and why it ended.
//!
//! A watched cell costs nothing while it lives, for its messages take the same way as before: its table is
//! replaced by one that says so, and who watches is kept beside all cells, by address. A notice to watch
//! travels like a message, so it comes behind what its sender sent before.

use garrick_core::prim::atomic::{AtomicBool, Ordering::Relaxed};
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::cell::CellPtr;
use crate::quiet;

/// Shards of the register, against contention when many watched tasks end at once.
const SHARDS: usize = 16;

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

    /// Gives the notice, whatever it does.
    pub(crate) fn tell(self, ended: Ended) {
        if !self.is_cancelled() {
            let _ = quiet::call(|| (self.notice)(ended));
        }
    }
}

type Shard = Mutex<HashMap<usize, Vec<Watcher>>>;

/// Who watches, by the cell's address.
static WATCHERS: LazyLock<[Shard; SHARDS]> = LazyLock::new(Default::default);

fn shard(cell: CellPtr) -> MutexGuard<'static, HashMap<usize, Vec<Watcher>>> {
    // Cells are some 32 bytes or more apart.
    let shard = &WATCHERS[(cell.0.addr().get() >> 5) % SHARDS];
    // No code that holds the lock can panic half way.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cell's home registers a watcher.
pub(crate) fn register(cell: CellPtr, watcher: Watcher) {
    let mut shard = shard(cell);
    let watchers = shard.entry(cell.0.addr().get()).or_default();
    let (gone, kept) = mem::take(watchers)
        .into_iter()
        .partition(Watcher::is_cancelled);
    *watchers = kept;
    watchers.push(watcher);
    drop(shard);
    // What a cancelled notice captured is foreign code to drop.
    let gone: Vec<Watcher> = gone;
    quiet::drop(gone);
}

/// The cell's home says how it ended.
pub(crate) fn tell(cell: CellPtr, ended: &Ended) {
    let watchers = shard(cell).remove(&cell.0.addr().get());
    for watcher in watchers.into_iter().flatten() {
        watcher.tell(ended.clone());
    }
}
