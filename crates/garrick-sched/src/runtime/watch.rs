//! Watches: when a task has ended, its watchers are notified and get the reason.
//!
//! A watched task has no extra cost while it runs, because its messages take the same path as those
//! of other tasks. Only the function table of its cell is replaced by a table with a mark. The
//! watchers are in a separate register, under the address of the cell. A request to watch is sent
//! like a message, so it comes after the earlier messages of its sender.

use std::fmt;
use std::mem;
use std::sync::{Arc, PoisonError};

use garrick_core::prim::{
    MutexGuard,
    unmodelled::{AtomicBool, Mutex, Relaxed},
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
    /// A turn of the task panicked. Contains the panic message. For a child of a supervisor: the
    /// child has failed and was not restarted. Contains the reason.
    Failed(Arc<str>),
    /// All addresses of the task were dropped.
    Unreachable,
    /// The sponsor of the task (the group of workers that runs it) has stopped.
    SponsorEnded,
    /// The task had already ended when the request for the watch arrived.
    Before,
    /// The node of the task, or the connection to this node, was lost. The task may still be
    /// running. Contains the name of the node.
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

/// The function of a watch, which is called when a task has ended, with a flag that cancels the
/// call. A door (an address that leads to a function) receives notices
/// ([`Door::watch`](crate::Door::watch)).
pub struct Notice {
    cancelled: Arc<AtomicBool>,
    function: Box<dyn FnOnce(Ended) + Send>,
}

impl Notice {
    pub(crate) fn new(function: impl FnOnce(Ended) + Send + 'static) -> (Watch, Self) {
        let cancelled = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            cancelled: cancelled.clone(),
        };
        let function = Box::new(function);
        let notice = Self {
            cancelled,
            function,
        };
        (watch, notice)
    }

    /// Splits this notice into `count` notices, for a door that leads to several receivers. When
    /// all of them have been told, the watcher is told the reason that came last. If one of them is
    /// dropped, the watcher is never told. All parts are cancelled together.
    #[doc(hidden)]
    pub fn split(self, count: usize) -> impl Iterator<Item = Self> {
        let cancelled = self.cancelled.clone();
        let parts = Arc::new(Parts(Mutex::new((count, Some(self)))));
        (0..count).map(move |_| {
            let parts = parts.clone();
            Self {
                cancelled: cancelled.clone(),
                function: Box::new(move |ended| parts.tell_one(ended)),
            }
        })
    }

    /// Returns true if the watch was cancelled. Code that stores notices can drop a notice whose
    /// watch was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// Calls the function of the watch, or drops it if the watch was cancelled. Catches panics of
    /// the function, and of the destructors of its captured values.
    pub fn tell(self, ended: Ended) {
        let is_cancelled = self.is_cancelled();
        let function = self.function;
        if is_cancelled {
            quiet::drop(function);
        } else {
            let _ = quiet::call(|| function(ended));
        }
    }
}

/// A notice that was split into parts ([`Notice::split`]): the number of parts that were not told
/// yet, and the original notice.
struct Parts(Mutex<(usize, Option<Notice>)>);

impl Parts {
    /// Tells one of the parts. Each part is told at most once.
    fn tell_one(&self, ended: Ended) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.0 -= 1;
        let whole = if parts.0 == 0 { parts.1.take() } else { None };
        drop(parts);
        if let Some(whole) = whole {
            whole.tell(ended);
        }
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice")
            .field("cancelled", &self.cancelled)
            .finish_non_exhaustive()
    }
}

/// The content of a note of kind `Watch`. A note is an envelope that makes a request to the worker
/// of a task.
pub(crate) enum Request {
    /// Request to register a watcher.
    Watch(Notice),
    /// Request for the state of the task. The worker of the task answers this request.
    Look(Looker),
}

impl Request {
    /// Handles a request that has reached its task only after the task has ended.
    pub(crate) fn turn_away(self) {
        match self {
            Self::Watch(notice) => notice.tell(Ended::Before),
            // The asker sees that there is no answer.
            Self::Look(looker) => drop(looker),
        }
    }
}

/// Minimum number of watches of a task before cancelled watches are removed.
const SWEEP_MIN: usize = 8;

/// Watchers of one task.
struct Watchers {
    /// Notices in the order of their registration.
    list: Vec<Notice>,
    /// Length of the list at which cancelled watchers are removed. This is twice the length after
    /// the last removal, so that adding a watcher takes constant time on average.
    sweep_at: usize,
    /// The failure that the watchers are told if the task stops by itself.
    failure: Option<Arc<str>>,
}

impl Watchers {
    const NONE: Self = Self {
        list: Vec::new(),
        sweep_at: SWEEP_MIN,
        failure: None,
    };

    /// Adds a watcher. If the list has become long, removes the cancelled watchers and returns
    /// them.
    fn add(&mut self, notice: Notice) -> Vec<Notice> {
        let mut gone = Vec::new();
        if self.list.len() >= self.sweep_at {
            let kept;
            (gone, kept) = mem::take(&mut self.list)
                .into_iter()
                .partition(Notice::is_cancelled);
            self.list = kept;
            self.sweep_at = (2 * self.list.len()).max(SWEEP_MIN);
        }
        self.list.push(notice);
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
pub(crate) fn register(cell: CellPtr, notice: Notice) -> Vec<Notice> {
    let mut shard = shard(cell);
    let watchers = shard.entry(cell.0.addr().get());
    watchers.or_insert(Watchers::NONE).add(notice)
}

/// Notifies watchers whose requests came after their task had ended, and drops watchers that were
/// cancelled. Calls foreign code, which may do anything.
#[inline]
pub(crate) fn tell_late(late: Vec<Notice>) {
    if !late.is_empty() {
        tell_all(late);
    }
}

#[cold]
fn tell_all(late: Vec<Notice>) {
    for notice in late {
        notice.tell(Ended::Before);
    }
}

/// Sets the failure that the watchers of a task are told if the task then stops by itself. Does
/// nothing if nobody watches the task.
pub(crate) fn ends_as_failed(cell: CellPtr, why: &Arc<str>) {
    if let Some(watchers) = shard(cell).get_mut(&cell.0.addr().get()) {
        watchers.failure = Some(why.clone());
    }
}

/// Notifies the watchers of a task that has ended, and tells them the reason.
pub(crate) fn tell(cell: CellPtr, ended: &Ended) {
    let watchers = shard(cell).remove(&cell.0.addr().get());
    let Some(Watchers { list, failure, .. }) = watchers else {
        return;
    };
    let failure = failure.filter(|_| *ended == Ended::Stopped);
    let failed = failure.map(Ended::Failed);
    for notice in list {
        notice.tell(failed.as_ref().unwrap_or(ended).clone());
    }
}
