//! What is told of a connection, and the frames that are handed over.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::BytesMut;
use garrick_actor::{Address, Ended, Reply, Watch};

use crate::error::Error;
use crate::writer::Writer;

/// What happens to a connection. Nothing but the last one is told of a peer that has not proven that it has the key.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The peer has proven that it has the key. This is where to write.
    Opened(Writer),
    /// A payload came.
    Frame(Frame),
    /// The peer will send no more. One may still write.
    Finished,
    /// The connection is over: both sides had said that they would send no more, or a check has failed. This is the last
    /// event.
    Closed(Result<(), Error>),
}

/// A payload, checked and decrypted. While somebody has it, it takes one of the places in
/// [`Options::window`](crate::Options::window).
///
/// It lies in the buffer that it was read into, together with its neighbours: copy what is kept for long.
pub struct Frame {
    payload: BytesMut,
    /// Answered by being dropped, also where the turn that drops it is undone.
    place: Reply<()>,
}

/// Who is told of a connection: an actor for which events are messages, or can be made into some.
///
/// # Examples
/// ```
/// use garrick_actor::{Address, Local, Next};
/// use garrick_secure::{Event, Listener};
///
/// enum Msg {
///     Event(usize, Event),
///     Stop,
/// }
///
/// let local = Local::new()?;
/// let actor: Address<Msg> = local.spawn_behavior(|msg, _| match msg {
///     Msg::Event(..) => Next::Continue,
///     Msg::Stop => Next::Stop,
/// });
/// // Of two connections, one actor knows which is which.
/// let _first = Listener::new(actor.clone(), |event| Msg::Event(1, event));
/// let _second = Listener::new(actor, |event| Msg::Event(2, event));
/// # Ok::<(), garrick_actor::StartError>(())
/// ```
#[derive(Clone)]
pub struct Listener(Arc<dyn Tell>);

impl Listener {
    /// Tells `to` what `convert` makes of events.
    pub fn new<M: Send + 'static>(
        to: Address<M>,
        convert: impl Fn(Event) -> M + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Told { to, convert }))
    }

    /// Tells it; false if it is gone.
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

/// A listener whose messages are not known.
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
        self.to.send((self.convert)(event)).is_ok()
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

    /// The payload alone; the frame's place is free again.
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
    /// Without what is in it, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}
