//! How handlers go on.

use garrick::Next;

/// What a handler goes on with after a send: it stops when its partner is gone, and whoever waits for a result
/// then finds it missing.
#[inline]
pub(crate) fn sent<E>(result: &Result<(), E>) -> Next {
    if result.is_ok() {
        Next::Continue
    } else {
        Next::Stop
    }
}
