//! A function that decides what an actor does after a send.

use garrick_actor::Next;

/// Returns the decision of a message handler after a send: [`Next::Stop`] if the send has failed,
/// for example because the receiver has stopped, and otherwise [`Next::Continue`].
///
/// With [`Next::Stop`], the handler's actor stops too. If a caller is waiting for a result from
/// that actor, the caller is then notified that there will be no result.
#[inline]
pub fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
