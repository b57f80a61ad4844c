//! Byte stream under a connection.

use std::fmt;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

pub(super) type Source = Pin<Box<dyn AsyncRead + Send>>;
pub(super) type Sink = Pin<Box<dyn AsyncWrite + Send>>;

/// A byte stream in two halves: a TCP connection, a pipe, or any other type with tokio's traits.
/// The workers that run the connection's actors poll the stream, regardless of where its own driver
/// runs.
///
/// # Examples
/// ```
/// use garrick_secure::Transport;
///
/// let (near, _far) = tokio::io::duplex(64);
/// let _transport = Transport::of(near);
/// ```
pub struct Transport {
    pub(super) source: Source,
    pub(super) sink: Sink,
}

impl Transport {
    /// Creates a transport of two independent halves, such as the halves of tokio's
    /// `TcpStream::into_split`.
    pub fn new(
        read: impl AsyncRead + Send + 'static,
        write: impl AsyncWrite + Send + 'static,
    ) -> Self {
        Self {
            source: Box::pin(read),
            sink: Box::pin(write),
        }
    }

    /// Creates a transport by splitting a stream. Each access then takes a lock.
    pub fn of(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self::new(read, write)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
