//! Addresses that call a function for each message.

use std::marker::PhantomData;

use garrick_sched::{Address, Door, SendError, door};

/// The door (a function that the senders call) behind the address that [`passage`] creates.
struct Passage<M, F> {
    function: F,
    message: PhantomData<fn(M)>,
}

/// Creates an address that calls `function` for each message. The address never stops.
///
/// The senders call the function themselves, possibly several of them concurrently. Therefore the
/// function must be `Fn` and `Sync`.
pub(super) fn passage<M, F>(function: F) -> Address<M>
where
    M: Send + 'static,
    F: Fn(M) -> Result<(), SendError<M>> + Send + Sync + 'static,
{
    door(Passage {
        function,
        message: PhantomData,
    })
}

impl<M, F> Door for Passage<M, F>
where
    M: Send + 'static,
    F: Fn(M) -> Result<(), SendError<M>> + Send + Sync + 'static,
{
    type Message = M;

    #[inline]
    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        (self.function)(message)
    }
}
