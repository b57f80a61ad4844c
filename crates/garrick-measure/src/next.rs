//! Decision of a handler after a send.

use garrick_actor::Next;

/// Returns how a handler continues after a send. It stops if the receiver has stopped. A caller
/// that waits for a result is then notified that there is none.
#[inline]
pub fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
