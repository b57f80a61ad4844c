//! The content of messages: batches of events of a journal, and saved states.
//!
//! | part of a batch | bytes |
//! | --- | --- |
//! | `gEv1` | 4 |
//! | CRC-32C of the following bytes | 4 |
//! | number of the writer, number of the group | 8, 8 |
//! | sequence number of the message before this one in the journal | 8 |
//! | number of the newest event, including this batch | 8 |
//! | number of the newest whole event, sequence number of a message before this event | 8, 8 |
//! | number of events | 4 |
//! | each event: tag, version, 1 if it is whole, length, payload | 2, 2, 1, 4, ... |
//!
//! | part of a saved state | bytes |
//! | --- | --- |
//! | `gSt1` | 4 |
//! | CRC-32C of the following bytes | 4 |
//! | number of the writer, number of the group | 8, 8 |
//! | this state: number of its event, sequence number up to which it covers all messages | 8, 8 |
//! | the state before it: the same two numbers | 8, 8 |
//! | tag, version | 2, 2 |
//! | the state itself | ... |
//!
//! All numbers are little-endian. A *whole* event contains the whole state of its entity. A batch
//! without events is a *fence*: its only effect is that earlier attempts of other writers fail.

use garrick_journal::{Event, EventKind};

/// First bytes of a batch, with the version of the format.
const BATCH: &[u8; 4] = b"gEv1";

/// First bytes of a saved state.
const STATE: &[u8; 4] = b"gSt1";

/// Length of a batch without events, in bytes.
pub(super) const HEAD_BYTES: usize = 60;

/// Length of a message with a saved state, without the state itself, in bytes.
pub(super) const STATE_BYTES: usize = 60;

/// Length of an event without its payload, in bytes.
pub(super) const EVENT_BYTES: usize = 9;

/// Identity of a message: a random number of the writer, and a number that the writer has given to
/// the content of the message (a group, a fence or a saved state).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageOf {
    pub(super) writer: u64,
    pub(super) group: u64,
}

/// The head of a batch. (A batch is a message with events of one journal.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) of: MessageOf,
    /// Sequence number of the previous message of the journal. 0 if there is no previous message.
    pub(super) after: u64,
    /// Number of the newest event of the journal, including this batch.
    pub(super) newest: u64,
    /// Number of the journal's newest whole event (an event that contains the whole state), or 0.
    pub(super) whole: u64,
    /// Sequence number of a message. This message is older than the newest whole event (an event
    /// that contains the whole state) of the journal.
    pub(super) whole_after: u64,
    /// Number of events in the batch.
    pub(super) count: u32,
}

impl Head {
    /// Returns the number of the first event in the batch.
    pub(super) fn first(&self) -> u64 {
        self.newest + 1 - u64::from(self.count)
    }

    /// Returns the content of a message. `bytes` contains the events that [`put_event`] has added.
    pub(super) fn seal(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend_from_slice(BATCH);
        head.extend_from_slice(&[0; 4]);
        for number in [
            self.of.writer,
            self.of.group,
            self.after,
            self.newest,
            self.whole,
            self.whole_after,
        ] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head.extend_from_slice(&self.count.to_le_bytes());
        bytes[..HEAD_BYTES].copy_from_slice(&head);
        sign(&mut bytes);
        bytes
    }

    /// Reads the head and the events of a batch.
    pub(super) fn read(content: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut rest = check(content, BATCH)?;
        let head = Self {
            of: MessageOf {
                writer: take_u64(&mut rest)?,
                group: take_u64(&mut rest)?,
            },
            after: take_u64(&mut rest)?,
            newest: take_u64(&mut rest)?,
            whole: take_u64(&mut rest)?,
            whole_after: take_u64(&mut rest)?,
            count: take_u32(&mut rest)?,
        };
        if u64::from(head.count) > head.newest || head.whole > head.newest {
            return Err("its numbers are wrong");
        }
        Ok((head, rest))
    }
}

/// Returns a buffer for a batch. The buffer begins with space for the head.
pub(super) fn empty_batch() -> Vec<u8> {
    vec![0; HEAD_BYTES]
}

/// Adds an event to a batch. The event must be smaller than 4 GiB.
pub(super) fn put_event(event: &Event<'_>, to: &mut Vec<u8>) {
    to.extend_from_slice(&event.kind.tag.to_le_bytes());
    to.extend_from_slice(&event.kind.version.to_le_bytes());
    to.push(event.is_whole.into());
    to.extend_from_slice(&(event.payload.len() as u32).to_le_bytes());
    to.extend_from_slice(event.payload);
}

/// Takes the next event of a batch. The event gets the number `number`.
pub(super) fn take_event<'a>(rest: &mut &'a [u8], number: u64) -> Result<Event<'a>, &'static str> {
    let kind = take_kind(rest)?;
    let is_whole = take(rest, 1)? == [1];
    let length = take_u32(rest)? as usize;
    Ok(Event {
        number,
        kind,
        is_whole,
        payload: take(rest, length)?,
    })
}

/// Head of a saved state: all data except the state itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateHead {
    pub(super) of: MessageOf,
    /// Positions of this saved state and of the state before it. Each position consists of the
    /// number of the last event in the state, and of a sequence number: messages up to this
    /// sequence number contain no later events.
    pub(super) marks: [Mark; 2],
    pub(super) kind: EventKind,
}

/// A position in a journal. `number` is the number of an event. `covers` is the sequence number of
/// a message. No message up to `covers` contains an event with a number above `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) number: u64,
    pub(super) covers: u64,
}

impl StateHead {
    /// Returns the content of a message that stores the saved state `state`.
    pub(super) fn seal(&self, state: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(STATE_BYTES + state.len());
        bytes.extend_from_slice(STATE);
        bytes.extend_from_slice(&[0; 4]);
        let [this, before] = self.marks;
        for number in [
            self.of.writer,
            self.of.group,
            this.number,
            this.covers,
            before.number,
            before.covers,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.kind.tag.to_le_bytes());
        bytes.extend_from_slice(&self.kind.version.to_le_bytes());
        bytes.extend_from_slice(state);
        sign(&mut bytes);
        bytes
    }

    /// Reads the head of a saved state. Returns the head and the state.
    pub(super) fn read(content: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut rest = check(content, STATE)?;
        let of = MessageOf {
            writer: take_u64(&mut rest)?,
            group: take_u64(&mut rest)?,
        };
        let mut mark = || -> Result<Mark, &'static str> {
            Ok(Mark {
                number: take_u64(&mut rest)?,
                covers: take_u64(&mut rest)?,
            })
        };
        let marks = [mark()?, mark()?];
        let kind = take_kind(&mut rest)?;
        Ok((Self { of, marks, kind }, rest))
    }
}

/// Writes the checksum into a message.
fn sign(bytes: &mut [u8]) {
    let checksum = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// Checks the beginning and the checksum of a message. Returns the bytes after the checksum.
fn check<'a>(content: &'a [u8], begins: &[u8; 4]) -> Result<&'a [u8], &'static str> {
    let mut rest = content;
    if take(&mut rest, 4)? != begins {
        return Err("it was not written by this version of Garrick");
    }
    let checksum = take_u32(&mut rest)?;
    if checksum != crc32c::crc32c(rest) {
        return Err("its checksum is wrong");
    }
    Ok(rest)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], &'static str> {
    let taken = rest.split_off(..length);
    taken.ok_or("it is too short")
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, &'static str> {
    let bytes = take(rest, 4)?.try_into();
    bytes.map(u32::from_le_bytes).map_err(|_| "it is too short")
}

fn take_u64(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let bytes = take(rest, 8)?.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| "it is too short")
}

fn take_kind(rest: &mut &[u8]) -> Result<EventKind, &'static str> {
    let mut number = || -> Result<u16, &'static str> {
        let bytes = take(rest, 2)?.try_into();
        bytes.map(u16::from_le_bytes).map_err(|_| "it is too short")
    };
    Ok(EventKind {
        tag: number()?,
        version: number()?,
    })
}

#[cfg(test)]
mod tests {
    use garrick_journal::{Event, EventKind};

    use super::{EVENT_BYTES, HEAD_BYTES, Head, Mark, MessageOf, STATE_BYTES, StateHead};
    use super::{empty_batch, put_event, take_event};

    const OF: MessageOf = MessageOf {
        writer: u64::MAX,
        group: 7,
    };

    #[test]
    fn a_batch_is_read_as_it_was_written_or_refused() {
        let event = |number, payload| Event {
            number,
            kind: EventKind { tag: 3, version: 4 },
            is_whole: number == 9,
            payload,
        };
        let events = [event(8, b"eight"), event(9, b"")];
        let mut batch = empty_batch();
        events.iter().for_each(|event| put_event(event, &mut batch));
        let head = Head {
            of: OF,
            after: 5,
            newest: 9,
            whole: 9,
            whole_after: 5,
            count: 2,
        };
        let content = head.seal(batch);
        assert_eq!(content.len(), HEAD_BYTES + 2 * EVENT_BYTES + 5);
        let (read, mut rest) = Head::read(&content).unwrap();
        assert_eq!((read, read.first()), (head, 8));
        for event in events {
            assert_eq!(take_event(&mut rest, event.number), Ok(event));
        }
        assert!(rest.is_empty() && take_event(&mut rest, 10).is_err());
        for at in 0..content.len() {
            let mut changed = content.clone();
            changed[at] ^= 1;
            assert!(Head::read(&changed).is_err(), "byte {at}");
            assert!(Head::read(&content[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written_or_refused() {
        let mark = |number| Mark {
            number,
            covers: number + 100,
        };
        let head = StateHead {
            of: OF,
            marks: [mark(8), mark(3)],
            kind: EventKind { tag: 1, version: 2 },
        };
        let content = head.seal(b"state");
        assert_eq!(content.len(), STATE_BYTES + 5);
        assert_eq!(StateHead::read(&content), Ok((head, &b"state"[..])));
        for at in 0..content.len() {
            let mut changed = content.clone();
            changed[at] ^= 0x80;
            assert!(StateHead::read(&changed).is_err(), "byte {at}");
        }
    }
}
