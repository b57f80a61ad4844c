//! The scribe is the actor that encrypts payloads and writes them to the transport. Payloads that
//! wait at the same time are written together.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::BytesMut;
use garrick_actor::{Address, AsyncContext, Incoming, Reply};
use garrick_sched::Room;
use tokio::io::AsyncWriteExt;

use super::keeper;
use super::timely::timely;
use super::transport::Sink;
use crate::error::{Error, Wait};
use crate::frame::{Kind, Sealer};
use crate::options::Options;
use crate::writer::Write;

/// Number of encrypted bytes after which a batch is written, even if more payloads are waiting. If
/// the buffer for encrypted bytes has a larger capacity than this number after a write, the buffer
/// is freed.
const BATCH_BYTES: usize = 64 * 1024;

/// Number of bytes after which the scribe (the actor that writes) lets other actors run. Counts for
/// the bytes that are encrypted, and for the bytes that are written.
const SHARE_BYTES: usize = 256 * 1024;

/// Arguments of the scribe, the actor that writes.
pub(super) struct Start {
    pub(super) sink: Sink,
    pub(super) sealer: Sealer,
    pub(super) room: Arc<Room>,
    pub(super) options: Options,
    pub(super) keeper: Address<keeper::Msg>,
}

/// State of the scribe, the actor that writes.
struct Scribe {
    sink: Sink,
    sealer: Sealer,
    options: Options,
    cx: AsyncContext<Write>,
    /// Encrypted bytes that have not been written yet.
    out: BytesMut,
    /// Replies to send when all bytes of `out` have been written.
    written: Vec<Reply<()>>,
    /// Number of bytes that the scribe (the actor that writes) has written since it last let other
    /// actors run.
    share: usize,
}

/// Runs the scribe, the actor that writes.
pub(super) async fn run(mut mailbox: Incoming<Write>, start: Start) {
    let cx = mailbox.context();
    let keeper = start.keeper;
    let mut scribe = Scribe {
        sink: start.sink,
        sealer: start.sealer,
        options: start.options,
        cx: cx.clone(),
        out: BytesMut::new(),
        written: Vec::new(),
        share: 0,
    };
    let said = match scribe.write_all(&mut mailbox, &start.room).await {
        Ok(()) => keeper::Msg::Said,
        Err(error) => keeper::Msg::Failed(error),
    };
    let _ = cx.send(&keeper, said);
}

impl Scribe {
    /// Writes all payloads, then the last frame.
    async fn write_all(
        &mut self,
        mailbox: &mut Incoming<Write>,
        room: &Arc<Room>,
    ) -> Result<(), Error> {
        while let Some(write) = mailbox.recv().await {
            let mut goes_on = self.seal(write).await?;
            while goes_on
                && self.out.len() < BATCH_BYTES
                && let Some(write) = mailbox.try_recv()
            {
                goes_on = self.seal(write).await?;
            }
            self.flush().await?;
            if !goes_on {
                break;
            }
        }
        self.write_rest(mailbox, room).await?;
        self.sealer.seal(Kind::End, &[], &mut self.out)?;
        self.flush().await?;
        let limit = self.options.write_timeout;
        let sink = &mut self.sink;
        let shut = async { sink.shutdown().await.map_err(|error| Error::io(&error)) };
        timely(&self.cx, Wait::Write, limit, shut).await
    }

    /// Writes the payloads that follow [`Write::Finish`]. These payloads already have a place in
    /// the queue, and nobody waits for a place. To find out when all of them are written, the
    /// scribe (the actor that writes) itself takes all places of the queue, one after another.
    async fn write_rest(
        &mut self,
        mailbox: &mut Incoming<Write>,
        room: &Arc<Room>,
    ) -> Result<(), Error> {
        let mut ours = pin!(async {
            let mut places = Vec::with_capacity(room.capacity());
            while places.len() < room.capacity() {
                places.push(room.take().await);
            }
        });
        loop {
            let next = poll_fn(|task| match mailbox.poll_recv(task) {
                Poll::Ready(Some(write)) => Poll::Ready(Some(write)),
                _ => ours.as_mut().poll(task).map(|()| None),
            });
            let Some(write) = next.await else {
                return Ok(());
            };
            self.seal(write).await?;
            self.flush().await?;
        }
    }

    /// Encrypts a payload, and frees its place in the queue. Returns false if no more payloads will
    /// come. Lets other actors run while it encrypts a long payload.
    async fn seal(&mut self, write: Write) -> Result<bool, Error> {
        let Write::Payload {
            payload,
            place,
            written,
        } = write
        else {
            return Ok(false);
        };
        if payload.len() <= SHARE_BYTES {
            self.sealer.seal(Kind::Data, &payload, &mut self.out)?;
        } else {
            // In a box, so that connections without long payloads need no memory for the state.
            Box::pin(self.seal_long(&payload)).await?;
        }
        drop(place);
        self.written.extend(written);
        Ok(true)
    }

    async fn seal_long(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut sealing = self.sealer.begin(Kind::Data, payload, &mut self.out)?;
        while !(self.sealer).go_on(&mut sealing, payload, &mut self.out, SHARE_BYTES) {
            self.cx.yield_now().await;
        }
        Ok(())
    }

    /// Writes all encrypted bytes to the transport.
    async fn flush(&mut self) -> Result<(), Error> {
        let mut from = 0;
        while from < self.out.len() {
            let written = self.write_some(from).await?;
            from += written;
            self.share += written;
            if self.share >= SHARE_BYTES && self.out.len() - from > SHARE_BYTES {
                self.give_way().await;
            }
        }
        let limit = self.options.write_timeout;
        let sink = &mut self.sink;
        let flushed = async { sink.flush().await.map_err(|error| Error::io(&error)) };
        timely(&self.cx, Wait::Write, limit, flushed).await?;
        self.written.drain(..).for_each(|reply| reply.send(()));
        self.rest().await;
        Ok(())
    }

    async fn write_some(&mut self, from: usize) -> Result<usize, Error> {
        let (limit, sink, bytes) = (
            self.options.write_timeout,
            &mut self.sink,
            &self.out[from..],
        );
        let write = async {
            match sink.write(bytes).await {
                Ok(0) => Err(Error::io(&std::io::ErrorKind::WriteZero.into())),
                Ok(written) => Ok(written),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(0),
                Err(error) => Err(Error::io(&error)),
            }
        };
        timely(&self.cx, Wait::Write, limit, write).await
    }

    /// Releases memory that is no longer needed. If the scribe (the actor that writes) has written
    /// at least [`SHARE_BYTES`] bytes since it last let other actors run, lets them run now.
    async fn rest(&mut self) {
        self.out.clear();
        if self.out.capacity() > BATCH_BYTES {
            self.out = BytesMut::new();
        }
        if self.share >= SHARE_BYTES {
            self.give_way().await;
        }
    }

    async fn give_way(&mut self) {
        self.share = 0;
        self.cx.yield_now().await;
    }
}
