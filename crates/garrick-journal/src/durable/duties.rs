//! Duties of an entity: effects and reminders that its turns have requested, and that are not done
//! yet.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::letters::{Letters, Taken, put_bytes, take, take_text};
use super::stored::BoxError;
use crate::event::EventKind;

/// Smallest tag of the events that only this crate records.
pub(super) const RESERVED: u16 = 0xFF00;

/// Kind (tag and version) of the events that contain a [`Change`].
pub(super) const CHANGE: EventKind = EventKind {
    tag: u16::MAX,
    version: 1,
};

/// Maximum length of a key in bytes.
pub(super) const KEY_BYTES_MAX: usize = 255;

/// An effect or a reminder that is due. [`DurableActor::due`](super::DurableActor::due) converts it
/// into a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Due {
    /// Key with which the effect or reminder was requested.
    pub key: String,
    /// Sequence number of the event that has requested the effect or reminder. All repetitions of a
    /// request have the same number, and no other request of the entity has this number. So a
    /// service outside of the process can recognize repetitions by the name of the entity together
    /// with this number.
    pub number: u64,
    /// Time of a reminder. `None` for an effect.
    pub at: Option<SystemTime>,
}

/// A change to the effects, reminders and letters of an entity. A letter is a durable message to
/// another entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// The effect with this key is requested.
    Once(String),
    /// The reminder with this key is set to a time in nanoseconds since the epoch.
    Remind(String, u64),
    /// The effect or reminder with this key is done.
    Done(String),
    /// A letter (durable message) must be sent. Contains the receiver and the content.
    Post(String, Vec<u8>),
    /// The receiver has confirmed a letter (durable message). Contains the receiver and the number
    /// of the letter.
    Delivered(String, u64),
    /// A letter (durable message) from another entity was handled. Contains the sender, the number
    /// of the letter, and the answer.
    Took(String, Taken),
    /// Changes nothing. After an entity has appended this change, the log refuses events of writers
    /// that have not read this change.
    Fence,
}

const ONCE: u8 = 1;
const REMIND: u8 = 2;
const DONE: u8 = 3;
const FENCE: u8 = 4;
const POST: u8 = 5;
const DELIVERED: u8 = 6;
const TOOK: u8 = 7;

/// Bit in the encoded number of duties (unfinished effects and reminders). If the bit is set, the
/// encoded letters (durable messages between entities) follow the duties. Encodings of earlier
/// versions do not contain letters.
const LETTERS: u32 = 1 << 31;

impl Change {
    /// Returns the key of the effect or reminder that this change is about. Returns `None` if the
    /// change is about something else.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Once(key) | Self::Remind(key, _) | Self::Done(key) => Some(key),
            Self::Fence | Self::Post(..) | Self::Delivered(..) | Self::Took(..) => None,
        }
    }

    /// Appends the encoding of the change: first the kind of the change, and then its contents. The
    /// contents of [`Change::Remind`] are the time and the key. The contents of [`Change::Once`]
    /// and [`Change::Done`] are the key. The contents of the changes for letters are the fields of
    /// the letter.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Post(to, body) => {
                bytes.push(POST);
                put_bytes(to.as_bytes(), bytes);
                return bytes.extend(body);
            }
            Self::Delivered(to, number) => {
                bytes.push(DELIVERED);
                bytes.extend(number.to_le_bytes());
                return bytes.extend(to.as_bytes());
            }
            Self::Took(from, taken) => {
                bytes.push(TOOK);
                taken.encode(bytes);
                return bytes.extend(from.as_bytes());
            }
            Self::Once(_) => bytes.push(ONCE),
            Self::Remind(_, at) => {
                bytes.push(REMIND);
                bytes.extend(at.to_le_bytes());
            }
            Self::Done(_) => bytes.push(DONE),
            Self::Fence => bytes.push(FENCE),
        }
        bytes.extend(self.key().unwrap_or_default().as_bytes());
    }

    pub(super) fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let (change, mut rest) = bytes.split_first().ok_or("a duty without a kind")?;
        let key = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
        match (kind.version, *change) {
            (1, ONCE) => Ok(Self::Once(key(rest)?)),
            (1, REMIND) => {
                let (at, rest) = rest
                    .split_first_chunk()
                    .ok_or("a reminder without a time")?;
                Ok(Self::Remind(key(rest)?, u64::from_le_bytes(*at)))
            }
            (1, DONE) => Ok(Self::Done(key(rest)?)),
            (1, FENCE) if rest.is_empty() => Ok(Self::Fence),
            (1, POST) => Ok(Self::Post(take_text(&mut rest)?, rest.to_vec())),
            (1, DELIVERED) => {
                let number = u64::from_le_bytes(take(&mut rest)?);
                Ok(Self::Delivered(key(rest)?, number))
            }
            (1, TOOK) => {
                let taken = Taken::decode(&mut rest)?;
                Ok(Self::Took(key(rest)?, taken))
            }
            _ => Err("another version of Garrick has written it".into()),
        }
    }
}

/// A duty: an effect or a reminder that is not done.
#[derive(Debug)]
struct Duty {
    /// Sequence number of the event that has requested the effect or reminder.
    number: u64,
    /// Time of a reminder in nanoseconds since the epoch.
    at: Option<u64>,
}

/// The unfinished effects and reminders of an entity by their keys, and the letters (durable
/// messages) to and from other entities.
#[derive(Debug, Default)]
pub(super) struct Duties(BTreeMap<String, Duty>, Letters);

impl Duties {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Returns true if the effect or reminder of `due` is neither done nor replaced.
    pub(super) fn has(&self, due: &Due) -> bool {
        self.0
            .get(&due.key)
            .is_some_and(|duty| duty.number == due.number)
    }

    /// Applies the change of the event with the number `number`.
    pub(super) fn apply(&mut self, number: u64, change: Change) {
        match change {
            Change::Done(key) => {
                self.0.remove(&key);
            }
            Change::Once(key) => {
                self.0.insert(key, Duty { number, at: None });
            }
            Change::Remind(key, at) => {
                let at = Some(at);
                self.0.insert(key, Duty { number, at });
            }
            Change::Post(to, body) => {
                self.1.post(to, number, body);
            }
            Change::Delivered(to, number) => self.1.deliver(&to, number),
            Change::Took(from, taken) => self.1.take(from, taken),
            Change::Fence => {}
        }
    }

    /// Returns true if there is nothing to do: no effect, no reminder and no unconfirmed letter.
    pub(super) fn are_done(&self) -> bool {
        self.0.is_empty() && self.1.are_delivered()
    }

    pub(super) fn letters(&self) -> &Letters {
        &self.1
    }

    /// Returns the effect or reminder with the given key, in the form that is passed to the actor.
    pub(super) fn due(&self, key: &str) -> Option<Due> {
        let duty = self.0.get(key)?;
        Some(Due {
            key: key.to_owned(),
            number: duty.number,
            at: duty.at.map(|at| UNIX_EPOCH + Duration::from_nanos(at)),
        })
    }

    /// Returns the keys of all effects and reminders that are not done: effects in the order of
    /// their requests, and then reminders in the order of their times.
    pub(super) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> = self.0.iter().collect();
        keys.sort_by_key(|(_, duty)| (duty.at, duty.number));
        keys.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Appends the encoding of all duties: the number of duties in 4 bytes, and then for each duty
    /// the number of its event, its time or 0, the length of its key in 2 bytes, and the key. If
    /// there are letters, sets the bit [`LETTERS`] of the number of duties, and appends the
    /// letters.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let letters = if self.1.is_empty() { 0 } else { LETTERS };
        bytes.extend((self.0.len() as u32 | letters).to_le_bytes());
        for (key, duty) in &self.0 {
            bytes.extend(duty.number.to_le_bytes());
            // A time of 0 would be in the year 1970.
            bytes.extend(duty.at.unwrap_or(0).to_le_bytes());
            bytes.extend((key.len() as u16).to_le_bytes());
            bytes.extend(key.as_bytes());
        }
        if !self.1.is_empty() {
            self.1.encode(bytes);
        }
    }

    /// Decodes effects, reminders and letters (durable messages) from the beginning of a byte
    /// slice. Returns the rest of the slice.
    pub(super) fn decode(mut bytes: &[u8]) -> Result<(Self, &[u8]), BoxError> {
        let mut duties = BTreeMap::new();
        let count = u32::from_le_bytes(take(&mut bytes)?);
        for _ in 0..count & !LETTERS {
            let number = u64::from_le_bytes(take(&mut bytes)?);
            let at = Some(u64::from_le_bytes(take(&mut bytes)?)).filter(|at| *at > 0);
            let length = u16::from_le_bytes(take(&mut bytes)?).into();
            let (key, rest) = bytes.split_at_checked(length).ok_or(SHORT)?;
            bytes = rest;
            let key = String::from_utf8(key.to_vec())?;
            duties.insert(key, Duty { number, at });
        }
        let letters = match count & LETTERS {
            0 => Letters::default(),
            _ => Letters::decode(&mut bytes)?,
        };
        Ok((Self(duties, letters), bytes))
    }
}

const SHORT: &str = "the duties are not complete";

/// Returns a time in nanoseconds since the epoch. A time before 1970 or after 2554 is changed to
/// the nearest one that can be stored.
pub(super) fn nanos_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::letters::Taken;
    use super::{CHANGE, Change, Duties};
    use crate::event::EventKind;

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            "[a-d]{0,2}".prop_map(Change::Once),
            ("[a-d]{0,2}", 1..9_u64).prop_map(|(key, at)| Change::Remind(key, at)),
            "[a-d]{0,2}".prop_map(Change::Done),
            Just(Change::Fence),
            ("[a-d]", any::<Vec<u8>>()).prop_map(|(to, body)| Change::Post(to, body)),
            ("[a-d]", 1..9_u64).prop_map(|(to, number)| Change::Delivered(to, number)),
            ("[a-d]", 1..9_u64, any::<Vec<u8>>()).prop_map(|(from, number, answer)| {
                let kind = EventKind { tag: 1, version: 2 };
                Change::Took(
                    from,
                    Taken {
                        number,
                        kind,
                        answer,
                    },
                )
            }),
        ];
        prop::collection::vec(change, 0..20)
    }

    proptest! {
        #[test]
        fn duties_are_read_as_they_were_written(changes in changes(), behind: Vec<u8>) {
            let mut duties = Duties::default();
            for (number, change) in (1..).zip(changes) {
                let mut bytes = Vec::new();
                change.encode(&mut bytes);
                prop_assert_eq!(Change::decode(CHANGE, &bytes).unwrap(), change.clone());
                let is_done = matches!(change, Change::Done(_));
                let key = change.key().map(str::to_owned);
                duties.apply(number, change);
                if let Some(key) = key {
                    prop_assert_eq!(duties.contains(&key), !is_done);
                }
            }
            let mut bytes = Vec::new();
            duties.encode(&mut bytes);
            let length = bytes.len();
            bytes.extend(&behind);
            let (read, rest) = Duties::decode(&bytes).unwrap();
            prop_assert_eq!(rest, behind);
            prop_assert_eq!(read.keys(), duties.keys());
            for key in read.keys() {
                prop_assert_eq!(read.due(&key), duties.due(&key));
            }
            prop_assert_eq!(read.letters().receivers(), duties.letters().receivers());
            for name in ["a", "b", "c", "d"] {
                prop_assert_eq!(read.letters().first(name), duties.letters().first(name));
                prop_assert_eq!(read.letters().last(name), duties.letters().last(name));
            }
            for cut in 0..length {
                prop_assert!(Duties::decode(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_can_be_decoded(bytes: Vec<u8>) {
            let _ = Duties::decode(&bytes);
            let _ = Change::decode(CHANGE, &bytes);
        }
    }
}
