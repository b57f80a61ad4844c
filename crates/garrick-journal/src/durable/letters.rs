//! Letters: messages from one entity to another. Each letter takes effect exactly once. The README
//! of the crate describes the steps.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use super::stored::BoxError;
use crate::event::EventKind;

/// A message to another durable actor. The letter is sent repeatedly until the receiver has
/// confirmed it. [`Decide::post`](super::Decide::post) records the letter.
/// [`DurableActor::letter`](super::DurableActor::letter) converts the letter into a message that
/// the sender itself gets. When the sender handles this message, the sender sends the content of
/// the letter to the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Letter {
    /// Name of the sender: the name of its journal.
    pub from: String,
    /// Name of the receiver, as passed to [`Decide::post`](super::Decide::post).
    pub to: String,
    /// Number that identifies the letter (this message) among all letters of the sender. Later
    /// letters have greater numbers.
    pub number: u64,
    /// The content that the receiver handles.
    pub body: Vec<u8>,
}

/// The newest handled letter (durable message) from one sender: its number, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) number: u64,
    pub(super) kind: EventKind,
    pub(super) answer: Vec<u8>,
}

/// Letters (durable messages) to other entities that are not confirmed yet, and the newest handled
/// letter from each sender.
#[derive(Debug, Default)]
pub(super) struct Letters {
    /// Unconfirmed letters (durable messages) by receiver, oldest first. Each letter is stored as
    /// its number and its content.
    outbox: BTreeMap<String, VecDeque<(u64, Vec<u8>)>>,
    /// Receivers of unconfirmed letters (durable messages), by the number of the oldest letter to
    /// each of them.
    under_way: BTreeMap<u64, String>,
    /// The newest handled letter (durable message) from each sender. The key is the name of the
    /// sender.
    inbox: BTreeMap<String, Taken>,
}

impl Letters {
    pub(super) fn is_empty(&self) -> bool {
        self.outbox.is_empty() && self.inbox.is_empty()
    }

    /// Returns true if all letters (durable messages) to other entities are confirmed.
    pub(super) fn are_delivered(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Returns the names of the receivers of unconfirmed letters (durable messages), in the order
    /// of their oldest letters.
    pub(super) fn receivers(&self) -> Vec<String> {
        self.under_way.values().cloned().collect()
    }

    /// Returns the number and the content of the oldest unconfirmed letter (durable message) to a
    /// receiver.
    pub(super) fn first(&self, to: &str) -> Option<(u64, &[u8])> {
        let (number, body) = self.outbox.get(to)?.front()?;
        Some((*number, body))
    }

    /// Returns the oldest unconfirmed letter (durable message) from the sender `from` to the
    /// receiver `to`.
    pub(super) fn letter(&self, from: &str, to: &str) -> Option<Letter> {
        let (number, body) = self.first(to)?;
        Some(Letter {
            from: from.to_owned(),
            to: to.to_owned(),
            number,
            body: body.to_vec(),
        })
    }

    /// Returns the unconfirmed letter (durable message) with this number, if it is the oldest one
    /// to its receiver. `from` is the name of the sender.
    pub(super) fn under_way(&self, from: &str, number: u64) -> Option<Letter> {
        let to = self.under_way.get(&number)?;
        self.letter(from, to)
    }

    /// Adds an unconfirmed letter (durable message) to the receiver `to`.
    pub(super) fn post(&mut self, to: String, number: u64, body: Vec<u8>) {
        let line = self.outbox.entry(to);
        if let Entry::Vacant(line) = &line {
            self.under_way.insert(number, line.key().clone());
        }
        line.or_default().push_back((number, body));
    }

    /// Removes the oldest unconfirmed letter (durable message) to the receiver `to`, if the number
    /// of this letter is `number`.
    pub(super) fn deliver(&mut self, to: &str, number: u64) {
        let Some(line) = self.outbox.get_mut(to) else {
            return;
        };
        if line.front().is_none_or(|(first, _)| *first != number) {
            return;
        }
        line.pop_front();
        self.under_way.remove(&number);
        match line.front() {
            Some((next, _)) => {
                self.under_way.insert(*next, to.to_owned());
            }
            None => {
                self.outbox.remove(to);
            }
        }
    }

    /// Returns the newest handled letter (durable message) from the sender `from`.
    pub(super) fn last(&self, from: &str) -> Option<&Taken> {
        self.inbox.get(from)
    }

    pub(super) fn take(&mut self, from: String, taken: Taken) {
        self.inbox.insert(from, taken);
    }

    /// Appends the encoding of all letters (durable messages):
    ///
    /// - the number of unconfirmed letters in 4 bytes,
    /// - for each of these letters, its receiver, its number and its content,
    /// - the number of senders from which letters were handled, in 4 bytes,
    /// - for each of these senders, its name, the number of its newest handled letter, and the
    ///   answer.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let count = self.outbox.values().map(VecDeque::len).sum::<usize>();
        bytes.extend((count as u32).to_le_bytes());
        for (to, line) in &self.outbox {
            for (number, body) in line {
                put_bytes(to.as_bytes(), bytes);
                bytes.extend(number.to_le_bytes());
                put_bytes(body, bytes);
            }
        }
        bytes.extend((self.inbox.len() as u32).to_le_bytes());
        for (from, taken) in &self.inbox {
            put_bytes(from.as_bytes(), bytes);
            taken.encode(bytes);
        }
    }

    /// Decodes letters (durable messages) at the beginning of `bytes`, and removes the decoded part
    /// from `bytes`.
    pub(super) fn decode(bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let mut letters = Self::default();
        for _ in 0..u32::from_le_bytes(take(bytes)?) {
            let to = take_text(bytes)?;
            let number = u64::from_le_bytes(take(bytes)?);
            letters.post(to, number, take_bytes(bytes)?.to_vec());
        }
        for _ in 0..u32::from_le_bytes(take(bytes)?) {
            let from = take_text(bytes)?;
            letters.take(from, Taken::decode(bytes)?);
        }
        Ok(letters)
    }
}

impl Taken {
    /// Appends the encoding of a handled letter (durable message): the number, the kind of the
    /// answer, and the answer.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.kind.tag.to_le_bytes());
        bytes.extend(self.kind.version.to_le_bytes());
        put_bytes(&self.answer, bytes);
    }

    pub(super) fn decode(bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Ok(Self {
            number: u64::from_le_bytes(take(bytes)?),
            kind: EventKind {
                tag: u16::from_le_bytes(take(bytes)?),
                version: u16::from_le_bytes(take(bytes)?),
            },
            answer: take_bytes(bytes)?.to_vec(),
        })
    }
}

/// Appends to `bytes` the length of `part` in 4 bytes, and then `part` itself.
pub(super) fn put_bytes(part: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend((part.len() as u32).to_le_bytes());
    bytes.extend(part);
}

const SHORT: &str = "the duties are not complete";

pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BoxError> {
    let (field, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
    *bytes = rest;
    Ok(*field)
}

pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], BoxError> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (part, rest) = bytes.split_at_checked(length).ok_or(SHORT)?;
    *bytes = rest;
    Ok(part)
}

pub(super) fn take_text(bytes: &mut &[u8]) -> Result<String, BoxError> {
    Ok(String::from_utf8(take_bytes(bytes)?.to_vec())?)
}

#[cfg(test)]
mod tests {
    use super::Letters;

    /// Number of receivers.
    const MANY: u64 = 5_000;

    #[test]
    fn letters_to_many_receivers_are_found_by_their_numbers() {
        let mut letters = Letters::default();
        for number in 1..=3 * MANY {
            let to = format!("to/{}", number % MANY);
            letters.post(to, number, vec![number as u8]);
        }
        let oldest: Vec<_> = (1..=MANY).map(|number| number % MANY).collect();
        let to = |number: &u64| format!("to/{number}");
        assert_eq!(
            letters.receivers(),
            oldest.iter().map(to).collect::<Vec<_>>()
        );
        for round in 0..3 {
            // Not in the order in which they were posted.
            for number in (1..=MANY).rev().map(|number| number + round * MANY) {
                let to = format!("to/{}", number % MANY);
                let letter = letters.under_way("from", number).unwrap();
                assert_eq!((&letter.to, letter.number), (&to, number));
                assert_eq!(letter.body, [number as u8]);
                assert_eq!(letters.under_way("from", number + MANY), None);
                // A letter that waits cannot be confirmed.
                letters.deliver(&to, number + MANY);
                letters.deliver(&to, number);
                assert_eq!(letters.under_way("from", number), None);
                let next = (round < 2).then_some(number + MANY);
                assert_eq!(letters.first(&to).map(|(number, _)| number), next);
            }
        }
        assert!(letters.is_empty() && letters.receivers().is_empty());
        assert!(letters.under_way.is_empty());
    }
}
