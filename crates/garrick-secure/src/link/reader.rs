//! The reader is the actor that receives the length, the body and the tag of each frame, with a
//! separate behavior for each part.
//!
//! ```text
//!    length(sequence) --- 4 bytes, checked ---> body(sequence) --- n bytes ---> tag(sequence)
//!        ^                                                                          |
//!        +------------ sequence + 1 ---- 32 bytes, checked, body decrypted ---------+
//! ```
//!
//! A behavior stores the sequence number of the expected frame. The behavior that waits for the
//! body also stores the size of the body. The reader sends the body together with its request for
//! the tag, and gets the body back with the answer.
//!
//! A long frame is checked and decrypted by another actor, the opener, in several turns. If the
//! body is even longer, the reader requests it in pieces, so that memory is allocated only while it
//! arrives. The length is not authenticated yet.

use std::mem;
use std::sync::Arc;

use bytes::BytesMut;
use garrick_actor::{Address, Behavior, BehaviorContext, InternalFunction, Next, Reply, behavior};

use super::buffer::{self, Get, Got};
use super::keeper;
use super::opener::{self, LongFrame, TURN_BYTES};
use crate::error::{Error, Part};
use crate::event::{Event, Frame, Listener};
use crate::frame::{Keys, Kind, LENGTH_BYTES, check_length};
use crate::tag::TAG_BYTES;

/// Maximum number of bytes of a body that the reader requests at once: a multiple of the cipher's
/// block. So no more memory than this is allocated for bytes that were only announced.
const PIECE_BYTES: usize = 2 * 1024 * 1024;

/// Data that all behaviors of a reader share.
pub(super) struct Known {
    pub(super) keys: Arc<Keys>,
    pub(super) body_bytes_max: u32,
    pub(super) buffer: Address<buffer::Msg>,
    pub(super) listener: Listener,
    pub(super) keeper: Address<keeper::Msg>,
}

/// The next behavior, or `None` after the last frame.
type Step = Result<Option<Behavior<Got>>, Error>;

/// Creates the first behavior of the reader (the actor that reads frames), which waits for the
/// length of a frame.
pub(super) fn reader(known: Arc<Known>) -> Behavior<Got> {
    length(known, 0)
}

/// Requests the length of the next frame from the buffer, the actor that stores received bytes.
pub(super) fn ask_for_length(buffer: &Address<buffer::Msg>, to: Address<Got>) {
    let get = Get {
        bytes: LENGTH_BYTES,
        held: BytesMut::new(),
        begins: true,
        to,
    };
    // A stopped buffer has already reported the reason.
    let _ = buffer.send(buffer::Msg::Get(get));
}

fn length(known: Arc<Known>, sequence: u64) -> Behavior<Got> {
    behavior(move |got, cx| {
        let known = &known;
        known.step(cx, |cx| {
            let (held, bytes) = match got {
                Got::Ended { have: 0 } => return Err(Error::Unfinished),
                got => taken(got, Part::Length, LENGTH_BYTES)?,
            };
            let length = bytes.first_chunk().copied().unwrap_or_default();
            let body_bytes = check_length(length, known.body_bytes_max)?;
            if body_bytes > PIECE_BYTES {
                known.get(cx, PIECE_BYTES, held);
                return Ok(Some(pieces(
                    known.clone(),
                    sequence,
                    body_bytes,
                    Vec::new(),
                )));
            }
            known.get(cx, body_bytes, held);
            Ok(Some(body(known.clone(), sequence, body_bytes)))
        })
    })
}

fn body(known: Arc<Known>, sequence: u64, body_bytes: usize) -> Behavior<Got> {
    behavior(move |got, cx| {
        let known = &known;
        known.step(cx, |cx| {
            let (_, body) = taken(got, Part::Body, body_bytes)?;
            known.get(cx, TAG_BYTES, body);
            Ok(Some(tag(known.clone(), sequence)))
        })
    })
}

fn tag(known: Arc<Known>, sequence: u64) -> Behavior<Got> {
    behavior(move |got, cx| {
        let known = &known;
        known.step(cx, |cx| {
            let (mut body, tag) = taken(got, Part::Tag, TAG_BYTES)?;
            if body.len() > TURN_BYTES {
                known.spawn_opener(cx, sequence, vec![body], tag);
                return Ok(Some(long(known.clone(), sequence)));
            }
            let kind = known.keys.open(sequence, &mut body, &tag)?;
            opened(known, cx, sequence, kind, body)
        })
    })
}

/// Waits for the next piece of a long body. `before` contains the pieces that have arrived.
fn pieces(
    known: Arc<Known>,
    sequence: u64,
    body_bytes: usize,
    mut before: Vec<BytesMut>,
) -> Behavior<Got> {
    behavior(move |got, cx| {
        let (known, mut pieces_now) = (&known, mem::take(&mut before));
        known.step(cx, |cx| {
            let have: usize = pieces_now.iter().map(BytesMut::len).sum();
            let (_, piece) = match got {
                Got::Ended { have: more } => {
                    let have = have + more;
                    taken(Got::Ended { have }, Part::Body, body_bytes)?
                }
                got => taken(got, Part::Body, body_bytes)?,
            };
            let left = body_bytes - have - piece.len();
            pieces_now.push(piece);
            if left == 0 {
                known.get(cx, TAG_BYTES, BytesMut::new());
                return Ok(Some(long_tag(known.clone(), sequence, pieces_now)));
            }
            known.get(cx, left.min(PIECE_BYTES), BytesMut::new());
            Ok(Some(pieces(
                known.clone(),
                sequence,
                body_bytes,
                pieces_now,
            )))
        })
    })
}

/// Waits for the tag of a long frame.
fn long_tag(known: Arc<Known>, sequence: u64, mut pieces: Vec<BytesMut>) -> Behavior<Got> {
    behavior(move |got, cx| {
        let (known, pieces) = (&known, mem::take(&mut pieces));
        known.step(cx, |cx| {
            let (_, tag) = taken(got, Part::Tag, TAG_BYTES)?;
            known.spawn_opener(cx, sequence, pieces, tag);
            Ok(Some(long(known.clone(), sequence)))
        })
    })
}

/// Waits until the opener (the actor that checks and decrypts a long frame) has finished.
fn long(known: Arc<Known>, sequence: u64) -> Behavior<Got> {
    behavior(move |got, cx| {
        let known = &known;
        known.step(cx, |cx| match got {
            Got::Opened(kind, payload) => opened(known, cx, sequence, kind, payload),
            Got::Bytes { .. } | Got::Ended { .. } => unreachable!("it has asked for no bytes"),
        })
    })
}

/// Delivers the payload of a frame that has passed all checks, and requests the next frame.
fn opened(
    known: &Arc<Known>,
    cx: &mut BehaviorContext<'_, Got>,
    sequence: u64,
    kind: Kind,
    payload: BytesMut,
) -> Step {
    match kind {
        Kind::Data => known.deliver(payload)?,
        Kind::End => {
            let _ = cx.send(&known.keeper, keeper::Msg::Heard);
            return Ok(None);
        }
    }
    ask_for_length(&known.buffer, cx.address());
    let next = sequence.checked_add(1).ok_or(Error::Exhausted)?;
    Ok(Some(length(known.clone(), next)))
}

/// Returns two buffers: the bytes that the reader already had, and the bytes that the reader has
/// requested. Returns an error if the stream has ended.
fn taken(got: Got, part: Part, want: usize) -> Result<(BytesMut, BytesMut), Error> {
    match got {
        Got::Bytes { held, bytes } => Ok((held, bytes)),
        Got::Ended { have } => Err(Error::Truncated { part, have, want }),
        Got::Opened(..) => unreachable!("no frame is being opened"),
    }
}

impl Known {
    /// Switches to the next behavior. Stops the reader after the last frame or an error. Reports an
    /// error to the keeper, the actor that opens and closes the connection.
    fn step(
        &self,
        cx: &mut BehaviorContext<'_, Got>,
        step: impl FnOnce(&mut BehaviorContext<'_, Got>) -> Step,
    ) -> Next {
        match step(cx) {
            Ok(Some(next)) => {
                cx.becomes_behavior(next);
                Next::Continue
            }
            Ok(None) => Next::Stop,
            Err(error) => {
                let _ = cx.send(&self.keeper, keeper::Msg::Failed(error));
                Next::Stop
            }
        }
    }

    /// Spawns the actor that checks and decrypts a long frame.
    fn spawn_opener(
        &self,
        cx: &BehaviorContext<'_, Got>,
        sequence: u64,
        pieces: Vec<BytesMut>,
        tag: BytesMut,
    ) {
        let frame = LongFrame {
            keys: self.keys.clone(),
            sequence,
            pieces,
            tag,
            reader: cx.address(),
            keeper: self.keeper.clone(),
        };
        drop(cx.spawn(InternalFunction(|mailbox| opener::run(mailbox, frame))));
    }

    fn get(&self, cx: &BehaviorContext<'_, Got>, bytes: usize, held: BytesMut) {
        let get = Get {
            bytes,
            held,
            begins: false,
            to: cx.address(),
        };
        let _ = cx.send(&self.buffer, buffer::Msg::Get(get));
    }

    fn deliver(&self, payload: BytesMut) -> Result<(), Error> {
        let place = Reply::to_task(self.buffer.clone(), |_| buffer::Msg::PlaceFree);
        let frame = Event::Frame(Frame::new(payload, place));
        self.listener
            .tell(frame)
            .then_some(())
            .ok_or(Error::Deserted)
    }
}
