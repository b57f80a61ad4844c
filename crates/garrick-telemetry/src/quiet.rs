//! Catches panics of foreign code: sources and observers, and their destructors.
//!
//! When a panic is caught, the process's panic hook has already run. The caller continues after the
//! panic.

use garrick_core::quiet;

/// Calls `f`. Returns its result, or `None` if `f` panics.
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Option<R> {
    quiet::call(f).ok()
}

/// A value provided by the user. A panic of its destructor is caught.
pub(crate) struct Foreign<T>(Option<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Calls `f` with the value. Returns `None` if the call panics.
    pub(crate) fn call<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let value = self.0.as_mut()?;
        call(|| f(value))
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        call(|| drop(value));
    }
}
