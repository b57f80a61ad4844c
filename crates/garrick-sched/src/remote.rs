//! The part of a worker that other threads may touch, found by its home number.

use garrick_core::prim::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire},
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::Thread;

use crossbeam_utils::CachePadded;

use crate::cell::{Envelope, Home, Notice, Ready};

/// Workers that may exist at once in one process.
pub const WORKERS_MAX: usize = 4095;

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
    /// What wakes the thread if it sleeps in a driver.
    pub(crate) waker: Option<Waker>,
}

static REMOTES: [AtomicPtr<Remote>; WORKERS_MAX + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; WORKERS_MAX + 1];

/// Numbers that are free again, and the first that was never used.
static NUMBERS: Mutex<(Vec<u16>, u16)> = Mutex::new((Vec::new(), 1));

impl Remote {
    /// Takes a free number; none if [`WORKERS_MAX`] workers exist.
    pub(crate) fn claim() -> Option<Home> {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = numbers.0.pop() {
            return Some(Home::new(number));
        }
        let number = numbers.1;
        if usize::from(number) > WORKERS_MAX {
            return None;
        }
        numbers.1 += 1;
        let remote = Box::into_raw(Box::default());
        // Release (in AcqRel): pairs with the Acquire in `of`.
        let before = REMOTES[usize::from(number)].swap(remote, AcqRel);
        debug_assert!(before.is_null(), "a number is made once");
        Some(Home::new(number))
    }

    /// Gives a number back. No cell has it as its home any more.
    pub(crate) fn release(home: Home) {
        let remote = Self::of(home);
        remote.set_sleeper(Sleeper::default());
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.0.push(home.number());
    }

    /// The worker with that number.
    #[inline]
    pub(crate) fn of(home: Home) -> &'static Self {
        // Acquire: pairs with the Release in `claim`.
        let remote = REMOTES[usize::from(home.number())].load(Acquire);
        debug_assert!(!remote.is_null(), "a token's cell has a home");
        // SAFETY: made by `claim` before any cell had this home, and never freed.
        unsafe { &*remote }
    }

    /// Says whom to unpark.
    pub(crate) fn set_sleeper(&self, sleeper: Sleeper) {
        // Dropped when the lock is free again: a waker may do anything then.
        let before = std::mem::replace(&mut *self.sleeper(), sleeper);
        drop(before);
    }

    fn sleeper(&self) -> MutexGuard<'_, Sleeper> {
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is the calling thread whose business this home is.
    pub(crate) fn is_this_thread(&self) -> bool {
        let here = std::thread::current().id();
        let sleeper = self.sleeper();
        sleeper
            .thread
            .as_ref()
            .is_some_and(|thread| thread.id() == here)
    }

    /// Puts the carrier of a token on the ready stack and wakes the worker if it sleeps.
    ///
    /// # Safety
    /// As for [`Ready::push`].
    pub(crate) unsafe fn notify(&self, carrier: *mut Envelope) {
        // SAFETY: by contract.
        if unsafe { self.ready.push(carrier) } == Notice::Unpark {
            self.unpark();
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
            // A driver's waker is foreign code, which is not called under our lock.
            let waker = waker.clone();
            drop(sleeper);
            waker.wake();
        } else if let Some(thread) = &sleeper.thread {
            thread.unpark();
        }
    }
}
