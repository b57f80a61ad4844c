//! Events of a connection, and received frames.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::BytesMut;
use garrick_actor::{Address, Ended, Reply, Watch};

use crate::error::Error;
use crate::writer::Writer;

/// An event of a connection, sent to the connection's [`Listener`]. Before the peer has proven that
/// it has the key, [`Closed`](Self::Closed) is the only possible event.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The peer has proven that it has the key. The [`Writer`] sends payloads to the peer.
    Opened(Writer),
    /// A payload has arrived and has passed all checks.
    Frame(Frame),
    /// The peer will send no more payloads. This side can still send payloads.
    Finished,
    /// The connection is closed. No event follows. The result is `Ok` if both sides have finished,
    /// and otherwise contains the reason why the connection was closed.
    Closed(Result<(), Error>),
}

/// A received payload that was checked and decrypted. Until a frame is dropped, it counts toward
/// [`Options::window`](crate::Options::window).
///
/// The payload shares the memory of the receive buffer with neighboring payloads. To keep data for
/// a long time, copy it, so that the buffer can be freed.
pub struct Frame {
    payload: BytesMut,
    /// The frame's place in the window, which limits the number of received frames that are not yet
    /// dropped. When this reply is dropped, the place is free, even if the turn that dropped the
    /// frame is undone.
    place: Reply<()>,
}

/// The receiver of a connection's events: the address of an actor, and a function that converts
/// events into messages of that actor. An `Address<Event>` can be converted into a listener.
///
/// A mailbox with a bound accepts the events even if it is full. In exchange,
/// [`Options::window`](crate::Options::window) limits the number of frames that wait in it.
///
/// # Examples
/// ```
/// use garrick_actor::{Address, Local, Next, behavior};
/// use garrick_secure::{Event, Listener};
///
/// enum Msg {
///     Event(usize, Event),
///     Stop,
/// }
///
/// let local = Local::new()?;
/// let actor: Address<Msg> = local.spawn(behavior(|msg, _| match msg {
///     Msg::Event(..) => Next::Continue,
///     Msg::Stop => Next::Stop,
/// }));
/// // One actor distinguishes the events of two connections.
/// let _first = Listener::new(actor.clone(), |event| Msg::Event(1, event));
/// let _second = Listener::new(actor, |event| Msg::Event(2, event));
/// # Ok::<(), garrick_actor::StartError>(())
/// ```
#[derive(Clone)]
pub struct Listener(Arc<dyn Tell>);

impl Listener {
    /// Creates a listener that converts each event with `convert`, and sends the result to `to`.
    pub fn new<M: Send + 'static>(
        to: Address<M>,
        convert: impl Fn(Event) -> M + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Told { to, convert }))
    }

    /// Sends an event to the listening actor. Returns false if this actor has stopped.
    #[must_use]
    pub(crate) fn tell(&self, event: Event) -> bool {
        self.0.tell(event)
    }

    pub(crate) fn watch(&self, notice: impl FnOnce(Ended) + Send + 'static) -> Watch {
        self.0.watch(Box::new(notice))
    }
}

impl From<Address<Event>> for Listener {
    fn from(to: Address<Event>) -> Self {
        Self::new(to, |event| event)
    }
}

/// Sends events to a listener. Hides the message type of the listener.
trait Tell: Send + Sync {
    fn tell(&self, event: Event) -> bool;
    fn watch(&self, notice: Box<dyn FnOnce(Ended) + Send>) -> Watch;
}

struct Told<M, F> {
    to: Address<M>,
    convert: F,
}

impl<M, F> Tell for Told<M, F>
where
    M: Send + 'static,
    F: Fn(Event) -> M + Send + Sync,
{
    fn tell(&self, event: Event) -> bool {
        let message = (self.convert)(event);
        if self.to.capacity().is_none() {
            return self.to.send(message).is_ok();
        }
        // Like an answer, an event goes beyond the bound of a full mailbox: no payload may be
        // missing, and the end of the connection must be reported. `Options::window` is the bound.
        self.to.send_promised(message).is_ok()
    }

    fn watch(&self, notice: Box<dyn FnOnce(Ended) + Send>) -> Watch {
        self.to.watch(notice)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Frame {
    pub(crate) fn new(payload: BytesMut, place: Reply<()>) -> Self {
        Self { payload, place }
    }

    /// Returns the payload. After the call, the frame no longer counts toward
    /// [`Options::window`](crate::Options::window).
    #[must_use]
    pub fn into_payload(self) -> BytesMut {
        let Self { payload, place } = self;
        place.send(());
        payload
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.payload
    }
}

impl fmt::Debug for Frame {
    /// Formats the frame without its contents, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}
