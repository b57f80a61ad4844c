//! Addresses of plain messages in front of actors that receive more than those.

use garrick_sched::{Address, Door, SendError, door};

/// Wraps each message, and sends it on in the sender's own turn: there is no hop, and nothing overtakes.
struct Front<M, N> {
    to: Address<N>,
    wrap: fn(M) -> N,
    /// Undoes `wrap`, for what comes back.
    unwrap: fn(N) -> M,
}

impl<M: Send + 'static, N: Send + 'static> Door for Front<M, N> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let sent = self.to.send((self.wrap)(message));
        sent.map_err(|SendError(back)| SendError((self.unwrap)(back)))
    }
}

/// An address that sends `to` what `wrap` makes of a message.
pub(crate) fn front<M: Send + 'static, N: Send + 'static>(
    to: &Address<N>,
    wrap: fn(M) -> N,
    unwrap: fn(N) -> M,
) -> Address<M> {
    let to = to.clone();
    door(Front { to, wrap, unwrap })
}
