//! Foreign code that must not end what is none of its business: sources and observers, and their destructors.
//!
//! The process's panic hook has had its say by the time a panic arrives here; what is left is to go on.

use garrick_core::quiet;

/// Calls `f`; none if it panics.
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Option<R> {
    quiet::call(f).ok()
}

/// Something of a user's, whose destructor ends nothing else.
pub(crate) struct Foreign<T>(Option<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Calls `f` with it; none if that panics.
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
