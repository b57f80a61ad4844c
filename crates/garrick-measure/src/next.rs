//! Decisions of handlers after a send.

use garrick_actor::Next;

/// Returns how a handler goes on after a send: it stops when its partner is gone. A caller that
/// waits for a result then finds it missing.
#[inline]
pub fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
