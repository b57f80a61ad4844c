//! Addresses with a function behind them.

use std::marker::PhantomData;

use garrick_sched::{Address, Door, SendError, door};

/// The door of a [`passage`].
struct Passage<M, F> {
    function: F,
    message: PhantomData<fn(M)>,
}

/// Creates an address from a function that every sender runs itself, any number of them at once.
/// The function changes nothing that it captures. The compiler checks that it may be shared.
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
