//! The part of a worker that other threads may touch, found by its home number.

use std::sync::{Arc, PoisonError};
use std::task::Waker;

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Mutex, MutexGuard,
    thread::{self, Thread},
    unmodelled::{AcqRel, Acquire, AtomicPtr},
};

use crate::cell::{Envelope, Home, Notice, Ready};
use crate::quiet;

/// Workers that may exist at once in one process.
pub const WORKERS_MAX: usize = if cfg!(garrick_loom) { 4 } else { 4095 };

/// What others touch of a worker. Never freed, used again by the next worker with its number.
#[derive(Debug, Default)]
pub(crate) struct Remote {
    /// The cells whose token was taken by others.
    pub(crate) ready: CachePadded<Ready>,
    /// Whom to unpark. Written when a worker begins and ends.
    sleeper: Mutex<Sleeper>,
}

/// Who sleeps, and how it is woken.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    /// The worker's thread, while there is one.
    pub(crate) thread: Option<Thread>,
    /// What wakes the thread if it sleeps in a driver. Counted by us, because cloning and dropping a waker is foreign code,
    /// which is not run under our lock.
    pub(crate) waker: Option<Arc<Waker>>,
}

/// A worker that is to be woken by whoever made work for it, once that holds no lock: what wakes it may be foreign code.
#[must_use]
pub(crate) struct Wake(Option<&'static Remote>);

impl Wake {
    pub(crate) const NOBODY: Self = Self(None);

    #[inline]
    pub(crate) fn call(self) {
        if let Some(remote) = self.0 {
            remote.unpark();
        }
    }
}

/// Workers by their numbers.
#[cfg(not(garrick_loom))]
static REMOTES: [AtomicPtr<Remote>; WORKERS_MAX + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; WORKERS_MAX + 1];

/// Numbers that are free again, and the first that was never used.
#[cfg(not(garrick_loom))]
static NUMBERS: std::sync::Mutex<Numbers> = std::sync::Mutex::new((Vec::new(), 1));

type Numbers = (Vec<u16>, u16);

/// Calls `f` with the place of that number in the table.
#[cfg(not(garrick_loom))]
#[inline(always)]
fn with_place<R>(number: u16, f: impl FnOnce(&AtomicPtr<Remote>) -> R) -> R {
    f(&REMOTES[usize::from(number)])
}

/// Calls `f` with the numbers. It must not wait.
#[cfg(not(garrick_loom))]
fn with_numbers<R>(f: impl FnOnce(&mut Numbers) -> R) -> R {
    f(&mut NUMBERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The table of each model, which a thread of the system's own runs. It is not modelled itself: see `Remote::of`.
#[cfg(garrick_loom)]
mod model {
    use std::cell::RefCell;
    use std::ptr;

    use super::{AcqRel, AtomicPtr, Numbers, Remote, WORKERS_MAX};

    thread_local! {
        static REMOTES: [AtomicPtr<Remote>; WORKERS_MAX + 1] =
            const { [const { AtomicPtr::new(ptr::null_mut()) }; WORKERS_MAX + 1] };
        static NUMBERS: RefCell<Numbers> = const { RefCell::new((Vec::new(), 1)) };
    }

    pub(super) fn with_place<R>(number: u16, f: impl FnOnce(&AtomicPtr<Remote>) -> R) -> R {
        REMOTES.with(|remotes| f(&remotes[usize::from(number)]))
    }

    pub(super) fn with_numbers<R>(f: impl FnOnce(&mut Numbers) -> R) -> R {
        NUMBERS.with_borrow_mut(f)
    }

    /// Begins a run: no worker has a number.
    pub(crate) fn reset() {
        NUMBERS.set((Vec::new(), 1));
        REMOTES.with(|remotes| {
            for remote in remotes {
                let remote = remote.swap(ptr::null_mut(), AcqRel);
                if !remote.is_null() {
                    // SAFETY: made by `claim` in a run that is over.
                    drop(unsafe { Box::from_raw(remote) });
                }
            }
        });
    }
}

#[cfg(all(test, garrick_loom))]
pub(crate) use model::reset as reset_model;
#[cfg(garrick_loom)]
use model::{with_numbers, with_place};

impl Remote {
    /// Takes a free number; none if [`WORKERS_MAX`] workers exist.
    pub(crate) fn claim() -> Option<Home> {
        let number = with_numbers(|(free, next)| {
            if let Some(number) = free.pop() {
                return Some((number, false));
            }
            let number = *next;
            *next += u16::from(usize::from(number) <= WORKERS_MAX);
            (usize::from(number) <= WORKERS_MAX).then_some((number, true))
        })?;
        if number.1 {
            let remote = Box::into_raw(Box::default());
            // Release (in AcqRel): pairs with the Acquire in `of`.
            let before = with_place(number.0, |place| place.swap(remote, AcqRel));
            debug_assert!(before.is_null(), "a number is made once");
        }
        Some(Home::new(number.0))
    }

    /// Gives a number back. No cell has it as its home any more.
    pub(crate) fn release(home: Home) {
        let remote = Self::of(home);
        remote.set_sleeper(Sleeper::default());
        with_numbers(|(free, _)| free.push(home.number()));
    }

    /// The worker with that number.
    #[inline]
    pub(crate) fn of(home: Home) -> &'static Self {
        // Acquire: pairs with the Release in `claim`. It is not modelled, because loom's atomics cannot lie in a static. Only
        // one caller needs it, who has read a home out of a cell that has just come there, relaxed (`Ask::wait`): all others
        // know the number by what was published after the claim.
        let remote = with_place(home.number(), |place| place.load(Acquire));
        debug_assert!(!remote.is_null(), "a token's cell has a home");
        // SAFETY: made by `claim` before any cell had this home, and never freed.
        unsafe { &*remote }
    }

    /// Says whom to unpark.
    pub(crate) fn set_sleeper(&self, sleeper: Sleeper) {
        // Dropped when the lock is free again: a waker may do anything then.
        let before = std::mem::replace(&mut *self.sleeper(), sleeper);
        quiet::drop(before);
    }

    fn sleeper(&self) -> MutexGuard<'_, Sleeper> {
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the calling thread is this worker's.
    pub(crate) fn is_this_thread(&self) -> bool {
        let here = thread::current().id();
        let sleeper = self.sleeper();
        sleeper
            .thread
            .as_ref()
            .is_some_and(|thread| thread.id() == here)
    }

    /// Puts the carrier of a token on the ready stack. The caller wakes the worker if it sleeps.
    ///
    /// # Safety
    /// As for [`Ready::push`].
    #[inline]
    pub(crate) unsafe fn notify(&'static self, carrier: *mut Envelope) -> Wake {
        // SAFETY: by contract.
        match unsafe { self.ready.push(carrier) } {
            Notice::Unpark => Wake(Some(self)),
            Notice::Awake => Wake::NOBODY,
        }
    }

    /// Wakes the worker if it sleeps; true if it did.
    pub(crate) fn wake(&self) -> bool {
        let slept = self.ready.unpark();
        if slept {
            self.unpark();
        }
        slept
    }

    #[cold]
    fn unpark(&self) {
        let sleeper = self.sleeper();
        if let Some(waker) = &sleeper.waker {
            let waker = waker.clone();
            drop(sleeper);
            // A driver's waker is foreign code, called by whoever sends: a panic in it is none of theirs.
            let _ = quiet::call(|| waker.wake_by_ref());
            quiet::drop(waker);
        } else if let Some(thread) = &sleeper.thread {
            thread.unpark();
        }
    }
}
