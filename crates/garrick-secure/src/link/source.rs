//! The source is the actor that reads from the transport. The source first performs the greeting,
//! and then reads bytes on demand.

use std::io;

use bytes::BytesMut;
use garrick_actor::{Address, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::buffer::{self, Filled};
use super::keeper;
use super::timely::timely;
use super::transport::{Sink, Source, Transport};
use crate::error::{Error, Part, Wait};
use crate::greeting::{Greeting, HELLO_BYTES, PROOF_BYTES, Session};
use crate::key::{PreSharedKey, Role};
use crate::options::Options;

/// Message that asks the source (the actor that reads from the transport) to read more bytes.
pub(super) struct Fill {
    /// Buffer to which the source appends the bytes that it reads. The source reads at most as many
    /// bytes as the buffer has room for.
    pub(super) buffer: BytesMut,
    /// Minimum number of bytes to read, unless the stream ends first.
    pub(super) least: usize,
    pub(super) to: Address<buffer::Msg>,
}

/// Arguments of the source, the actor that reads from the transport.
pub(super) struct Start {
    pub(super) transport: Transport,
    pub(super) key: PreSharedKey,
    pub(super) role: Role,
    pub(super) options: Options,
    pub(super) keeper: Address<keeper::Msg>,
}

/// Runs the source, the actor that reads from the transport.
pub(super) async fn run(mut mailbox: Incoming<Fill>, start: Start) {
    let cx = mailbox.context();
    let keeper = start.keeper.clone();
    let limit = start.options.greeting_timeout;
    // Errors of sends to the keeper are ignored: the keeper outlives the actors that it keeps, or
    // is no longer interested. The greeting is in a separate box, which is freed at its end: the
    // greeting is large, and the rest is small.
    let greeting = Box::pin(greet(start));
    let mut source = match timely(&cx, Wait::Greeting, limit, greeting).await {
        Ok((session, source, sink)) => {
            let _ = cx.send(&keeper, keeper::Msg::Opened(Box::new((session, sink))));
            source
        }
        Err(error) => {
            let _ = cx.send(&keeper, keeper::Msg::Failed(error));
            return;
        }
    };
    while let Some(Fill {
        mut buffer,
        least,
        to,
    }) = mailbox.recv().await
    {
        let before = buffer.len();
        let outcome = fill(&mut source, &mut buffer, before + least).await;
        let filled = Filled {
            buffer,
            before,
            outcome,
        };
        let _ = cx.send(&to, buffer::Msg::Filled(filled));
    }
}

async fn greet(start: Start) -> Result<(Session, Source, Sink), Error> {
    let Transport {
        mut source,
        mut sink,
    } = start.transport;
    let greeting = Greeting::new(
        start.key,
        start.options.suite,
        start.role,
        start.options.payload_bytes_max,
    )?;
    let session = match start.role {
        Role::Client => {
            write(&mut sink, greeting.hello()).await?;
            let heard = read::<HELLO_BYTES>(&mut source, Part::Hello).await?;
            let proving = greeting.heard(&heard)?;
            let proof = read::<PROOF_BYTES>(&mut source, Part::Proof).await?;
            let ours = *proving.proof();
            let session = proving.proven(&proof)?;
            write(&mut sink, &ours).await?;
            session
        }
        Role::Server => {
            let heard = read::<HELLO_BYTES>(&mut source, Part::Hello).await?;
            let hello = *greeting.hello();
            let proving = greeting.heard(&heard)?;
            write(&mut sink, &[&hello[..], proving.proof()].concat()).await?;
            let proof = read::<PROOF_BYTES>(&mut source, Part::Proof).await?;
            proving.proven(&proof)?
        }
    };
    Ok((session, source, sink))
}

async fn write(sink: &mut Sink, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::io(&error);
    sink.write_all(bytes).await.map_err(failed)?;
    sink.flush().await.map_err(failed)
}

/// Reads the `N` bytes of one part of the greeting.
async fn read<const N: usize>(source: &mut Source, part: Part) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let mut have = 0;
    while have < N {
        match source.read(&mut bytes[have..]).await {
            Ok(0) => {
                return Err(Error::Truncated {
                    part,
                    have,
                    want: N,
                });
            }
            Ok(read) => have += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(&error)),
        }
    }
    Ok(bytes)
}

/// Reads until the buffer contains `until` bytes. Returns false if the stream ends first.
async fn fill(source: &mut Source, buffer: &mut BytesMut, until: usize) -> Result<bool, Error> {
    while buffer.len() < until {
        match source.read_buf(buffer).await {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(&error)),
        }
    }
    Ok(true)
}
