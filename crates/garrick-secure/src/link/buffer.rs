//! The buffer is an actor that passes received bytes, in order, to other actors that request them.
//! If the buffer has too few bytes, it lets the source, the actor that reads from the transport,
//! read more.
//!
//! ```text
//!    [ held by others ][ bytes      ][ room ]      one allocation, unless more room is needed
//!    given out         ^ given next  ^ the source reads to here
//! ```
//!
//! The buffer passes bytes on by splitting off the memory that they were read into. When nothing
//! refers to this memory any more, the buffer reuses the memory from its beginning. While the
//! source reads, the source owns the memory. Bytes are copied in only one case: if the memory
//! behind the beginning of a frame is too small for the rest of the frame, or for the next piece of
//! a long frame.

use std::collections::VecDeque;
use std::mem;

use bytes::BytesMut;
use garrick_actor::{Actor, Address, Context, Next};

use super::keeper;
use super::source::Fill;
use crate::error::Error;
use crate::frame::Kind;
use crate::options::Options;
use crate::patience::{Alarm, Patience};

/// Initial and minimum capacity of the buffer in bytes. With little traffic, the capacity stays at
/// this minimum.
const ROOM_BYTES_MIN: usize = 2 * 1024;

/// Maximum number of bytes that the source must read before it returns the memory. So a long frame
/// needs several reads, between which other actors run.
const LEAST_BYTES_MAX: usize = 512 * 1024;

/// A message to the buffer, the actor that passes received bytes on.
pub(super) enum Msg {
    Get(Get),
    Filled(Filled),
    /// The listener has dropped a frame, so a place in the window (the frames that the listener may
    /// hold) is free.
    PlaceFree,
    /// The timer with this number has expired.
    Rung(u64),
}

/// A request to the buffer (the actor that passes received bytes on) for a number of bytes.
pub(super) struct Get {
    pub(super) bytes: usize,
    /// Bytes that the requester already has: the encrypted body of a frame. The answer contains
    /// these bytes again, so that the requester can decrypt them in place.
    pub(super) held: BytesMut,
    /// True if the requested bytes are the beginning of a frame. In this case, the previous frame
    /// is complete.
    pub(super) begins: bool,
    pub(super) to: Address<Got>,
}

/// A message to the reader: the answer to a [`Get`], or a long frame.
pub(super) enum Got {
    Bytes {
        held: BytesMut,
        bytes: BytesMut,
    },
    /// The stream has ended, and only `have` bytes were available.
    Ended {
        have: usize,
    },
    /// A long frame has passed all checks. Sent by the opener, the actor that checks and decrypts
    /// the frame.
    Opened(Kind, BytesMut),
}

/// Result of a read by the source, the actor that reads from the transport.
pub(super) struct Filled {
    pub(super) buffer: BytesMut,
    /// Number of bytes in the buffer before the read.
    pub(super) before: usize,
    /// `Ok(true)` if the stream continues, and `Ok(false)` if the stream has ended.
    pub(super) outcome: Result<bool, Error>,
}

/// The actor that requests bytes from the source (the actor that reads from the transport), stores
/// them, and passes them on to other actors.
pub(super) struct Buffer {
    /// Bytes that have been read, but not passed on. Empty while the source reads, because the
    /// source owns the memory during this time.
    bytes: BytesMut,
    /// Requests for bytes that are not answered yet, in the order of their arrival.
    asked: VecDeque<Get>,
    /// Number of frames in the window ([`Options::window`]): the frame that is being read, and the
    /// frames that the listener has not dropped yet.
    places_taken: u32,
    /// Maximum number of bytes for the next read.
    room_bytes: usize,
    is_filling: bool,
    has_ended: bool,
    patience: Patience,
    options: Options,
    source: Address<Fill>,
    keeper: Address<keeper::Msg>,
}

impl Buffer {
    pub(super) fn new(
        options: Options,
        source: Address<Fill>,
        keeper: Address<keeper::Msg>,
    ) -> Self {
        Self {
            bytes: BytesMut::new(),
            asked: VecDeque::with_capacity(1),
            places_taken: 0,
            room_bytes: ROOM_BYTES_MIN.min(options.read_bytes_max),
            is_filling: false,
            has_ended: false,
            patience: Patience::new(options.frame_timeout, options.silence_timeout),
            options,
            source,
            keeper,
        }
    }

    /// Answers all requests for which the buffer has enough bytes. If the next request needs more
    /// bytes, starts a read.
    fn serve(&mut self, cx: &Context<'_, Msg>) {
        while !self.is_filling
            && let Some(next) = self.asked.pop_front()
        {
            if next.begins && self.places_taken == self.options.window {
                return self.asked.push_front(next);
            }
            if self.bytes.len() >= next.bytes {
                self.give(next, cx);
            } else if self.has_ended {
                let have = self.bytes.len();
                let _ = cx.send(&next.to, Got::Ended { have });
            } else {
                self.fill(&next, cx);
                self.asked.push_front(next);
            }
        }
    }

    fn give(&mut self, get: Get, cx: &Context<'_, Msg>) {
        let bytes = self.bytes.split_to(get.bytes);
        self.places_taken += u32::from(get.begins);
        let held = get.held;
        // If the requester has stopped, the bytes are dropped.
        let _ = cx.send(&get.to, Got::Bytes { held, bytes });
    }

    /// Passes the buffer's memory to the source, the actor that reads bytes from the transport. The
    /// source reads into this memory.
    fn fill(&mut self, get: &Get, cx: &Context<'_, Msg>) {
        let missing = get.bytes - self.bytes.len();
        // A frame begins with its first byte, which must be reported to start the time limit of the
        // frame.
        let has_begun = !get.begins || !self.bytes.is_empty();
        let least = if has_begun {
            missing.min(LEAST_BYTES_MAX)
        } else {
            1
        };
        self.bytes.reserve(missing.max(self.room_bytes / 2));
        let fill = Fill {
            buffer: mem::take(&mut self.bytes),
            least,
            to: cx.address(),
        };
        self.is_filling = true;
        let alarm = self.patience.wait(cx.now(), has_begun);
        set(alarm, cx);
        let _ = cx.send(&self.source, fill);
    }

    fn filled(&mut self, filled: Filled) -> Result<(), Error> {
        let read = filled.buffer.len() - filled.before;
        self.fit_room(read, filled.buffer.capacity() == filled.buffer.len());
        self.bytes = filled.buffer;
        self.is_filling = false;
        self.patience.served();
        self.has_ended = !filled.outcome?;
        Ok(())
    }

    /// Adapts the maximum number of bytes per read. Doubles the maximum if the latest read has
    /// filled the buffer. Halves the maximum if the latest read was much shorter than the maximum.
    fn fit_room(&mut self, read: usize, is_full: bool) {
        if is_full {
            self.room_bytes = (2 * self.room_bytes).min(self.options.read_bytes_max);
        } else if read < self.room_bytes / 8 {
            let least = ROOM_BYTES_MIN.min(self.options.read_bytes_max);
            self.room_bytes = (self.room_bytes / 2).max(least);
        }
    }

    fn handle(&mut self, msg: Msg, cx: &Context<'_, Msg>) -> Result<(), Error> {
        match msg {
            Msg::Get(get) => {
                if get.begins {
                    self.patience.complete();
                }
                self.asked.push_back(get);
            }
            Msg::Filled(filled) => self.filled(filled)?,
            Msg::PlaceFree => self.places_taken -= 1,
            Msg::Rung(number) => set(self.patience.ring(number, cx.now())?, cx),
        }
        self.serve(cx);
        Ok(())
    }
}

impl Actor for Buffer {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        if let Err(error) = self.handle(msg, cx) {
            let _ = cx.send(&self.keeper, keeper::Msg::Failed(error));
            return Next::Stop;
        }
        Next::Continue
    }
}

/// Sets the given timer, if there is one.
fn set(alarm: Option<Alarm>, cx: &Context<'_, Msg>) {
    if let Some(alarm) = alarm {
        let _ = cx.send_after(alarm.delay, &cx.address(), Msg::Rung(alarm.number));
    }
}
