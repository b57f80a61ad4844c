//! Opens a connection.

use std::fmt;

use garrick_actor::{Address, Handle, Internal};

use super::keeper::{Keeper, Msg};
use super::transport::Transport;
use crate::event::Listener;
use crate::key::{PreSharedKey, Role};
use crate::options::{Options, OptionsError};

/// A handle that can close a connection. Dropping the handle does not close the connection.
#[derive(Clone)]
pub struct Connection {
    keeper: Address<Msg>,
}

/// The error returned when a connection cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// An option is out of bounds.
    Options(OptionsError),
    /// The actor system is shutting down.
    Ending,
}

/// Opens a connection over `transport`. The actors of the connection run on the workers of
/// `system`. `listener` receives all events of the connection. If the listener stops, the
/// connection is closed.
///
/// # Errors
/// Returns an [`OpenError`] if the options are out of bounds or the system is shutting down. Errors
/// of the connection itself are reported in its last event,
/// [`Event::Closed`](crate::Event::Closed).
///
/// # Examples
/// ```
/// use garrick_actor::{System, behavior};
/// use garrick_secure::{Event, Options, PreSharedKey, Role, Transport, open};
///
/// let system = System::new()?;
/// let key = PreSharedKey::random()?;
/// let (near, far) = tokio::io::duplex(1_000);
///
/// let asks = system.spawn(behavior(|event, _| match event {
///     Event::Opened(writer) => writer.try_send("ping").unwrap(),
///     Event::Closed(outcome) => assert_eq!(outcome, Ok(())),
///     _ => {}
/// }))?;
/// let (told, heard) = std::sync::mpsc::channel();
/// let hears = system.spawn(behavior(move |event, _| {
///     if let Event::Frame(frame) = event {
///         told.send(frame.to_vec()).unwrap();
///     }
/// }))?;
///
/// let options = Options::default();
/// open(
///     &system.handle(),
///     Transport::of(near),
///     key.clone(),
///     Role::Client,
///     options.clone(),
///     asks,
/// )?;
/// open(
///     &system.handle(),
///     Transport::of(far),
///     key,
///     Role::Server,
///     options,
///     hears,
/// )?;
/// assert_eq!(heard.recv()?, b"ping");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(
    system: &Handle,
    transport: Transport,
    key: PreSharedKey,
    role: Role,
    options: Options,
    listener: impl Into<Listener>,
) -> Result<Connection, OpenError> {
    options.check().map_err(OpenError::Options)?;
    let keeper = system
        .spawn(Internal(Keeper::new(options, listener.into())))
        .map_err(|_| OpenError::Ending)?;
    keeper
        .send(Msg::Begin(Box::new((transport, key, role))))
        .map_err(|_| OpenError::Ending)?;
    Ok(Connection { keeper })
}

impl Connection {
    /// Closes the connection at once. The last event of the connection then contains
    /// [`Error::Closed`](crate::Error::Closed). Data that is not yet written is lost, and the peer
    /// is not notified. For an orderly shutdown, call [`Writer::finish`](crate::Writer::finish).
    pub fn close(&self) {
        // A closed connection needs no closing.
        let _ = self.keeper.send(Msg::Close);
    }

    /// Returns true if the connection is closed. After the method has returned true, it never
    /// returns false again. A result of false may be outdated immediately.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.keeper.is_stopped()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(error) => error.fmt(f),
            Self::Ending => f.write_str("the actor system is shutting down"),
        }
    }
}

impl std::error::Error for OpenError {}
