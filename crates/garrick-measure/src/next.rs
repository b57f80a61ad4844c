//! The decision of a handler after a send.

use garrick_actor::Next;

/// Returns the decision of a handler after a send: [`Next::Stop`] if the receiver has stopped, and
/// otherwise [`Next::Continue`].
///
/// When the handler's actor stops, a caller that is waiting for its result is notified that there
/// will be none.
#[inline]
pub fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
