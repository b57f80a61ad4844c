//! What is told of a connection, and the frames that are handed over.

use std::fmt;
use std::ops::Deref;

use bytes::BytesMut;
use garrick_actor::Reply;

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
