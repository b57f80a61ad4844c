//! Addresses that call a function for each message.

use std::marker::PhantomData;
use std::sync::Arc;

use garrick_sched::{Address, Door, Gauged, Look, Notice, Place, Room, SendError, door};

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

/// The door behind the address that [`passage_before`] creates. It leads to a single target.
struct Before<N, M, T> {
    to: Address<N>,
    with: T,
    wrap: fn(&T, M) -> N,
    /// The inverse of `wrap`, for messages that could not be sent.
    unwrap: fn(N) -> M,
    /// True if the mailbox of the target shows its capacity.
    is_limited: bool,
    /// The places of the target's mailbox, if senders have to wait for them.
    room: Option<Arc<Room>>,
}

/// Creates an address that calls `wrap` for each message and sends the result to `to`. A full
/// mailbox has the same effect as for `to`, and code that watches the new address watches `to`.
/// `with` is another value that `wrap` needs. `unwrap` restores a message that could not be sent.
pub(super) fn passage_before<N, M, T>(
    to: Address<N>,
    with: T,
    wrap: fn(&T, M) -> N,
    unwrap: fn(N) -> M,
) -> Address<M>
where
    N: Send + 'static,
    M: Send + 'static,
    T: Send + Sync + 'static,
{
    door(Before {
        is_limited: to.capacity().is_some(),
        room: to.room(),
        to,
        with,
        wrap,
        unwrap,
    })
}

impl<N, M, T> Before<N, M, T>
where
    N: Send + 'static,
{
    fn send_on(
        &self,
        message: M,
        send: impl FnOnce(N) -> Result<(), SendError<N>>,
    ) -> Result<(), SendError<M>> {
        let sent = send((self.wrap)(&self.with, message));
        sent.map_err(|SendError(back)| SendError((self.unwrap)(back)))
    }
}

impl<N, M, T> Door for Before<N, M, T>
where
    N: Send + 'static,
    M: Send + 'static,
    T: Send + Sync + 'static,
{
    type Message = M;

    #[inline]
    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        self.send_on(message, |wrapped| self.to.send(wrapped))
    }

    fn is_stopped(&self) -> bool {
        self.to.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.to.forward_watch(notice);
    }

    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        self.is_limited.then_some(self as &dyn Gauged<M>)
    }

    fn look(&self) -> Option<Look> {
        Some(self.to.look())
    }
}

impl<N, M, T> Gauged<M> for Before<N, M, T>
where
    N: Send + 'static,
{
    fn room(&self) -> Option<&Arc<Room>> {
        self.room.as_ref()
    }

    fn nudge(&self) {
        self.to.nudge_keeper();
    }

    fn waits_for_itself(&self) -> bool {
        self.to.waits_for_itself()
    }

    fn send_in(&self, message: M, place: Place) -> Result<(), SendError<M>> {
        self.send_on(message, |wrapped| self.to.send_in(place, wrapped))
    }

    fn capacity(&self) -> usize {
        self.to.capacity().unwrap_or(usize::MAX)
    }

    fn waiting(&self) -> usize {
        self.to.waiting().unwrap_or(0)
    }

    fn dropped(&self) -> u64 {
        self.to.dropped()
    }
}
