//! Containment of panics in user code, such as destructors, notifications, wakers and failure
//! reporters. Such a panic must affect only the operation in which it occurs.
//!
//! When this module catches a panic, the panic hook of the process has already run. The caller can
//! simply continue.

use std::any::Any;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Maximum number of payloads that are dropped one after another, if the destructor of each payload
/// panics with a new payload.
const NESTED_MAX: usize = 16;

/// Calls `f` and catches its panic, if any.
///
/// # Errors
/// Returns the caught panic if `f` panicked.
///
/// # Examples
/// ```
/// use garrick_core::quiet;
///
/// assert!(quiet::call(|| 1).is_ok_and(|one| one == 1));
/// let panic = quiet::call(|| panic!("a {} panic", "quiet")).unwrap_err();
/// assert_eq!(panic.message(), "a quiet panic");
/// ```
#[inline]
pub fn call<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    if cfg!(garrick_loom) {
        // A panic in a model is a finding of the model.
        return Ok(f());
    }
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| Panic(Some(payload)))
}

/// Drops `value`, and ignores a panic in its destructor.
pub fn drop<T>(value: T) {
    if mem::needs_drop::<T>() {
        let _ = call(|| mem::drop(value));
    }
}

/// A value of foreign code. If a panic unwinds through the owner of the value and the destructor of
/// the value panics, too, this second panic is ignored. Without this type, the process would abort.
///
/// At all other times, a panic of the destructor is an ordinary panic.
#[derive(Debug)]
pub struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    /// Contains the destructor of `value`.
    pub const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// Returns a pinned reference to the value.
    #[inline]
    pub fn as_pin_mut(self: Pin<&mut Self>) -> Pin<&mut T> {
        // SAFETY: the value is pinned with its container: it is never moved out, and is dropped in
        // place.
        unsafe { self.map_unchecked_mut(|contained| &mut *contained.0) }
    }
}

impl<T> Deref for Contained<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Contained<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        self.as_pin_mut().poll(task)
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped once, here.
        let mut drop = || unsafe { ManuallyDrop::drop(&mut self.0) };
        if mem::needs_drop::<T>() && thread::panicking() {
            let _ = call(drop);
        } else {
            drop();
        }
    }
}

/// A caught panic. Dropping a `Panic` never panics, even if the destructor of the payload panics.
///
/// If that destructor panics, the payload of the new panic is dropped in the same way, and so on.
/// The 17th payload of this chain is leaked, because the chain might never end.
pub struct Panic(Option<Box<dyn Any + Send>>);

impl Panic {
    /// Creates a `Panic` from the payload of a panic. For example, the error of `JoinHandle::join`
    /// is the payload of a panic.
    pub fn of(payload: Box<dyn Any + Send>) -> Self {
        Self(Some(payload))
    }

    /// Resumes the panic with the same payload, without calling the panic hook.
    pub fn resume(mut self) -> ! {
        let payload = self.0.take();
        std::panic::resume_unwind(payload.expect("taken by drop and here only"))
    }

    /// Returns the message of the panic. If the payload is not a string, returns "a panic without a
    /// message".
    pub fn message(&self) -> String {
        let payload = self.0.as_deref().expect("taken by drop and `resume` only");
        if let Some(text) = payload.downcast_ref::<&str>() {
            (*text).to_owned()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            "a panic without a message".to_owned()
        }
    }
}

impl Drop for Panic {
    fn drop(&mut self) {
        let mut payload = self.0.take();
        for _ in 0..NESTED_MAX {
            match catch_unwind(AssertUnwindSafe(|| mem::drop(payload))) {
                Ok(()) => return,
                Err(next) => payload = Some(next),
            }
        }
        mem::forget(payload);
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panic").field(&self.message()).finish()
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    /// A value whose destructor panics if `left` is above 0. The payload of this panic is another
    /// `Nested`, whose `left` is lower by 1.
    struct Nested {
        left: usize,
        dropped: Arc<AtomicUsize>,
    }

    impl Drop for Nested {
        fn drop(&mut self) {
            self.dropped.fetch_add(1, Relaxed);
            if self.left > 0 {
                panic_any(Self {
                    left: self.left - 1,
                    dropped: self.dropped.clone(),
                });
            }
        }
    }

    #[test]
    fn a_contained_value_does_not_abort_the_process() {
        let nested = |dropped: &Arc<AtomicUsize>| Nested {
            left: 1,
            dropped: dropped.clone(),
        };
        let dropped = Arc::new(AtomicUsize::new(0));
        let _ = call(|| {
            let _contained = Contained::new(nested(&dropped));
            panic!("before the destructor");
        })
        .map_err(|panic| assert_eq!(panic.message(), "before the destructor"));
        // The payload of the second panic was dropped, too.
        assert_eq!(dropped.load(Relaxed), 2);
        // The panic of the destructor alone is not caught.
        assert!(call(|| mem::drop(Contained::new(nested(&dropped)))).is_err());
        assert_eq!(dropped.load(Relaxed), 4);
    }

    fn dropped_of(left: usize) -> usize {
        let dropped = Arc::new(AtomicUsize::new(0));
        let payload = Nested {
            left,
            dropped: dropped.clone(),
        };
        mem::drop(Panic::of(Box::new(payload)));
        dropped.load(Relaxed)
    }

    #[test]
    fn payloads_are_dropped_one_after_the_other() {
        assert_eq!(dropped_of(0), 1);
        assert_eq!(dropped_of(10), 11);
    }

    #[test]
    fn one_that_never_ends_is_leaked() {
        assert_eq!(dropped_of(1_000), NESTED_MAX);
    }

    #[test]
    fn the_message_of_a_panic_is_its_text() {
        let message = |payload: Box<dyn Any + Send>| Panic::of(payload).message();
        assert_eq!(message(Box::new("text")), "text");
        assert_eq!(message(Box::new("owned".to_owned())), "owned");
        assert_eq!(message(Box::new(1_u8)), "a panic without a message");
    }
}
