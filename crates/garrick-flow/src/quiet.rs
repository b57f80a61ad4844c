//! Calls user code whose panic must not reach the caller: wakers, and destructors of states and
//! panic payloads.
//!
//! The process's panic hook has already run when a panic is caught here, so the panic is not
//! reported again.

use garrick_core::quiet;
pub(crate) use garrick_core::quiet::drop;

/// Calls `f`. If it panics, returns the message of the panic as an error.
#[inline]
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    quiet::call(f).map_err(|panic| panic.message())
}
