//! Protection from panics in foreign code, mainly in the destructors of messages.
//!
//! A panic in one of several destructors must not prevent the others from running. A second panic
//! during unwinding would abort the process. The process's panic hook has already run when a panic
//! is caught here, so the caller need not report the panic.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use garrick_core::quiet;
pub(crate) use garrick_core::quiet::{Contained, drop};

/// Calls `f` and returns its result, or `None` if it panics.
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Option<R> {
    quiet::call(f).ok()
}

/// Drops all values, even if some destructors panic.
pub(crate) fn drop_each<T>(values: impl IntoIterator<Item = T>) {
    values.into_iter().for_each(drop);
}

/// A collection of values whose destructors are foreign code. When the collection is dropped, all
/// values are dropped, even if some destructors panic.
#[derive(Default)]
pub(crate) struct Several<C: IntoIterator + Default>(C);

impl<C: IntoIterator + Default> Several<C> {
    pub(crate) const fn new(values: C) -> Self {
        Self(values)
    }
}

impl<C: IntoIterator + Default> From<C> for Several<C> {
    fn from(values: C) -> Self {
        Self::new(values)
    }
}

impl<C: IntoIterator + Default> Deref for Several<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: IntoIterator + Default> DerefMut for Several<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: IntoIterator + Default> Drop for Several<C> {
    fn drop(&mut self) {
        drop_each(mem::take(&mut self.0));
    }
}

impl<C: IntoIterator + Default + fmt::Debug> fmt::Debug for Several<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    /// A test value (a bomb) that counts its drops. If its flag is true, dropping it panics. The
    /// payload of this panic is another bomb, whose flag is false.
    struct Bomb(Arc<AtomicUsize>, bool);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
            if self.1 {
                panic_any(Bomb(self.0.clone(), false));
            }
        }
    }

    #[test]
    fn all_are_dropped_whatever_their_destructors_do() {
        let count = Arc::new(AtomicUsize::new(0));
        let bombs: Vec<_> = (0..3).map(|_| Bomb(count.clone(), true)).collect();
        mem::drop(Several::from(bombs));
        assert_eq!(
            count.load(Relaxed),
            6,
            "three bombs, and the three bombs with which their destructors panicked"
        );
    }
}
