//! The slot between one asker and one replier.
//!
//! A slot passes one value. Its state is one atomic word, and both sides are lock-free. Each side
//! leaves the slot once, and the side that leaves last frees the slot. The replier moves the waker
//! out before it leaves (`WAKING`), because an asker that finds the value may free the slot
//! immediately.
//!
//! ```text
//!            register                publish              take waker
//!   EMPTY <------------> WAITING ---------------> WAKING ------------> READY
//!     |    unregister                               |                    ^
//!     |                                       leave |                    |
//!     +------------------------------ leave --+     |                    |
//!     |                                       v     v                    |
//!     |                                        GONE                      |
//!     +------------------------------------------------------------------+
//!                                  publish
//!
//!   EMPTY, WAITING: both use the slot     WAKING: the value has come, the replier still uses the slot
//!   READY: only the asker uses the slot   GONE: only the replier uses the slot
//! ```

use std::fmt;
use std::mem::MaybeUninit;
use std::task::{Poll, Waker};

use garrick_core::prim::UnsafeCell;
use garrick_core::prim::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::quiet;

const EMPTY: u32 = 0;
const WAITING: u32 = 1;
const WAKING: u32 = 2;
const READY: u32 = 3;
const GONE: u32 = 4;

/// A slot, through which one value goes from the replier to the asker.
pub(super) struct Slot<V> {
    /// State of the slot: one of the states in the diagram at the beginning of this file. Both
    /// sides write and read it.
    state: AtomicU32,
    /// Waker of the asker. Initialized while the state is `WAITING`. The asker writes the waker,
    /// and the replier moves it out in the state `WAKING`.
    waker: UnsafeCell<MaybeUninit<Waker>>,
    /// The answer. The replier writes it before `publish`, and the asker moves it out in the state
    /// `WAKING` or `READY`.
    value: UnsafeCell<MaybeUninit<V>>,
}

/// Result of giving up access to a slot, which the asker and the replier share.
#[must_use]
pub(super) struct Left<V> {
    /// True if the other side had given up its access before. The caller must then free the slot.
    pub(super) last: bool,
    /// In the result of the asker: the value, if it has come. In the result of the replier: its own
    /// value, if the asker had given up its access before.
    pub(super) value: Option<V>,
    /// The asker's waker, which the replier must call.
    pub(super) waker: Option<Waker>,
}

impl<V> Slot<V> {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Panics in debug builds if the state is one of `others`. Does nothing in loom models, in
    /// which each load adds a point at which loom may switch threads.
    #[inline(always)]
    fn check_not(&self, others: &[u32], rule: &str) {
        // Relaxed: a forbidden state was written by the caller's own side, or is visible through
        // the operation that made this side the last one.
        debug_assert!(
            cfg!(garrick_loom) || !others.contains(&self.state.load(Relaxed)),
            "{rule}"
        );
    }

    /// Panics in debug builds if the asker or the replier can still access the slot.
    #[inline(always)]
    pub(super) fn check_left(&self) {
        self.check_not(
            &[EMPTY, WAITING, WAKING],
            "the last one to leave frees a slot",
        );
    }

    /// Writes the value, as the first step of the replier. The asker does not see it before
    /// [`Slot::publish`].
    ///
    /// # Safety
    /// The caller is the replier, and the slot contains no value.
    pub(super) unsafe fn put(&self, value: V) {
        self.check_not(&[WAKING, READY], "a replier puts before it publishes");
        // SAFETY: the asker keeps away from the field until it is published.
        self.value
            .with_mut(|place| unsafe { (*place).write(value) });
    }

    /// Takes back the value that the replier has written into the slot.
    ///
    /// # Safety
    /// The caller is the replier. It has written a value and has not published it.
    pub(super) unsafe fn take_back(&self) -> V {
        self.check_not(&[WAKING, READY], "a published value belongs to the asker");
        // SAFETY: by contract; the asker keeps away from the field.
        self.value
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Publishes the value to the asker, and gives up the replier's access to the slot.
    ///
    /// # Safety
    /// The caller is the replier and has written a value. It uses the slot again only if the result
    /// says that the asker had given up its access before.
    pub(super) unsafe fn publish(&self) -> Left<V> {
        // Acquire: pairs with the Release of `GONE` in `leave`; the asker is done with the waker's
        // field.
        let mut seen = self.state.load(Acquire);
        loop {
            let exchanged = match seen {
                // Release: pairs with the Acquire in `leave`; publishes the value.
                // Acquire on failure: as above.
                EMPTY => self.state.compare_exchange(EMPTY, READY, Release, Acquire),
                // Release: pairs with the Acquire in `leave`; publishes the value.
                // Acquire: pairs with the Release in `register`; the waker is there to read.
                WAITING => self
                    .state
                    .compare_exchange(WAITING, WAKING, AcqRel, Acquire),
                _ => {
                    debug_assert_eq!(seen, GONE, "a replier publishes once");
                    // SAFETY: nobody else is left, and the value was put by contract.
                    let value = unsafe { self.take_back() };
                    return Left {
                        last: true,
                        value: Some(value),
                        waker: None,
                    };
                }
            };
            match exchanged {
                Ok(EMPTY) => {
                    return Left {
                        last: false,
                        value: None,
                        waker: None,
                    };
                }
                // SAFETY: we have just gone from `WAITING` to `WAKING`.
                Ok(_) => return unsafe { self.take_waker() },
                Err(now) => seen = now,
            }
        }
    }

    /// Moves the asker's waker out of the slot, and gives up the replier's access to the slot.
    ///
    /// # Safety
    /// The caller is the replier, and the state was `WAITING` before it was `WAKING`.
    unsafe fn take_waker(&self) -> Left<V> {
        // SAFETY: the waker was registered, and from `WAKING` on the asker keeps away from the
        // field.
        let waker = self
            .waker
            .with(|waker| unsafe { (*waker).assume_init_read() });
        // Release: pairs with the Acquire in `leave_full`; we are done with the slot.
        // Acquire on failure: pairs with the Release in `leave_full`; the asker is done with it.
        let left = self.state.compare_exchange(WAKING, READY, Release, Acquire);
        Left {
            last: left.is_err(),
            value: None,
            waker: Some(waker),
        }
    }

    /// Returns true if the replier has published a value. Called by the asker.
    pub(super) fn is_full(&self) -> bool {
        // Relaxed: `leave` looks again before it reads the value.
        matches!(self.state.load(Relaxed), WAKING | READY)
    }

    /// Polls for the value. If it has not come, `waker` is called when it comes. Called by the
    /// asker.
    ///
    /// # Safety
    /// The caller is the asker, and it has not given up its access to the slot.
    pub(super) unsafe fn poll(&self, waker: &Waker) -> Poll<()> {
        // Relaxed: `leave` looks again before it reads the value.
        match self.state.load(Relaxed) {
            EMPTY => {}
            // SAFETY: the caller is the asker.
            WAITING if unsafe { self.unregister() } => {}
            state => {
                debug_assert_ne!(state, GONE, "an asker polls before it leaves");
                return Poll::Ready(());
            }
        }
        // SAFETY: as above, and no waker is registered.
        unsafe { self.register(waker) }
    }

    /// Stores the waker of the asker. Returns `Ready` if the value has come in the meantime.
    ///
    /// # Safety
    /// The caller is the asker, and the field contains no waker.
    unsafe fn register(&self, waker: &Waker) -> Poll<()> {
        let waker = waker.clone();
        // SAFETY: in `EMPTY` the field is the asker's.
        self.waker
            .with_mut(|place| unsafe { (*place).write(waker) });
        // Release: pairs with the Acquire in `publish`; publishes the waker.
        // Relaxed on failure: `leave` looks again before it reads the value.
        if self
            .state
            .compare_exchange(EMPTY, WAITING, Release, Relaxed)
            .is_ok()
        {
            return Poll::Pending;
        }
        // SAFETY: the waker was written above, and the replier never saw it.
        unsafe { self.drop_waker() };
        Poll::Ready(())
    }

    /// Removes the asker's waker from the slot and drops it. Returns false if the replier has
    /// already taken the waker.
    ///
    /// # Safety
    /// The caller is the asker.
    unsafe fn unregister(&self) -> bool {
        // Relaxed: the field was written by this side, and the replier has not touched it.
        let ours = self
            .state
            .compare_exchange(WAITING, EMPTY, Relaxed, Relaxed)
            .is_ok();
        if ours {
            // SAFETY: we wrote it, and the replier will find no waker to move out.
            unsafe { self.drop_waker() };
        }
        ours
    }

    /// Drops the waker, whose destructor is foreign code. Catches a panic of the destructor, so
    /// that the asker can still give up the slot.
    ///
    /// # Safety
    /// The field contains a waker, and the caller owns it.
    unsafe fn drop_waker(&self) {
        // SAFETY: by contract; it is moved out, and the field counts as empty.
        let waker = self
            .waker
            .with(|waker| unsafe { (*waker).assume_init_read() });
        quiet::drop(waker);
    }

    /// Gives up the asker's access to the slot. The result contains the value if it has come.
    ///
    /// # Safety
    /// The caller is the asker. It uses the slot again only if the result says that the replier had
    /// given up its access before.
    pub(super) unsafe fn leave(&self) -> Left<V> {
        // Acquire: pairs with the Release in `publish` and in `take_waker`; the value is there to
        // read.
        let mut seen = self.state.load(Acquire);
        loop {
            match seen {
                // Release: pairs with the Acquire in `publish`; we are done with the waker's field.
                // Acquire on failure: as above.
                EMPTY => match self.state.compare_exchange(EMPTY, GONE, Release, Acquire) {
                    Ok(_) => {
                        return Left {
                            last: false,
                            value: None,
                            waker: None,
                        };
                    }
                    Err(now) => seen = now,
                },
                WAITING => {
                    // SAFETY: the caller is the asker.
                    let _ = unsafe { self.unregister() };
                    // Acquire: as above.
                    seen = self.state.load(Acquire);
                }
                // SAFETY: the state is `WAKING` or `READY`, seen with Acquire.
                _ => return unsafe { self.leave_full(seen) },
            }
        }
    }

    /// Gives up the asker's access to a slot that contains a value.
    ///
    /// # Safety
    /// The caller is the asker. It has read the state `seen` with Acquire. `seen` is `WAKING` or
    /// `READY`.
    unsafe fn leave_full(&self, seen: u32) -> Left<V> {
        debug_assert!(seen == WAKING || seen == READY, "an asker leaves once");
        // SAFETY: the value was published, and is moved out once.
        let value = self
            .value
            .with(|place| unsafe { (*place).assume_init_read() });
        // Release: pairs with the Acquire in `take_waker`; we are done with the slot.
        // Acquire on failure: pairs with the Release there; the replier is done with it.
        let last = seen == READY
            || self
                .state
                .compare_exchange(WAKING, GONE, Release, Acquire)
                .is_err();
        Left {
            last,
            value: Some(value),
            waker: None,
        }
    }

    /// Simulates writes to the waker and to the value in a loom model, because the next user of the
    /// block writes there.
    #[cfg(all(test, garrick_loom))]
    pub(super) fn touch_all(&self) {
        self.waker.with_mut(|_| {});
        self.value.with_mut(|_| {});
    }
}

impl<V> fmt::Debug for Slot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.load(Relaxed) {
            EMPTY => "empty",
            WAITING => "waiting",
            WAKING => "waking",
            READY => "ready",
            _ => "gone",
        };
        f.debug_struct("Slot")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
