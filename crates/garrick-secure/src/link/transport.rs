//! The byte stream that a connection uses.

use std::fmt;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

pub(super) type Source = Pin<Box<dyn AsyncRead + Send>>;
pub(super) type Sink = Pin<Box<dyn AsyncWrite + Send>>;

/// A byte stream in two halves, such as a TCP connection, a pipe, or any other type that implements
/// tokio's traits. The stream is polled by the workers that run the connection's actors. The code
/// that waits for the socket, such as a tokio runtime, may run on other threads.
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
    /// Creates a transport from two independent halves, such as the halves returned by tokio's
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

    /// Creates a transport by splitting a stream into two halves. The halves share a mutex, which
    /// each read and each write locks.
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
