//! The atomics, cells, locks and threads that Garrick uses. These items come from `std` in
//! production, from `loom` under `cfg(garrick_loom)`, and from `counting` under
//! `cfg(garrick_count)`.
//!
//! This module is public for the other Garrick crates only. Semantic versioning does not cover it.

#[cfg(garrick_count)]
pub mod counting;

#[cfg(not(any(garrick_loom, garrick_count)))]
mod imp {
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};
    pub use std::{hint, thread};

    /// A [`std::cell::UnsafeCell`] with the interface of loom's `UnsafeCell`.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps `value`.
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Unwraps the value.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }

        /// Calls `f` with a pointer to the value, for reading.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer to the value, for reading and writing.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(garrick_count)]
mod imp {
    pub use std::hint;
    pub use std::sync::{Arc, Condvar, MutexGuard, RwLockReadGuard};

    pub use super::counting::{Mutex, RwLock, UnsafeCell, atomic, thread};
}

#[cfg(garrick_loom)]
mod imp {
    use std::cell::Cell;

    pub use loom::cell::UnsafeCell;
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};
    pub use loom::{hint, lazy_static};

    /// The threads of loom, for use in models.
    pub mod thread {
        pub use loom::thread::*;

        /// Parks the calling thread. Models have no clock, so the timeout never expires.
        pub fn park_timeout(_: std::time::Duration) {
            park();
        }
    }

    /// An extension that adds the methods of `std`'s thread-local cells to loom's thread-local
    /// cells.
    pub trait CellKey<T> {
        fn get(&'static self) -> T
        where
            T: Copy;

        fn set(&'static self, value: T);

        /// Replaces the value and returns the previous value.
        fn replace(&'static self, value: T) -> T;
    }

    impl<T: 'static> CellKey<T> for thread::LocalKey<Cell<T>> {
        fn get(&'static self) -> T
        where
            T: Copy,
        {
            self.with(Cell::get)
        }

        fn set(&'static self, value: T) {
            self.with(|cell| cell.set(value));
        }

        fn replace(&'static self, value: T) -> T {
            self.with(|cell| cell.replace(value))
        }
    }
}

pub use imp::*;

/// The atomics and locks of `std`, even under loom. Use them for counts and hints that do not order
/// other accesses. If a model included these accesses, it would have more states, but would not
/// find more errors. Any other use must document why it is not modelled.
pub mod unmodelled {
    #[cfg(garrick_count)]
    pub use super::counting::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    };
    #[cfg(not(garrick_count))]
    pub use std::sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    };
    pub use std::sync::{
        MutexGuard,
        atomic::{
            Ordering::{AcqRel, Acquire, Relaxed, Release},
            fence,
        },
    };
}

/// Declares thread-local values that are initialized by constants.
#[cfg(not(garrick_loom))]
#[doc(hidden)]
#[macro_export]
macro_rules! thread_values {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        ::std::thread_local! { $($(#[$meta])* static $name: $type = const { $init };)+ }
    };
}

/// Declares thread-local values for the threads of a model.
#[cfg(garrick_loom)]
#[doc(hidden)]
#[macro_export]
macro_rules! thread_values {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;)+) => {
        ::loom::thread_local! { $($(#[$meta])* static $name: $type = $init;)+ }
    };
}

/// Under loom, executes a fence, so that the sequentially consistent accesses on the two sides of
/// this call keep their order. The fence is necessary because loom treats such accesses only as
/// acquire and release.
///
/// In production, these accesses are already ordered, and this function does nothing.
#[inline(always)]
pub fn fence_for_loom() {
    #[cfg(garrick_loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}
