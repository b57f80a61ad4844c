//! Addresses that call a function for each message.

use std::marker::PhantomData;

use garrick_sched::{Address, Door, SendError, door};

/// The door (a function that the senders call) behind the address that [`passage_to`] creates. The
/// door calls `pass` for each message.
struct Passage<T, M, F, G> {
    targets: T,
    pass: F,
    has_stopped: G,
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
    passage_to(function, |function, message| function(message), |_| false)
}

/// Creates an address that calls `pass` for each message, which forwards the message to `targets`.
/// The address has stopped once `has_stopped` returns true. So a sender whose message was refused
/// can find out whether a later message may be accepted.
///
/// The senders call the functions themselves, like the function of a [`passage`].
pub(super) fn passage_to<T, M, F, G>(targets: T, pass: F, has_stopped: G) -> Address<M>
where
    T: Send + Sync + 'static,
    M: Send + 'static,
    F: Fn(&T, M) -> Result<(), SendError<M>> + Send + Sync + 'static,
    G: Fn(&T) -> bool + Send + Sync + 'static,
{
    door(Passage {
        targets,
        pass,
        has_stopped,
        message: PhantomData,
    })
}

impl<T, M, F, G> Door for Passage<T, M, F, G>
where
    T: Send + Sync + 'static,
    M: Send + 'static,
    F: Fn(&T, M) -> Result<(), SendError<M>> + Send + Sync + 'static,
    G: Fn(&T) -> bool + Send + Sync + 'static,
{
    type Message = M;

    #[inline]
    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        (self.pass)(&self.targets, message)
    }

    fn is_stopped(&self) -> bool {
        (self.has_stopped)(&self.targets)
    }
}
