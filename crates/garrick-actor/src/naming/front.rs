//! Addresses of plain messages in front of actors with a larger message type.

use garrick_sched::{Address, Door, SendError, door};

/// Wraps each message, and sends it on in the sender's own turn. There is no hop, and no message
/// overtakes another.
struct Front<M, N> {
    to: Address<N>,
    wrap: fn(M) -> N,
    /// Undoes `wrap`, for messages that come back.
    unwrap: fn(N) -> M,
}

impl<M: Send + 'static, N: Send + 'static> Door for Front<M, N> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let sent = self.to.send((self.wrap)(message));
        sent.map_err(|SendError(back)| SendError((self.unwrap)(back)))
    }
}

/// Creates an address that sends `to` the result of `wrap` for each message.
pub(crate) fn front<M: Send + 'static, N: Send + 'static>(
    to: &Address<N>,
    wrap: fn(M) -> N,
    unwrap: fn(N) -> M,
) -> Address<M> {
    let to = to.clone();
    door(Front { to, wrap, unwrap })
}
