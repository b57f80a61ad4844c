//! A value that a function lends to the code it calls, at any depth of the call stack.
//!
//! A [`Lender`] owns a value. A [`Borrower`] can access the value only during a call of
//! [`Lender::lend`], on the thread of that call. So neither of them needs a lock, although the
//! borrower can be stored anywhere. A borrower gets `None` while its value is not lent.
//!
//! Each thread has a variable with the address of the value that is lent on this thread. If a
//! nested call lends another value, the first value cannot be borrowed during that call. While a
//! value is borrowed, it cannot be borrowed a second time.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// Pointer to the value that is lent on this thread, or null.
    static LENT: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// Value that a lender and its borrowers share.
struct Value<T>(UnsafeCell<T>);

// SAFETY: the lender hands out references to the value by `&mut self`. Borrowers hand out a
// reference only on a thread where `LENT` is the address of the value. `LENT` has this address only
// while `Lender::lend` holds `&mut self` on that thread, and not within `Borrower::with`. So there
// is one reference at a time. The value goes from one thread to another only together with its
// lender, and `T: Send` allows that.
unsafe impl<T: Send> Sync for Value<T> {}

/// The owner of a value, which can lend the value to borrowers. The [module](self) explains the
/// rules.
///
/// # Examples
/// ```
/// use garrick_core::lend::Lender;
///
/// let mut sum = Lender::new(0);
/// let borrower = sum.borrower();
/// let add = |n: u32| borrower.with(|sum| *sum += n);
/// assert_eq!(add(1), None);
/// sum.lend(|| {
///     assert_eq!(add(2), Some(()));
///     assert_eq!(add(3), Some(()));
/// });
/// assert_eq!(*sum.get(), 5);
/// ```
pub struct Lender<T>(Arc<Value<T>>);

/// A handle that can access the value of a [`Lender`] while the value is lent. The [module](self)
/// explains the rules.
pub struct Borrower<T>(Arc<Value<T>>);

/// Guard of a loan: a value is lent on this thread while the guard exists. Creating the guard sets
/// `LENT`, and dropping the guard restores the previous value of `LENT`.
struct Lent {
    before: *const (),
}

impl Lent {
    #[inline]
    fn new(now: *const ()) -> Self {
        Self {
            before: LENT.replace(now),
        }
    }
}

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        LENT.set(self.before);
    }
}

impl<T> Lender<T> {
    /// Creates a lender of `value`.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Value(UnsafeCell::new(value))))
    }

    /// Creates a borrower of the value.
    pub fn borrower(&self) -> Borrower<T> {
        Borrower(self.0.clone())
    }

    /// Returns a reference to the value. No borrower can access the value while this reference is
    /// in use.
    #[inline]
    pub fn get(&mut self) -> &mut T {
        // SAFETY: see `Value`: nobody borrows, because `lend` would hold `self`.
        unsafe { &mut *self.0.0.get() }
    }

    /// Calls `f`. While `f` runs, borrowers on this thread can access the value.
    #[inline]
    pub fn lend<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let _lent = Lent::new(Arc::as_ptr(&self.0).cast());
        f()
    }
}

impl<T> Borrower<T> {
    /// Calls `f` with the value and returns the result of `f`. If the value is not lent on this
    /// thread, or is already borrowed, returns `None` without calling `f`.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !ptr::eq(LENT.get(), Arc::as_ptr(&self.0).cast()) {
            return None;
        }
        let _lent = Lent::new(ptr::null());
        // SAFETY: see `Value`: it is lent on this thread, and from here on nobody else gets it
        // until `f` is over.
        Some(f(unsafe { &mut *self.0.0.get() }))
    }
}

impl<T> fmt::Debug for Lender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Borrower<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Borrower").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    #[test]
    fn nobody_borrows_outside_of_the_call_nor_on_another_thread() {
        let mut lender = Lender::new(1);
        let borrower = lender.borrower();
        assert_eq!(borrower.with(|n| *n), None);
        lender.lend(|| {
            assert_eq!(borrower.with(|n| *n), Some(1));
            let elsewhere = thread::scope(|scope| scope.spawn(|| borrower.with(|n| *n)).join());
            assert_eq!(elsewhere.unwrap(), None);
        });
        assert_eq!(borrower.with(|n| *n), None);
    }

    #[test]
    fn a_value_is_borrowed_once_at_a_time() {
        let mut lender = Lender::new(1);
        let borrower = lender.borrower();
        lender.lend(|| {
            let second = borrower.with(|n| {
                *n += 1;
                borrower.with(|n| *n)
            });
            assert_eq!(second, Some(None));
            assert_eq!(borrower.with(|n| *n), Some(2));
        });
    }

    #[test]
    fn who_lends_within_hides_what_is_lent_outside() {
        let (mut outer, mut inner) = (Lender::new(1), Lender::new(2));
        let (of_outer, of_inner) = (outer.borrower(), inner.borrower());
        outer.lend(|| {
            inner.lend(|| {
                assert_eq!(of_outer.with(|n| *n), None);
                assert_eq!(of_inner.with(|n| *n), Some(2));
            });
            assert_eq!(of_outer.with(|n| *n), Some(1));
            assert_eq!(of_inner.with(|n| *n), None);
        });
    }

    #[test]
    fn a_panic_ends_what_it_leaves() {
        let mut lender = Lender::new(1);
        let borrower = lender.borrower();
        let failed = catch_unwind(AssertUnwindSafe(|| {
            lender.lend(|| borrower.with(|_| panic!("on purpose")));
        }));
        assert!(failed.is_err());
        assert_eq!(borrower.with(|n| *n), None);
        lender.lend(|| assert_eq!(borrower.with(|n| *n), Some(1)));
        assert_eq!(*lender.get(), 1);
    }

    #[test]
    fn the_value_is_dropped_with_the_last_of_both() {
        let value = Arc::new(());
        let lender = Lender::new(value.clone());
        let borrower = lender.borrower();
        drop(lender);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(borrower);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
