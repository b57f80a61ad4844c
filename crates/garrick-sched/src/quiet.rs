//! Foreign code that must not take a worker down: destructors and reporters.
//!
//! The process's panic hook has had its say by the time a panic arrives here; what is left is to go on.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f`, and gives back what it panicked with.
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| Panic(Some(payload)))
}

/// Drops `value`, whatever its destructor does.
pub(crate) fn drop<T>(value: T) {
    if mem::needs_drop::<T>() {
        let _ = call(|| mem::drop(value));
    }
}

/// What a panic left behind. Dropping it is quiet, even if the payload's own destructor panics.
pub(crate) struct Panic(Option<Box<dyn Any + Send>>);

impl Panic {
    /// What it said.
    pub(crate) fn message(&self) -> String {
        let payload = self.0.as_deref().expect("taken by drop only");
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
        let payload = self.0.take();
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| mem::drop(payload))) {
            // A payload whose destructor panics with another such payload would never end.
            mem::forget(second);
        }
    }
}
