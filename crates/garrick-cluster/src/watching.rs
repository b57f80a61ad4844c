//! Watches of the program's actors. A watch is cancelled when the entry that stores it is dropped.
//!
//! An address of the program may be a door, whose code can panic. A panic must not end the actors
//! on which all services, names and topics of a node depend.

use std::panic::{AssertUnwindSafe, catch_unwind};

use garrick_actor::{Address, Watch};

/// A watch of an actor of this program. The watch is cancelled when this value is dropped, so that
/// the actor does not keep the callback of the watch until the actor stops.
pub(crate) struct Watching(Option<Watch>);

impl Watching {
    /// Calls `watch`, which begins to watch an actor. Watches nothing if `watch` panics. A panic is
    /// possible, because the address may be a door, which runs code of the program.
    pub(crate) fn begin(watch: impl FnOnce() -> Watch) -> Self {
        // A panic must not end the caller.
        Self(catch_unwind(AssertUnwindSafe(watch)).ok())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            watch.cancel();
        }
    }
}

/// Returns true if an actor of the program has stopped. If the address is a door whose code panics,
/// the actor counts as stopped.
pub(crate) fn has_stopped<M: 'static>(address: &Address<M>) -> bool {
    catch_unwind(AssertUnwindSafe(|| address.is_stopped())).unwrap_or(true)
}

/// Calls `f`, which uses addresses of the program. Returns `None` if `f` panics.
pub(crate) fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}
