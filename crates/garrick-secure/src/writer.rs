//! The sending end of a connection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use garrick_actor::{Address, Reply, SendError};
use garrick_sched::{Place, Room};

/// A message to the scribe, the actor that writes to the transport.
pub(crate) enum Write {
    Payload {
        payload: Bytes,
        /// The payload's place in the queue. The place is freed when the payload is encrypted.
        place: Place,
        /// The reply to send when the transport has accepted the payload.
        written: Option<Reply<()>>,
    },
    /// Announces that [`Writer::finish`] was called, or that all writers were dropped. All calls of
    /// [`Writer::send`] and [`Writer::try_send`] that had begun before are over. Their payloads
    /// have places in the queue, but may still be on their way.
    Finish,
}

/// A handle that sends payloads over a connection. Clones write to the same connection.
///
/// After the last clone is dropped or [`Writer::finish`] is called, the connection still writes all
/// payloads that were already sent. Then it notifies the peer that no more payloads follow.
///
/// # Examples
/// The documentation of [`open`](crate::open) contains an example.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address<Write>,
    room: Arc<Room>,
    payload_bytes_max: u32,
    /// Permission to send payloads. Each call that sends a payload holds a clone until the payload
    /// has been sent. `None` after a call of [`Writer::finish`].
    open: Mutex<Option<Arc<Open>>>,
}

/// Permission to send payloads. When the last clone is dropped, the connection is notified that no
/// more payloads will come.
///
/// So the notice comes after [`Writer::finish`], and after all calls that had begun before. Without
/// the clones of these calls, the connection could end while such a call still waits for room. The
/// payload would be rejected, or would be lost after the call had returned `Ok`.
struct Open(Option<Reply<()>>);

/// The error returned when a payload is not accepted. The error contains the payload.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The payload is longer than
    /// [`Options::payload_bytes_max`](crate::Options::payload_bytes_max).
    TooLong(Bytes),
    /// The queue of payloads that are waiting to be written is full. Its maximum length is
    /// [`Options::queue`](crate::Options::queue).
    Full(Bytes),
    /// The connection is closed, or [`Writer::finish`] was called.
    Closed(Bytes),
}

impl Writer {
    pub(crate) fn new(
        address: Address<Write>,
        room: Arc<Room>,
        payload_bytes_max: u32,
        open: Reply<()>,
    ) -> Self {
        let open = Mutex::new(Some(Arc::new(Open(Some(open)))));
        Self {
            shared: Arc::new(Shared {
                address,
                room,
                payload_bytes_max,
                open,
            }),
        }
    }

    /// Waits until the queue has room, and sends a payload.
    ///
    /// # Errors
    /// Returns the payload if it is too long, or if the connection is closed.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing is sent, and the payload is dropped.
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), Refused> {
        let (payload, _open) = self.shared.check(payload.into())?;
        let place = self.shared.room.take().await;
        self.shared.send(payload, place, None)
    }

    /// Sends a payload if the queue has room.
    ///
    /// # Errors
    /// Returns the payload if the queue has no room, if the payload is too long, or if the
    /// connection is closed.
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<(), Refused> {
        self.shared.try_send(payload.into(), None)
    }

    /// Sends a payload like [`Writer::try_send`]. When the transport has accepted the payload, the
    /// connection sends the reply `written`.
    ///
    /// If the transport never accepts the payload, `written` is dropped. An actor must not block
    /// until the queue has room. Instead, it can use the replies to limit its speed: it sends the
    /// next payload only after the reply for an earlier payload has arrived.
    ///
    /// # Errors
    /// Returns the payload in the same cases as [`Writer::try_send`], and drops `written`.
    pub fn try_send_with(
        &self,
        payload: impl Into<Bytes>,
        written: Reply<()>,
    ) -> Result<(), Refused> {
        self.shared.try_send(payload.into(), Some(written))
    }

    /// Announces that no more payloads will be sent. Payloads that were already sent are still
    /// written. After this call, all clones reject new payloads with [`Refused::Closed`]. Calls of
    /// [`Writer::send`] that already wait for room are not rejected: the peer is notified when all
    /// their payloads are written. So such a future must be awaited or dropped. As long as it is
    /// neither, the connection stays open for the peer.
    pub fn finish(&self) {
        // The connection is notified after the lock is released.
        let open = self.shared.take_open();
        drop(open);
    }

    /// Returns true if no more payloads can be sent. After the method has returned true, it never
    /// returns false again. A result of false may be outdated immediately.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_finished() || self.shared.address.is_stopped()
    }
}

impl Shared {
    /// Checks that the payload may be sent. Returns the payload, and the permission to send it,
    /// which the caller must hold until the payload has been sent.
    fn check(&self, payload: Bytes) -> Result<(Bytes, Arc<Open>), Refused> {
        if payload.len() > self.payload_bytes_max as usize {
            return Err(Refused::TooLong(payload));
        }
        match self.open().clone() {
            Some(open) => Ok((payload, open)),
            None => Err(Refused::Closed(payload)),
        }
    }

    fn try_send(&self, payload: Bytes, written: Option<Reply<()>>) -> Result<(), Refused> {
        let (payload, _open) = self.check(payload)?;
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
        self.open().is_none()
    }

    fn take_open(&self) -> Option<Arc<Open>> {
        self.open().take()
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.send(());
        }
    }
}

impl Refused {
    /// Returns the payload that was not accepted.
    #[must_use]
    pub fn into_payload(self) -> Bytes {
        match self {
            Self::TooLong(payload) | Self::Full(payload) | Self::Closed(payload) => payload,
        }
    }
}

impl fmt::Debug for Refused {
    /// Formats the error without the payload, which may be secret.
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
            Self::TooLong(payload) => write!(
                f,
                "a payload of {} bytes is longer than `payload_bytes_max` allows",
                payload.len()
            ),
            Self::Full(_) => f.write_str("the connection's queue of payloads is full"),
            Self::Closed(_) => f.write_str("the connection is closed for writing"),
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
