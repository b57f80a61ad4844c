//! State of the current thread: the worker that it runs, if any, and its spare memory blocks.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

#[cfg(garrick_loom)]
use garrick_core::prim::CellKey;
use garrick_core::thread_values;

use crate::cell::Home;
use crate::hooks::simulates_here;
use crate::pool::Pool;
use crate::remote::{Holder, Remote};
use crate::runtime::sponsor::Shared;
use crate::runtime::worker::Worker;

thread_values! {
    /// Worker that this thread runs now, or null.
    static WORKER: Cell<*const Worker> = Cell::new(ptr::null());
    /// Worker that owns this thread, while the thread runs foreign code, such as a future, between
    /// two turns. Otherwise null.
    static RESTING: Cell<*const Worker> = Cell::new(ptr::null());
    /// Sponsor (group of workers) to which the worker that owns this thread belongs, even while the
    /// thread runs other code. Null if no worker owns this thread.
    static SERVES: Cell<*const Shared> = Cell::new(ptr::null());
    /// Number of the worker that this thread runs now, or `STRANGER` if it runs no worker.
    static HOME: Cell<Home> = Cell::new(Home::STRANGER);
    /// True while the turn on this thread is away from its worker
    /// ([`Turn::blocking`](crate::Turn::blocking)).
    static AWAY: Cell<bool> = Cell::new(false);
    /// Spare memory blocks of this thread, which are used while the thread runs no worker. A worker
    /// has its own pool.
    static POOL: Pool = Pool::new();
}

/// Returns the number of the worker that this thread runs now, or `STRANGER` if it runs no worker.
#[inline]
pub(crate) fn home() -> Home {
    HOME.get()
}

/// Returns the worker that this thread runs, if any.
#[inline]
pub(crate) fn worker<'a>() -> Option<&'a Worker> {
    // SAFETY: `Entered` keeps the worker alive for as long as the pointer stands here, and what is
    // returned is used within the call that asked, on this thread.
    unsafe { WORKER.get().as_ref() }
}

/// Returns true if the calling thread is running a turn. During a turn, sends are staged, and the
/// thread must not block.
#[must_use]
pub fn in_turn() -> bool {
    !WORKER.get().is_null()
}

/// A value that identifies a turn, from [`turn_mark`]. Two turns of a process never have the same
/// mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnMark {
    worker: Holder,
    turn: u64,
}

/// Returns a mark that identifies the turn that the calling thread is running. Returns `None` if
/// the thread runs no turn.
#[must_use]
pub fn turn_mark() -> Option<TurnMark> {
    worker().map(|worker| TurnMark {
        worker: Holder::of(worker.home),
        turn: worker.turn(),
    })
}

/// Returns the worker that owns this thread, if the thread runs foreign code between two turns of
/// this worker. Messages to the cells of this worker need not go through an inbox. Call this
/// function only if [`worker`] returns `None`.
#[inline]
pub(crate) fn resting<'a>() -> Option<&'a Worker> {
    // SAFETY: `Resting` keeps the worker alive for as long as the pointer stands here; else as in
    // `worker`.
    unsafe { RESTING.get().as_ref() }
}

/// Returns true if this thread belongs to a worker of `sponsor` (a group of workers), even outside
/// of turns.
pub(crate) fn serves(sponsor: &Arc<Shared>) -> bool {
    serves_at(Arc::as_ptr(sponsor).cast())
}

/// Returns true if this thread belongs to a worker of the sponsor (group of workers) at the address
/// `sponsor`, even outside of turns.
pub(crate) fn serves_at(sponsor: *const ()) -> bool {
    let ours = worker().is_some_and(|worker| ptr::eq(Arc::as_ptr(&worker.shared).cast(), sponsor));
    ours || ptr::eq(SERVES.get().cast(), sponsor)
}

/// Returns true if this thread belongs to a worker, even outside of turns.
pub(crate) fn serves_any() -> bool {
    in_turn() || !SERVES.get().is_null()
}

/// Returns true if only the calling thread runs the tasks of the worker `home`, so that this thread
/// must not wait for one of these tasks. Also returns true if this thread runs a simulation.
pub(crate) fn is_only_runner(home: Home) -> bool {
    if simulates_here() {
        return true;
    }
    if home == Home::NOBODY {
        return false;
    }
    let remote = Remote::of(home);
    // If a seat accepts guests, only threads of its sponsor run tasks permanently. A thread that
    // serves no sponsor is not one of them.
    let may_be = !remote.has_guests() || serves_any();
    may_be && remote.is_this_thread()
}

/// Guard that marks this thread as belonging to a worker.
pub(crate) struct Serving {
    before: *const Shared,
}

impl Serving {
    pub(crate) fn new(sponsor: &Arc<Shared>) -> Self {
        Self {
            // Compared only: the worker keeps the sponsor alive as long as the pointer stands here.
            before: SERVES.replace(Arc::as_ptr(sponsor)),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVES.set(self.before);
    }
}

/// Returns true if the turn on this thread is away from its worker, because it blocks in
/// [`Turn::blocking`](crate::Turn::blocking).
pub(crate) fn is_away() -> bool {
    AWAY.get()
}

/// Calls `f` as if this thread were not in a turn. `is_away` must be true if the thread is in a
/// turn that is away from its worker during the call.
pub(crate) fn leave<R>(is_away: bool, f: impl FnOnce() -> R) -> R {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            AWAY.set(self.0);
        }
    }
    let _back = Back(AWAY.replace(is_away));
    let _nobody = Entered::nobody();
    f()
}

/// Calls `f` as if this thread were not in a turn. What `f` sends is sent at once, and is not
/// undone with the turn. Use this function to report a change that is not undone with the turn
/// either.
pub fn outside_of_turns<R>(f: impl FnOnce() -> R) -> R {
    leave(is_away(), f)
}

/// Guard that allows foreign code to run on a worker's own thread between two turns.
pub(crate) struct Resting<'a> {
    before: *const Worker,
    worker: PhantomData<&'a Worker>,
}

impl<'a> Resting<'a> {
    pub(crate) fn new(worker: &'a Worker) -> Self {
        Self {
            before: RESTING.replace(worker),
            worker: PhantomData,
        }
    }
}

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        RESTING.set(self.before);
    }
}

/// Calls `f` with the pool of spare memory blocks of this thread.
pub(crate) fn with_pool<R>(f: impl FnOnce(&Pool) -> R) -> R {
    if let Some(worker) = worker() {
        return f(&worker.pool);
    }
    let mut f = Some(f);
    let done = POOL.try_with(|pool| f.take().map(|f| f(pool)));
    match (done, f) {
        (Ok(Some(result)), _) => result,
        // The thread is ending and its pool is gone already.
        (_, Some(f)) => f(&Pool::new()),
        (_, None) => unreachable!("`f` was called and returned"),
    }
}

/// Moves this thread's spare memory blocks to the depot, which all threads share. An audit then
/// counts these blocks as free.
pub(crate) fn flush_spare_blocks() {
    let _ = POOL.try_with(Pool::flush);
}

/// Guard that records which worker this thread runs now, or that the thread runs no worker.
/// Dropping the guard restores the previous worker. While the guard exists, [`resting`] returns
/// `None`: the worker of this thread might be in a turn, or the thread might have left its worker
/// during a turn.
pub(crate) struct Entered {
    before: (*const Worker, *const Worker, Home),
}

impl Entered {
    pub(crate) fn new(worker: &Worker) -> Self {
        Self::switch(worker, worker.home)
    }

    /// Marks this thread as running no worker. Used for code that belongs to no task, so that its
    /// sends are not part of a turn.
    pub(crate) fn nobody() -> Self {
        Self::switch(ptr::null(), Home::STRANGER)
    }

    fn switch(worker: *const Worker, home: Home) -> Self {
        Self {
            before: (
                WORKER.replace(worker),
                RESTING.replace(ptr::null()),
                HOME.replace(home),
            ),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        WORKER.set(self.before.0);
        RESTING.set(self.before.1);
        HOME.set(self.before.2);
    }
}
