//! The only door to atomics, cells, locks and threads: `std` in production, `loom` under
//! `cfg(garrick_loom)`.
//!
//! Public for the other Garrick crates, not for users: nothing here is covered by semantic versioning.

#[cfg(not(garrick_loom))]
mod imp {
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
    pub use std::{hint, thread};

    /// `std`'s cell behind loom's interface.
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

        /// Calls `f` with a pointer for reading.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for reading and writing.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(garrick_loom)]
mod imp {
    pub use loom::cell::UnsafeCell;
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
    pub use loom::{hint, thread};
}

pub use imp::*;
