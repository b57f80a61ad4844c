//! Calls of user code whose panic must not end its caller: wakers, and destructors of states and of
//! panics.
//!
//! The process's panic hook has already run when a panic arrives here. What is left is to go on.

use garrick_core::quiet;
pub(crate) use garrick_core::quiet::drop;

/// Calls `f`, and turns a panic into its message.
#[inline]
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    quiet::call(f).map_err(|panic| panic.message())
}
