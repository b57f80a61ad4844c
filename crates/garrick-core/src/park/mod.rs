//! Parking: lets a thread wait for another thread without using its core.
//!
//! A [`Parker`] holds at most one *token*. [`Unparker::unpark`] sets the token. [`Parker::park`]
//! waits until the token is set, and takes it. So a park after an unpark returns immediately. As a
//! result, no wake-up is lost if one thread checks for a value and then parks, while another thread
//! publishes a value and then unparks.
//!
//! The algorithm is the parker of the standard library and crossbeam. It consists of a state word,
//! a lock and a condition variable. The lock and the condition variable are used only while the
//! owner is asleep or about to sleep.
//!
//! ```text
//!                 park: about to sleep                  unpark: must wake
//!     EMPTY  ----------------------------->  PARKED  ----------------------+
//!       ^  |                                                               v
//!       |  +------------------------- unpark ------------------------> NOTIFIED  <-+ unpark again
//!       +---------------------- park: take the token --------------------+    +----+
//! ```
//!
//! `unpark` is one swap. It makes a system call only if the owner is asleep. The swap is necessary
//! even if the token is already set, because it makes the caller's earlier writes visible to the
//! thread that takes the token.
//!
//! `unpark` is wait-free unless the owner is asleep. In that case, `unpark` takes a lock that is
//! held only for a moment. One thread owns the [`Parker`]. Any number of threads may hold an
//! [`Unparker`]. Use a [`Spin`] to spin for a short time before parking.

mod cpu;
#[cfg(all(test, garrick_loom))]
mod loom_tests;
mod spin;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

use std::{
    fmt,
    sync::PoisonError,
    time::{Duration, Instant},
};

use crate::prim::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{
        AtomicU8,
        Ordering::{Acquire, Relaxed, Release},
    },
};

pub use cpu::current_core;
pub use spin::Spin;

/// State of a parker without a token, whose owner is awake.
const EMPTY: u8 = 0;
/// State of a parker without a token, whose owner is asleep, or holds the lock and is about to
/// sleep.
const PARKED: u8 = 1;
/// State of a parker with a token: an unparker was called, so the next park returns at once.
const NOTIFIED: u8 = 2;

struct Shared {
    /// `EMPTY`, `PARKED` or `NOTIFIED`. The owner (the thread that parks) writes EMPTY and PARKED,
    /// and the unparkers write NOTIFIED.
    state: AtomicU8,

    /// The owner (the thread that parks) takes this lock before it stores PARKED, and releases the
    /// lock only when it begins to wait on `woken`. So if a thread has read PARKED and then takes
    /// the lock, the owner is already waiting.
    lock: Mutex<()>,

    /// Condition variable on which the owner (the thread that parks) sleeps.
    woken: Condvar,
}

/// A handle with a flag, called the *token*. The thread that owns the handle can sleep until an
/// [`Unparker`] sets the token.
///
/// # Examples
///
/// ```
/// use garrick_core::park::Parker;
///
/// let mut parker = Parker::new();
/// let unparker = parker.unparker();
/// let waker = std::thread::spawn(move || unparker.unpark());
/// parker.park();
/// waker.join().unwrap();
/// ```
pub struct Parker {
    shared: Arc<Shared>,
}

/// A handle that wakes the thread that owns a [`Parker`]. Created by [`Parker::unparker`]. All
/// clones wake the same parker.
#[derive(Clone)]
pub struct Unparker {
    shared: Arc<Shared>,
}

impl Parker {
    /// Creates a parker whose token is not set.
    pub fn new() -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU8::new(EMPTY),
            lock: Mutex::new(()),
            woken: Condvar::new(),
        });
        Self { shared }
    }

    /// Creates a handle that wakes the owner of this parker.
    pub fn unparker(&self) -> Unparker {
        Unparker {
            shared: self.shared.clone(),
        }
    }

    /// Blocks until the token is set, and then clears the token.
    ///
    /// When this call returns, this thread sees all writes that the unparking thread made before it
    /// called [`unpark`](Unparker::unpark).
    #[inline]
    pub fn park(&mut self) {
        if !self.shared.take_token() {
            self.shared.sleep(None);
        }
    }

    /// Blocks until an [`Unparker`] has set the token, but for at most `timeout`. If the token was
    /// set, clears it and returns true. Otherwise returns false.
    #[inline]
    pub fn park_timeout(&mut self, timeout: Duration) -> bool {
        // A timeout beyond the range of the clock counts as no timeout.
        self.shared.take_token() || self.shared.sleep(Instant::now().checked_add(timeout))
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Unparker {
    /// Sets the token, and wakes the owner of the [`Parker`] if it is asleep.
    ///
    /// If the owner is awake, this costs one atomic swap. Tokens do not add up: setting the token
    /// twice before the owner clears it has the same effect as setting it once.
    #[inline]
    pub fn unpark(&self) {
        // Release: pairs with the Acquire in `take_token` and `give_up`; publishes the earlier
        // writes of the caller. The swap is a read-modify-write, so it also continues the release
        // sequence of an earlier unpark.
        if self.shared.state.swap(NOTIFIED, Release) == PARKED {
            self.shared.wake();
        }
    }
}

impl Shared {
    #[inline]
    fn take_token(&self) -> bool {
        // Acquire: pairs with the Release in `unpark`; the owner sees the writes before the unpark.
        // Relaxed on failure: no token was taken.
        self.state
            .compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed)
            .is_ok()
    }

    /// Sleeps until the token (set by an unparker) can be taken or `deadline` has passed. Returns
    /// true if the token was taken.
    #[cold]
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut guard = self.lock();
        // Relaxed: announces only; a thread that reads PARKED synchronizes by the lock. On failure
        // the token has come, and taking it acquires.
        if (self.state.compare_exchange(EMPTY, PARKED, Relaxed, Relaxed)).is_err() {
            return self.take_token();
        }
        loop {
            guard = match deadline {
                None => (self.woken.wait(guard)).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return self.give_up();
                    }
                    let result = self.woken.wait_timeout(guard, left);
                    result.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            // No token: a spurious wake-up, or a timeout, which the deadline decides.
            if self.take_token() {
                return true;
            }
        }
    }

    /// Changes the state from PARKED to EMPTY, because the deadline has passed. Returns true if an
    /// unparker has set the state to NOTIFIED in the meantime.
    fn give_up(&self) -> bool {
        // Acquire: pairs with the Release in `unpark`, as in `take_token`.
        self.state.swap(EMPTY, Acquire) == NOTIFIED
    }

    #[cold]
    fn wake(&self) {
        // Once this thread gets the lock the owner is asleep: it held the lock from PARKED on.
        // Without the lock, this notification could fall between PARKED and the sleep, and be lost.
        drop(self.lock());
        self.woken.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_name(&self) -> &'static str {
        match self.state.load(Relaxed) {
            EMPTY => "empty",
            PARKED => "parked",
            _ => "notified",
        }
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parker")
            .field(&self.shared.state_name())
            .finish()
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unparker")
            .field(&self.shared.state_name())
            .finish()
    }
}
