//! The opener is an actor that checks and decrypts one long frame, in several turns. The reader
//! spawns an opener for each long frame, and waits for it.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::BytesMut;
use garrick_actor::{Address, Incoming};

use super::buffer::Got;
use super::keeper;
use crate::frame::Keys;

/// Maximum number of bytes that are checked, and that are decrypted, in one turn. A little more
/// than 256 KiB, so that a frame with a payload of 256 KiB needs only one turn.
pub(super) const TURN_BYTES: usize = 320 * 1024;

/// A complete frame that is too long to be opened in one turn. All parts of the frame are still
/// unchecked.
pub(super) struct LongFrame {
    pub(super) keys: Arc<Keys>,
    pub(super) sequence: u64,
    pub(super) body: BytesMut,
    pub(super) tag: BytesMut,
    pub(super) reader: Address<Got>,
    pub(super) keeper: Address<keeper::Msg>,
}

/// Runs the opener, the actor that checks and decrypts a long frame. Lets other actors run after
/// each step. Stops early if the connection is closed.
pub(super) async fn run(mailbox: Incoming<Infallible>, frame: LongFrame) {
    let LongFrame {
        keys,
        sequence,
        mut body,
        tag,
        reader,
        keeper,
    } = frame;
    let cx = mailbox.context();
    let mut opening = keys.check(body.len());
    while !reader.is_stopped() {
        match keys.go_on(sequence, &mut opening, &mut body, &tag, TURN_BYTES) {
            Ok(None) => cx.yield_now().await,
            Ok(Some(kind)) => {
                let _ = cx.send(&reader, Got::Opened(kind, body));
                return;
            }
            Err(error) => {
                let _ = cx.send(&keeper, keeper::Msg::Failed(error));
                return;
            }
        }
    }
}
