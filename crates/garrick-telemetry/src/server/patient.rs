//! A connection whose writes fail if the client reads nothing for too long, or reads too slowly.
//!
//! ```text
//!   write waits --> a period begins --period is over--> at least 60 KB written? -- yes --> next period
//!                                  \--all is written--> no period                \-- no --> error
//! ```
//!
//! Without these limits, a client that opens streams and never reads them, or reads a few bytes now
//! and then, would occupy connections and memory forever. A period begins when a write must wait,
//! and also ends when all waiting data is written. So a client of an event stream that reads
//! everything is never too slow, even if it reads only a few bytes each second.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::loans::PIECE_BYTES_MAX;

/// Minimum speed of a client for which data is waiting, in bytes per second.
const SPEED_MIN: f64 = 2048.0;

/// Maximum number of bytes that a client must read in a period, even if a period is long. A period
/// also ends when a piece of an answer is written, and pieces are not smaller.
const PROGRESS_MAX: u64 = PIECE_BYTES_MAX as u64;

/// A period in which data is always waiting to be written, and in which the client must read a
/// minimum number of bytes.
#[derive(Debug)]
struct Period {
    end: Instant,
    /// Number of bytes that were written since the beginning of the period.
    written: u64,
}

/// A stream with a limit on the duration of a write, and a minimum speed of waiting writes.
#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Number of bytes that the client must read in each period.
    progress_min: u64,
    /// Timer that expires when a write has waited too long, or when a period is over.
    alarm: Pin<Box<Sleep>>,
    /// Time at which the current write will have waited too long. `None` while no write is waiting.
    /// The timer is checked only while a write is waiting.
    silent_until: Option<Instant>,
    /// Current period, in which the client must read a minimum number of bytes. `None` if no write
    /// has had to wait since all data was last written.
    period: Option<Period>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        let progress_min = (patience.as_secs_f64() * SPEED_MIN) as u64;
        Self {
            stream,
            patience,
            progress_min: progress_min.min(PROGRESS_MAX),
            alarm: Box::pin(sleep(patience)),
            silent_until: None,
            period: None,
        }
    }

    /// Returns the result of a write, or an error if the write has waited too long, or if the
    /// client is too slow.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.silent_until = None;
            if let (Ok(bytes), Some(period)) = (&written, &mut self.period) {
                period.written += *bytes as u64;
            }
            return Poll::Ready(written);
        }
        let now = Instant::now();
        let end = now + self.patience;
        let silent_until = *self.silent_until.get_or_insert(end);
        let period = self.period.get_or_insert(Period { end, written: 0 });
        loop {
            let due = silent_until.min(period.end);
            if self.alarm.deadline() != due {
                self.alarm.as_mut().reset(due);
            }
            ready!(self.alarm.as_mut().poll(cx));
            let is_silent = due == silent_until;
            if is_silent || period.written < self.progress_min {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            *period = Period { end, written: 0 };
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The caller flushes only after it has written everything.
        self.period = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::interval;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Size in bytes of the buffer that stands for the socket buffer of the operating system.
    const BUFFER: usize = 1024;

    /// Writes `size` bytes to a client, and then flushes.
    async fn send(stream: &mut Patient<DuplexStream>, size: usize) -> io::Result<()> {
        stream.write_all(&vec![0; size]).await?;
        stream.flush().await
    }

    /// Reads `step` bytes in each period of the paused clock, until the server closes the
    /// connection. Returns the number of bytes.
    async fn read_slowly(mut client: DuplexStream, step: usize, period: Duration) -> usize {
        let (mut all, mut bytes) = (0, vec![0; step]);
        let mut clock = interval(period);
        loop {
            clock.tick().await;
            match client.read(&mut bytes).await {
                Ok(0) | Err(_) => return all,
                Ok(read) => all += read,
            }
        }
    }

    fn connection() -> (Patient<DuplexStream>, DuplexStream) {
        let (server, client) = duplex(BUFFER);
        (Patient::new(server, PATIENCE), client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_up() {
        let (mut stream, _client) = connection();
        let began = Instant::now();
        let error = send(&mut stream, 10_000).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_trickles_is_given_up() {
        let (mut stream, client) = connection();
        let client = tokio::spawn(read_slowly(client, 100, PATIENCE - Duration::from_secs(1)));
        let began = Instant::now();
        let error = send(&mut stream, 100_000).await.expect_err("it trickles");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
        drop(stream);
        assert!(client.await.expect("it ends") < 10_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_slow_and_steady_gets_a_whole_page() {
        let (mut stream, client) = connection();
        let client = tokio::spawn(read_slowly(client, 100, Duration::from_millis(20)));
        let began = Instant::now();
        let sent = send(&mut stream, 1_000_000).await;
        sent.expect("5 KB in each second are enough");
        assert!(began.elapsed() > 6 * PATIENCE, "{:?}", began.elapsed());
        drop(stream);
        assert_eq!(client.await.expect("it ends"), 1_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_every_event_is_never_given_up() {
        let (mut stream, client) = connection();
        let period = Duration::from_secs(1);
        let client = tokio::spawn(read_slowly(client, 2 * BUFFER, period));
        let mut clock = interval(3 * period);
        // Each event has to wait for a moment, and is read completely.
        for _ in 0..1000 {
            clock.tick().await;
            let sent = send(&mut stream, BUFFER + 200).await;
            sent.expect("all events are read");
        }
        drop(stream);
        assert_eq!(client.await.expect("it ends"), 1000 * (BUFFER + 200));
    }
}
