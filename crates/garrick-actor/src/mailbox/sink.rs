//! An inlet as a sink.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;
use garrick_sched::Place as Permit;

use super::inlet::Inlet;

/// The actor behind a sink has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SinkError;

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the receiver behind this sink has stopped")
    }
}

impl std::error::Error for SinkError {}

/// An [`Inlet`] as a [`Sink`], created by [`Inlet::sink`]. It is ready when the mailbox has a
/// place. Sent items need no flushing. An item is dropped if the actor has stopped.
pub struct InletSink<M> {
    inlet: Inlet<M>,
    /// The place for the next message.
    place: Option<Permit>,
    /// Future that waits for a place. Created when there is none for the first time.
    waiting: Option<Pin<Box<dyn Future<Output = Option<Permit>> + Send>>>,
}

impl<M: Send + 'static> Inlet<M> {
    /// Returns a [`Sink`] into this mailbox, with its back-pressure: it is not ready while the
    /// mailbox is full.
    ///
    /// # Examples
    /// ```
    /// use futures_util::{SinkExt, stream};
    /// use garrick_actor::{Local, Mailbox, OnFull, System, behavior};
    ///
    /// let system = System::new()?;
    /// let slow = system.spawn_with(Mailbox::bounded(2, OnFull::Wait)?, behavior(|n: u32, _| {
    ///     assert!(n < 100);
    /// }))?;
    /// let mut numbers = stream::iter((0..100).map(Ok));
    /// Local::new()?.block_on(slow.sink().send_all(&mut numbers))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sink(&self) -> InletSink<M> {
        InletSink {
            inlet: self.clone(),
            place: None,
            waiting: None,
        }
    }
}

// The pinned future is boxed.
impl<M> Unpin for InletSink<M> {}

impl<M: Send + 'static> Sink<M> for InletSink<M> {
    type Error = SinkError;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        let this = self.get_mut();
        let Some(room) = this.inlet.room() else {
            return ready_unless(this.inlet.is_stopped());
        };
        if this.place.is_none() && this.waiting.is_none() {
            this.place = room.try_take();
        }
        if this.place.is_none() {
            let waiting = this.waiting.get_or_insert_with(|| {
                let inlet = this.inlet.clone();
                Box::pin(async move { inlet.place().await })
            });
            this.place = ready!(waiting.as_mut().poll(context));
            this.waiting = None;
        }
        ready_unless(this.inlet.is_stopped())
    }

    fn start_send(self: Pin<&mut Self>, message: M) -> Result<(), SinkError> {
        let this = self.get_mut();
        let place = this.place.take();
        assert!(
            place.is_some() || this.inlet.room().is_none(),
            "`start_send` comes after a `poll_ready` that was ready"
        );
        this.inlet.send_in(place, message).map_err(|_| SinkError)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), SinkError>> {
        let this = self.get_mut();
        (this.place, this.waiting) = (None, None);
        Poll::Ready(Ok(()))
    }
}

fn ready_unless(is_stopped: bool) -> Poll<Result<(), SinkError>> {
    Poll::Ready(if is_stopped { Err(SinkError) } else { Ok(()) })
}

impl<M> fmt::Debug for InletSink<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InletSink").field(&self.inlet).finish()
    }
}
