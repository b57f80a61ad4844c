//! Foreign code that must not end what is none of its business: wakers, and destructors of states and of panics.
//!
//! The process's panic hook has had its say by the time a panic arrives here; what is left is to go on.

use garrick_core::quiet;
pub(crate) use garrick_core::quiet::drop;

/// Calls `f`; what it panicked with as words.
#[inline]
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    quiet::call(f).map_err(|panic| panic.message())
}
