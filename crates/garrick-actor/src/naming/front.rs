//! Addresses that wrap each message in another message type and pass it on.

use garrick_sched::{Address, Door, SendError, door};

/// The code behind an address that [`front`] creates. It wraps each message and forwards it. The
/// sender runs this code itself, so there is no additional hop, and messages stay in order.
struct Front<M, N> {
    to: Address<N>,
    wrap: fn(M) -> N,
    /// The inverse of `wrap`, for messages that could not be sent.
    unwrap: fn(N) -> M,
}

impl<M: Send + 'static, N: Send + 'static> Door for Front<M, N> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let sent = self.to.send((self.wrap)(message));
        sent.map_err(|SendError(back)| SendError((self.unwrap)(back)))
    }

    fn is_stopped(&self) -> bool {
        self.to.is_stopped()
    }
}

/// Creates an address that calls `wrap` for each message and sends the result to `to`.
pub(crate) fn front<M: Send + 'static, N: Send + 'static>(
    to: &Address<N>,
    wrap: fn(M) -> N,
    unwrap: fn(N) -> M,
) -> Address<M> {
    let to = to.clone();
    door(Front { to, wrap, unwrap })
}
