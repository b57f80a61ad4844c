//! The end of a connection that one writes to.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use garrick_actor::{Address, Reply, SendError};
use garrick_sched::{Place, Room};

/// What is to be written.
pub(crate) enum Write {
    Payload {
        payload: Bytes,
        /// Given back when the payload is sealed.
        place: Place,
        /// Answered when the transport has taken it.
        written: Option<Reply<()>>,
    },
    /// Nothing more, but for payloads that have their place already.
    Finish,
}

/// Where to write. Clones write to the same connection. When the last one is dropped, or [`Writer::finish`] is called, the
/// peer is told that no more will come, after all that was sent before.
///
/// # Examples
/// See [`open`](crate::open).
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address<Write>,
    room: Arc<Room>,
    payload_bytes_max: u32,
    /// Answered or dropped, it tells the connection that no more will come.
    open: Mutex<Option<Reply<()>>>,
}

/// Why a payload was not accepted. It comes back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It is longer than [`Options::payload_bytes_max`](crate::Options::payload_bytes_max).
    TooLong(Bytes),
    /// As many wait as [`Options::queue`](crate::Options::queue) allows.
    Full(Bytes),
    /// The connection is over, or [`Writer::finish`] was called.
    Closed(Bytes),
}

impl Writer {
    pub(crate) fn new(
        address: Address<Write>,
        room: Arc<Room>,
        payload_bytes_max: u32,
        open: Reply<()>,
    ) -> Self {
        let open = Mutex::new(Some(open));
        Self {
            shared: Arc::new(Shared {
                address,
                room,
                payload_bytes_max,
                open,
            }),
        }
    }

    /// Sends a payload once there is room for it.
    ///
    /// # Errors
    /// Gives it back if it is too long, or the connection is over.
    ///
    /// # Cancel safety
    /// A future that is dropped before it is ready has sent nothing, and the payload is gone with it.
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), Refused> {
        let payload = self.shared.check(payload.into())?;
        let place = self.shared.room.take().await;
        self.shared.send(payload, place, None)
    }

    /// Sends a payload if there is room for it.
    ///
    /// # Errors
    /// Gives it back if there is no room, it is too long, or the connection is over.
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<(), Refused> {
        self.shared.try_send(payload.into(), None)
    }

    /// As [`Writer::try_send`]; `written` is answered when the transport has taken the payload, and dropped if it never
    /// does. This is how an actor that must not wait keeps to the writer's pace: it sends the next payload when the
    /// answer to an earlier one is there.
    ///
    /// # Errors
    /// As for [`Writer::try_send`]; the reply is dropped.
    pub fn try_send_with(
        &self,
        payload: impl Into<Bytes>,
        written: Reply<()>,
    ) -> Result<(), Refused> {
        self.shared.try_send(payload.into(), Some(written))
    }

    /// Says that no more will come. What was sent before is written; what is sent later, by a clone, comes back.
    pub fn finish(&self) {
        let open = self.shared.take_open();
        if let Some(open) = open {
            open.send(());
        }
    }

    /// Whether nothing can be written any more. False may be out of date at once, true never is.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_finished() || self.shared.address.is_stopped()
    }
}

impl Shared {
    fn check(&self, payload: Bytes) -> Result<Bytes, Refused> {
        if payload.len() > self.payload_bytes_max as usize {
            return Err(Refused::TooLong(payload));
        }
        if self.is_finished() {
            return Err(Refused::Closed(payload));
        }
        Ok(payload)
    }

    fn try_send(&self, payload: Bytes, written: Option<Reply<()>>) -> Result<(), Refused> {
        let payload = self.check(payload)?;
        match self.room.try_take() {
            Some(place) => self.send(payload, place, written),
            None if self.address.is_stopped() => Err(Refused::Closed(payload)),
            None => Err(Refused::Full(payload)),
        }
    }

    fn send(
        &self,
        payload: Bytes,
        place: Place,
        written: Option<Reply<()>>,
    ) -> Result<(), Refused> {
        let write = Write::Payload {
            payload,
            place,
            written,
        };
        match self.address.send(write) {
            Err(SendError(Write::Payload { payload, .. })) => Err(Refused::Closed(payload)),
            _ => Ok(()),
        }
    }

    fn is_finished(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_none()
    }

    fn take_open(&self) -> Option<Reply<()>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.take()
    }
}

impl Refused {
    /// What was not accepted.
    #[must_use]
    pub fn into_payload(self) -> Bytes {
        match self {
            Self::TooLong(payload) | Self::Full(payload) | Self::Closed(payload) => payload,
        }
    }
}

impl fmt::Debug for Refused {
    /// Without what is in it, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong(_) => "TooLong(..)",
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(payload) => {
                write!(f, "a payload of {} bytes is over the limit", payload.len())
            }
            Self::Full(_) => f.write_str("as many payloads wait to be written as may"),
            Self::Closed(_) => f.write_str("nothing can be written any more"),
        }
    }
}

impl std::error::Error for Refused {}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("waiting", &self.shared.room.taken())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
