//! The opener is an actor that checks and decrypts one long frame, in several turns. The reader
//! spawns an opener for each long frame, and waits for it.

use std::convert::Infallible;
use std::mem;
use std::sync::Arc;

use bytes::BytesMut;
use garrick_actor::{Address, AsyncContext, Incoming};

use super::buffer::Got;
use super::keeper;
use crate::error::Error;
use crate::frame::{Keys, Kind};

/// Maximum number of bytes that are checked or decrypted in one turn: a multiple of the cipher's
/// block, and a little more than 256 KiB, so that a frame with a payload of 256 KiB is opened in
/// one turn.
pub(super) const TURN_BYTES: usize = 320 * 1024;

/// A complete frame that is too long to be opened in one turn. All parts of the frame are still
/// unchecked.
pub(super) struct LongFrame {
    pub(super) keys: Arc<Keys>,
    pub(super) sequence: u64,
    /// The parts of the body. The sizes of all but the last are a multiple of the cipher's block.
    pub(super) pieces: Vec<BytesMut>,
    pub(super) tag: BytesMut,
    pub(super) reader: Address<Got>,
    pub(super) keeper: Address<keeper::Msg>,
}

/// Runs the opener, the actor that checks and decrypts a long frame. Stops early if the connection
/// is closed.
pub(super) async fn run(mailbox: Incoming<Infallible>, frame: LongFrame) {
    let cx = mailbox.context();
    let (reader, keeper) = (frame.reader.clone(), frame.keeper.clone());
    match frame.open(&cx).await {
        Ok(Some((kind, payload))) => _ = cx.send(&reader, Got::Opened(kind, payload)),
        Ok(None) => {}
        Err(error) => _ = cx.send(&keeper, keeper::Msg::Failed(error)),
    }
}

impl LongFrame {
    /// Checks the tag, and then decrypts the body. Returns `None` if the connection is closed.
    async fn open(self, cx: &AsyncContext<Infallible>) -> Result<Option<(Kind, BytesMut)>, Error> {
        let body_bytes = self.pieces.iter().map(BytesMut::len).sum();
        let mut check = self.keys.check(body_bytes);
        for part in self
            .pieces
            .iter()
            .flat_map(|piece| piece.chunks(TURN_BYTES))
        {
            check.update(part);
            if !goes_on(cx, &self.reader).await {
                return Ok(None);
            }
        }
        check.finish(self.sequence, &self.tag)?;
        let Some(mut body) = self.decrypt(cx, body_bytes).await else {
            return Ok(None);
        };
        let kind = Kind::take_from(&mut body)?;
        Ok(Some((kind, body)))
    }

    /// Decrypts a single piece in place, and several pieces into new memory. Frees each of several
    /// pieces when it is decrypted.
    async fn decrypt(
        mut self,
        cx: &AsyncContext<Infallible>,
        body_bytes: usize,
    ) -> Option<BytesMut> {
        let mut body = match self.pieces.as_mut_slice() {
            [only] => mem::take(only),
            _ => BytesMut::with_capacity(body_bytes),
        };
        let mut from = 0;
        while from < body.len() {
            let until = body.len().min(from + TURN_BYTES);
            self.keys
                .decrypt(self.sequence, from, &mut body[from..until]);
            from = until;
            goes_on(cx, &self.reader).await.then_some(())?;
        }
        for piece in self.pieces {
            for part in piece.chunks(TURN_BYTES) {
                let from = body.len();
                body.extend_from_slice(part);
                self.keys.decrypt(self.sequence, from, &mut body[from..]);
                goes_on(cx, &self.reader).await.then_some(())?;
            }
        }
        Some(body)
    }
}

/// Lets other actors run. Returns true if the connection is still open.
async fn goes_on(cx: &AsyncContext<Infallible>, reader: &Address<Got>) -> bool {
    cx.yield_now().await;
    !reader.is_stopped()
}
