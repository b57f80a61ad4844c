//! The buffer: hands successive bytes to whoever asked for n, and has more read when it has too few.
//!
//! ```text
//!    [ held by others ][ bytes      ][ room ]      one allocation, as long as nobody needs more
//!    given out         ^ given next  ^ the source reads to here
//! ```
//!
//! Bytes are given out by splitting the memory that they were read into. It is used again from the front once nobody
//! holds any of it. While the source reads it has the memory, so that bytes are never copied but where the rest of a frame
//! needs more room than is left behind its beginning.

use std::collections::VecDeque;
use std::mem;

use bytes::BytesMut;
use garrick_actor::{Actor, Address, Context, Next};

use super::keeper;
use super::source::Fill;
use crate::error::Error;
use crate::options::Options;
use crate::patience::{Alarm, Patience};

/// Room for bytes of a connection that has little to say.
const ROOM_BYTES_MIN: usize = 2 * 1024;

/// What it is told.
pub(super) enum Msg {
    Get(Get),
    Filled(Filled),
    /// A frame is with nobody any more.
    PlaceFree,
    /// A timer has rung.
    Rung(u64),
}

/// Asks for so many bytes.
pub(super) struct Get {
    pub(super) bytes: usize,
    /// What the asker has, and gets back with the bytes: a behavior cannot keep what it is to change.
    pub(super) held: BytesMut,
    /// Whether these are a frame's first, and the last frame is complete.
    pub(super) begins: bool,
    pub(super) to: Address<Got>,
}

/// The answer to [`Get`].
pub(super) enum Got {
    Bytes {
        held: BytesMut,
        bytes: BytesMut,
    },
    /// The stream has ended, and only so many bytes were left.
    Ended {
        have: usize,
    },
}

/// What the source has read.
pub(super) struct Filled {
    pub(super) buffer: BytesMut,
    /// Bytes that were there before.
    pub(super) before: usize,
    /// Whether the stream goes on.
    pub(super) outcome: Result<bool, Error>,
}

/// The actor.
pub(super) struct Buffer {
    /// What has been read and not given out; with the source while that reads.
    bytes: BytesMut,
    /// Those who have asked, in order.
    asked: VecDeque<Get>,
    /// Frames that are with others.
    places_taken: u32,
    /// How much room the next read is to have.
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

    /// Gives out what it can, and has more read if that is not enough.
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
        // An asker that has stopped does not miss them.
        let _ = cx.send(&get.to, Got::Bytes { held, bytes });
    }

    /// Lends its memory to the source.
    fn fill(&mut self, get: &Get, cx: &Context<'_, Msg>) {
        let missing = get.bytes - self.bytes.len();
        // A frame has begun with its first byte; whoever waits for that must hear of it.
        let has_begun = !get.begins || !self.bytes.is_empty();
        let least = if has_begun { missing } else { 1 };
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

    /// Twice the room if the last read has filled it, half of it if most was left.
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

/// Sets a timer.
fn set(alarm: Option<Alarm>, cx: &Context<'_, Msg>) {
    if let Some(alarm) = alarm {
        let _ = cx.send_after(alarm.delay, &cx.address(), Msg::Rung(alarm.number));
    }
}
