//! An adapter that turns an address into a [`Sink`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;
use garrick_sched::{Address, Place as Permit, Room, SendError, TrySendError};

/// The error that an [`AddressSink`] returns when the receiving actor has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SinkError;

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the actor to which this sink sends has stopped")
    }
}

impl std::error::Error for SinkError {}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A [`Sink`] that sends its items to an [`Address`]. The sink is not ready while the actor's
/// mailbox is full. So a slow actor slows down the code that uses the sink.
///
/// Each item is sent immediately, so flushing has no effect. But if the address leads to several
/// actors, such as that of a [`broadcast`](crate::behaviors::broadcast()), an item may wait in the
/// sink until their mailboxes have room. If the actor has stopped, the sink drops the item that
/// should be sent and returns a [`SinkError`].
///
/// A sink belongs to one task. If several tasks poll a sink in turn, for example through a mutex,
/// only the task that has polled last is woken when the sink becomes ready. To send from several
/// tasks, give each of them its own sink: all sinks of an address share its mailbox.
///
/// # Examples
/// ```
/// use futures_util::{SinkExt, stream};
/// use garrick_actor::mailbox::{AddressSink, Mailbox, OnFull};
/// use garrick_actor::{Local, System, behavior};
///
/// let system = System::new()?;
/// let slow = system
///     .actor(behavior(|n: u32, _| assert!(n < 100)))
///     .mailbox(Mailbox::bounded(2, OnFull::Wait)?)
///     .spawn()?;
/// let mut numbers = stream::iter((0..100).map(Ok));
/// Local::new()?.block_on(AddressSink::new(&slow).send_all(&mut numbers))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AddressSink<M> {
    address: Address<M>,
    room: Option<Arc<Room>>,
    /// The place in the actor's mailbox that is reserved for the next message.
    place: Option<Permit>,
    /// Future that waits for a free place in the mailbox. Created when no place is free.
    waiting: Option<Boxed<Option<Permit>>>,
    /// Future that sends an item to several actors when their mailboxes have room.
    sending: Option<Boxed<Result<(), SendError<M>>>>,
}

impl<M: Send + 'static> AddressSink<M> {
    /// Creates a sink that sends to `address`.
    #[must_use]
    pub fn new(address: &Address<M>) -> Self {
        Self {
            address: address.clone(),
            room: address.room(),
            place: None,
            waiting: None,
            sending: None,
        }
    }

    /// Polls until the previous item is sent.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        let Some(sending) = &mut self.sending else {
            return Poll::Ready(Ok(()));
        };
        let sent = ready!(sending.as_mut().poll(context));
        self.sending = None;
        Poll::Ready(sent.map_err(|_| SinkError))
    }

    /// Sends an item to an address that has no places for single messages.
    fn send_without_place(&mut self, message: M) -> Result<(), SinkError> {
        if self.address.several().is_none() {
            return self.address.send(message).map_err(|_| SinkError);
        }
        match self.address.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Stopped(_)) => Err(SinkError),
            Err(TrySendError::Full(message)) => {
                let address = self.address.clone();
                self.sending = Some(Box::pin(async move { address.send_async(message).await }));
                Ok(())
            }
        }
    }
}

// The pinned future is boxed.
impl<M> Unpin for AddressSink<M> {}

impl<M: Send + 'static> Sink<M> for AddressSink<M> {
    type Error = SinkError;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        let this = self.get_mut();
        ready!(this.poll_sent(context))?;
        let Some(room) = &this.room else {
            return ready_unless(this.address.is_stopped());
        };
        if this.place.is_none() && this.waiting.is_none() {
            this.place = room.try_take();
        }
        if this.place.is_none() {
            let waiting = this.waiting.get_or_insert_with(|| {
                let address = this.address.clone();
                Box::pin(async move { address.place().await })
            });
            this.place = ready!(waiting.as_mut().poll(context));
            this.waiting = None;
        }
        ready_unless(this.address.is_stopped())
    }

    fn start_send(self: Pin<&mut Self>, message: M) -> Result<(), SinkError> {
        let this = self.get_mut();
        let place = this.place.take();
        assert!(
            place.is_some() || this.room.is_none(),
            "`start_send` was called without a `poll_ready` that returned `Ready`"
        );
        match place {
            Some(place) => this.address.send_in(place, message).map_err(|_| SinkError),
            None => this.send_without_place(message),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        self.get_mut().poll_sent(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        let this = self.get_mut();
        (this.place, this.waiting) = (None, None);
        this.poll_sent(context)
    }
}

fn ready_unless(is_stopped: bool) -> Poll<Result<(), SinkError>> {
    Poll::Ready(if is_stopped { Err(SinkError) } else { Ok(()) })
}

impl<M> fmt::Debug for AddressSink<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AddressSink").field(&self.address).finish()
    }
}
