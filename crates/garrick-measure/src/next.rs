//! How handlers go on.

use garrick_actor::Next;

/// Returns how a handler goes on after a send: it stops when its partner is gone, and whoever waits for a result
/// then finds it missing.
#[inline]
pub fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
