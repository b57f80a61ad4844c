//! Entries of frames: messages, answers, refusals and orders.
//!
//! ```text
//! tell    | 1 | target | message 8 | body
//! answer  | 2 | question | body
//! refusal | 3 | question | why u8
//! order   | 4 | number | kind u8 | fields
//! leave   | 5
//! another | 6 | length | content         (to the target of the last message, of its type)
//! body    | replies | first question, if there are replies | refs | ref .. | length | content
//! target  | 0 | name   or   1 | slot
//! ref     | 0 | slot of the sender   or   1 | slot of the receiver
//!         | 2 | kind | key           or   3 | node | name
//! slot    | index | generation
//! ```

use std::sync::Arc;

use garrick_actor::{Ended, NoReply};
use garrick_wire::MessageId;

use super::bytes::{Bad, Reader, number_bytes, put_bytes, put_number};

const TELL: u8 = 1;
const ANSWER: u8 = 2;
const REFUSAL: u8 = 3;
const ORDER: u8 = 4;
const LEAVE: u8 = 5;
const ANOTHER: u8 = 6;

/// Maximum length in bytes of a failure message that is sent to another node.
const FAILURE_BYTES: usize = 1 << 10;

/// The place of an exported address in the table of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) index: u32,
    /// Number of earlier addresses that had the same index in the table.
    pub(crate) generation: u32,
}

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A service that the receiving node offers under this name.
    Service(&'a str),
    /// An address that the receiving node has exported.
    Slot(Slot),
}

/// An address in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ref<'a> {
    /// An address that the sending node has exported.
    Senders(Slot),
    /// An address that the receiving node has exported.
    Receivers(Slot),
    /// The entity with the given kind and key.
    Entity { kind: &'a str, key: &'a str },
    /// The service with the given name on the given node.
    Service { node: &'a str, name: &'a str },
}

/// The content of a message or of an answer, with the replies and addresses that it contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    /// Number of replies in the content. The replies answer the questions with the numbers `first`,
    /// `first + 1` and so on.
    pub(crate) replies: u32,
    pub(crate) first: u64,
    /// Number of addresses in the content.
    refs: u32,
    /// The encoded addresses in the content. Their encoding has been checked.
    listed: &'a [u8],
    pub(crate) content: &'a [u8],
}

/// A message to a receiver on the other node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) target: Target<'a>,
    /// Type of the message.
    pub(crate) of: MessageId,
    pub(crate) body: Body<'a>,
}

/// An answer to a question from the other node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) question: u64,
    pub(crate) body: Body<'a>,
}

/// An order: an entry that is sent again until it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Request to report the end of the receiver `target`.
    Watch { watch: u64, target: Owned },
    /// Request to cancel a watch.
    Unwatch { watch: u64 },
    /// Report that a watched actor of the sending node has ended.
    Ended { watch: u64, ended: Ended },
    /// Report that the end of a watched receiver of the sending node will never be reported,
    /// because the receiver has dropped the notice.
    Unheard { watch: u64 },
    /// Request to stop the receiver `target`.
    Stop { target: Owned },
    /// Report that the sending node no longer holds an address that the receiving node has
    /// exported. `travels` is the number of times that the sending node has received the address.
    Release { slot: Slot, travels: u64 },
    /// Report that the frames with the numbers `from` to `to` have not arrived.
    Lost { from: u64, to: u64 },
    /// Report that the mailbox of an actor on the sending node has become full, or has room again.
    Full { target: Owned, is_full: bool },
}

/// An owned [`Target`] (the receiver of a message), with its own copy of the name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owned {
    Service(Arc<str>),
    Slot(Slot),
}

impl Owned {
    /// Returns true if both targets are certainly the same receiver. Equal names of services are
    /// not recognized if they are separate copies.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Service(one), Self::Service(other)) => Arc::ptr_eq(one, other),
            (Self::Slot(one), Self::Slot(other)) => one == other,
            _ => false,
        }
    }

    pub(crate) fn target(&self) -> Target<'_> {
        match self {
            Self::Service(name) => Target::Service(name),
            Self::Slot(slot) => Target::Slot(*slot),
        }
    }
}

impl Target<'_> {
    fn put(self, to: &mut Vec<u8>) {
        match self {
            Self::Service(name) => {
                to.push(0);
                put_bytes(name.as_bytes(), to);
            }
            Self::Slot(slot) => {
                to.push(1);
                slot.put(to);
            }
        }
    }

    pub(crate) fn owned(self) -> Owned {
        match self {
            Self::Service(name) => Owned::Service(name.into()),
            Self::Slot(slot) => Owned::Slot(slot),
        }
    }
}

impl Slot {
    fn put(self, to: &mut Vec<u8>) {
        put_number(self.index.into(), to);
        put_number(self.generation.into(), to);
    }
}

impl Ref<'_> {
    /// Maximum number of bytes of an address that is given by a slot.
    pub(crate) const SLOT_BYTES: usize = 11;

    /// Returns the number of bytes that the address has in a frame.
    pub(crate) fn bytes(self) -> usize {
        let text = |text: &str| number_bytes(text.len() as u64) + text.len();
        let slot =
            |slot: Slot| number_bytes(slot.index.into()) + number_bytes(slot.generation.into());
        1 + match self {
            Self::Senders(found) | Self::Receivers(found) => slot(found),
            Self::Entity { kind, key } => text(kind) + text(key),
            Self::Service { node, name } => text(node) + text(name),
        }
    }

    fn put(self, to: &mut Vec<u8>) {
        match self {
            Self::Senders(slot) => {
                to.push(0);
                slot.put(to);
            }
            Self::Receivers(slot) => {
                to.push(1);
                slot.put(to);
            }
            Self::Entity { kind, key } => {
                to.push(2);
                put_bytes(kind.as_bytes(), to);
                put_bytes(key.as_bytes(), to);
            }
            Self::Service { node, name } => {
                to.push(3);
                put_bytes(node.as_bytes(), to);
                put_bytes(name.as_bytes(), to);
            }
        }
    }
}

/// The parts from which a [`Body`] (the content of a message or of an answer) is written.
#[derive(Default)]
pub(crate) struct NewBody<'a> {
    pub(crate) replies: u32,
    pub(crate) first: u64,
    pub(crate) refs: &'a [Ref<'a>],
    pub(crate) content: &'a [u8],
}

impl NewBody<'_> {
    fn put(&self, to: &mut Vec<u8>) {
        put_number(self.replies.into(), to);
        if self.replies > 0 {
            put_number(self.first, to);
        }
        put_number(self.refs.len() as u64, to);
        self.refs.iter().for_each(|found| found.put(to));
        put_bytes(self.content, to);
    }
}

/// Appends a message to the entries of a frame.
pub(crate) fn put_message(target: Target<'_>, of: MessageId, body: &NewBody<'_>, to: &mut Vec<u8>) {
    to.push(TELL);
    target.put(to);
    to.extend_from_slice(&of.to_bytes());
    body.put(to);
}

/// Appends a message that has the same target and type as the last message in the frame, and
/// contains no addresses or replies.
pub(crate) fn put_another(content: &[u8], to: &mut Vec<u8>) {
    to.push(ANOTHER);
    put_bytes(content, to);
}

/// Appends an answer to the entries of a frame.
pub(crate) fn put_answer(question: u64, body: &NewBody<'_>, to: &mut Vec<u8>) {
    to.push(ANSWER);
    put_number(question, to);
    body.put(to);
}

/// Appends the refusal of a question.
pub(crate) fn put_refusal(question: u64, why: NoReply, to: &mut Vec<u8>) {
    to.push(REFUSAL);
    put_number(question, to);
    to.push(match why {
        NoReply::NodeLost => 1,
        NoReply::Refused => 2,
        _ => 0,
    });
}

/// Appends the notice that the node of the sender leaves the cluster.
pub(crate) fn put_leave(to: &mut Vec<u8>) {
    to.push(LEAVE);
}

/// Appends an order (an entry that is sent again until it is confirmed), with its number.
pub(crate) fn put_order(number: u64, order: &Order, to: &mut Vec<u8>) {
    to.push(ORDER);
    put_number(number, to);
    match order {
        Order::Watch { watch, target } => {
            to.push(1);
            put_number(*watch, to);
            target.target().put(to);
        }
        Order::Ended { watch, ended } => {
            to.push(2);
            put_number(*watch, to);
            put_ended(ended, to);
        }
        Order::Stop { target } => {
            to.push(3);
            target.target().put(to);
        }
        Order::Release { slot, travels } => {
            to.push(4);
            slot.put(to);
            put_number(*travels, to);
        }
        Order::Lost { from, to: last } => {
            to.push(5);
            put_number(*from, to);
            put_number(*last, to);
        }
        Order::Full { target, is_full } => {
            to.push(6);
            target.target().put(to);
            to.push((*is_full).into());
        }
        Order::Unwatch { watch } => {
            to.push(7);
            put_number(*watch, to);
        }
        Order::Unheard { watch } => {
            to.push(8);
            put_number(*watch, to);
        }
    }
}

fn put_ended(ended: &Ended, to: &mut Vec<u8>) {
    let (kind, text) = match ended {
        Ended::Stopped => (0, ""),
        Ended::Failed(text) => (1, &**text),
        Ended::Unreachable => (2, ""),
        Ended::SponsorEnded => (3, ""),
        Ended::NodeLost(node) => (5, &**node),
        _ => (4, ""),
    };
    to.push(kind);
    let text = garrick_core::text::beginning(text, FAILURE_BYTES);
    put_bytes(text.as_bytes(), to);
}

/// An entry of a frame: a message, an answer, a refusal, an order, or the end of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    Tell(Message<'a>),
    /// The content of a message with the same target and type as the message before it.
    Another(&'a [u8]),
    Answer(Answer<'a>),
    Refusal {
        question: u64,
        why: NoReply,
    },
    Order {
        number: u64,
        order: Order,
    },
    /// The node of the sender leaves the cluster.
    Leave,
}

/// An iterator over the entries of a frame. It ends after an error.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Entries<'a> {
    /// Creates an iterator over `count` entries, which must fill all of `bytes`.
    pub(crate) fn new(bytes: &'a [u8], count: u32) -> Self {
        Self {
            reader: Reader(bytes),
            left: count,
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Bad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let rest = std::mem::take(&mut self.reader.0);
            return (!rest.is_empty()).then_some(Err("bytes are left after the last entry"));
        }
        self.left -= 1;
        let entry = self.reader.entry();
        if entry.is_err() {
            self.left = 0;
            self.reader.0 = &[];
        }
        Some(entry)
    }
}

impl<'a> Reader<'a> {
    fn entry(&mut self) -> Result<Entry<'a>, Bad> {
        Ok(match self.byte()? {
            TELL => {
                let target = self.target()?;
                let (of, rest) = (self.0.split_first_chunk()).ok_or("a type is not complete")?;
                self.0 = rest;
                Entry::Tell(Message {
                    target,
                    of: MessageId::from_bytes(*of),
                    body: self.body()?,
                })
            }
            ANSWER => Entry::Answer(Answer {
                question: self.number()?,
                body: self.body()?,
            }),
            REFUSAL => Entry::Refusal {
                question: self.number()?,
                why: match self.byte()? {
                    0 => NoReply::Dropped,
                    1 => NoReply::NodeLost,
                    2 => NoReply::Refused,
                    _ => return Err("a refusal has an unknown reason"),
                },
            },
            ORDER => Entry::Order {
                number: self.number()?,
                order: self.order()?,
            },
            LEAVE => Entry::Leave,
            ANOTHER => Entry::Another(self.bytes()?),
            _ => return Err("an entry is of an unknown kind"),
        })
    }

    fn order(&mut self) -> Result<Order, Bad> {
        Ok(match self.byte()? {
            1 => Order::Watch {
                watch: self.number()?,
                target: self.target()?.owned(),
            },
            2 => Order::Ended {
                watch: self.number()?,
                ended: self.ended()?,
            },
            3 => Order::Stop {
                target: self.target()?.owned(),
            },
            4 => Order::Release {
                slot: self.slot()?,
                travels: self.number()?,
            },
            5 => Order::Lost {
                from: self.number()?,
                to: self.number()?,
            },
            6 => Order::Full {
                target: self.target()?.owned(),
                is_full: match self.byte()? {
                    0 => false,
                    1 => true,
                    _ => return Err("a mailbox is neither full nor not"),
                },
            },
            7 => Order::Unwatch {
                watch: self.number()?,
            },
            8 => Order::Unheard {
                watch: self.number()?,
            },
            _ => return Err("an order is of an unknown kind"),
        })
    }

    fn ended(&mut self) -> Result<Ended, Bad> {
        let kind = self.byte()?;
        let text = self.text()?;
        if text.len() > FAILURE_BYTES {
            return Err("the message of a failure is too long");
        }
        Ok(match kind {
            0 => Ended::Stopped,
            1 => Ended::Failed(text.into()),
            2 => Ended::Unreachable,
            3 => Ended::SponsorEnded,
            4 => Ended::Before,
            5 => Ended::NodeLost(text.into()),
            _ => return Err("an end has an unknown reason"),
        })
    }

    fn target(&mut self) -> Result<Target<'a>, Bad> {
        match self.byte()? {
            0 => Ok(Target::Service(self.text()?)),
            1 => Ok(Target::Slot(self.slot()?)),
            _ => Err("a target is of an unknown kind"),
        }
    }

    fn slot(&mut self) -> Result<Slot, Bad> {
        Ok(Slot {
            index: self.small()?,
            generation: self.small()?,
        })
    }

    fn reference(&mut self) -> Result<Ref<'a>, Bad> {
        match self.byte()? {
            0 => Ok(Ref::Senders(self.slot()?)),
            1 => Ok(Ref::Receivers(self.slot()?)),
            2 => Ok(Ref::Entity {
                kind: self.text()?,
                key: self.text()?,
            }),
            3 => Ok(Ref::Service {
                node: self.text()?,
                name: self.text()?,
            }),
            _ => Err("an address is of an unknown kind"),
        }
    }

    fn body(&mut self) -> Result<Body<'a>, Bad> {
        let replies = self.small()?;
        let first = if replies > 0 { self.number()? } else { 0 };
        let refs = self.small()?;
        if first.checked_add(replies.into()).is_none() {
            return Err("a question has a number of more than 64 bits");
        }
        let before = self.0;
        for _ in 0..refs {
            self.reference()?;
        }
        let listed = &before[..before.len() - self.0.len()];
        let content = self.bytes()?;
        // Each of them has its index in the content.
        if u64::from(replies) + u64::from(refs) > content.len() as u64 {
            return Err("a message has more replies and addresses than bytes");
        }
        Ok(Body {
            replies,
            first,
            refs,
            listed,
            content,
        })
    }
}

impl<'a> Body<'a> {
    /// Returns a message body that contains no addresses and no replies.
    pub(crate) fn of(content: &'a [u8]) -> Self {
        Self {
            replies: 0,
            first: 0,
            refs: 0,
            listed: &[],
            content,
        }
    }

    /// Returns the addresses that the content contains.
    pub(crate) fn refs(&self) -> impl Iterator<Item = Ref<'a>> + use<'a> {
        let (mut reader, refs) = (Reader(self.listed), self.refs);
        // They were read before.
        (0..refs).map_while(move |_| reader.reference().ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn orders() -> Vec<Order> {
        let slot = Slot {
            index: 3,
            generation: 400,
        };
        let (slot_target, service) = (Owned::Slot(slot), Owned::Service("bank".into()));
        let ends = [
            Ended::Stopped,
            Ended::Failed("a bug".into()),
            Ended::Unreachable,
            Ended::SponsorEnded,
            Ended::Before,
            Ended::NodeLost("a".into()),
        ];
        let mut orders: Vec<_> = ends
            .into_iter()
            .map(|ended| Order::Ended { watch: 1, ended })
            .collect();
        orders.extend([
            Order::Watch {
                watch: 7,
                target: slot_target.clone(),
            },
            Order::Unwatch { watch: 8 },
            Order::Unheard { watch: 9 },
            Order::Full {
                target: service.clone(),
                is_full: true,
            },
            Order::Stop { target: service },
            Order::Stop {
                target: slot_target,
            },
            Order::Release { slot, travels: 9 },
            Order::Lost { from: 1, to: 300 },
        ]);
        orders
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let slot = Slot {
            index: 1,
            generation: 2,
        };
        let (kind, key, node, name) = ("account", "alice/1", "bank-1", "counter");
        let refs = [
            Ref::Senders(slot),
            Ref::Receivers(slot),
            Ref::Entity { kind, key },
            Ref::Service { node, name },
        ];
        let body = NewBody {
            replies: 2,
            first: 500,
            refs: &refs,
            content: b"content",
        };
        let (mut bytes, of) = (Vec::new(), MessageId::of("a"));
        put_message(Target::Service("bank"), of, &body, &mut bytes);
        put_answer(70, &body, &mut bytes);
        put_refusal(71, NoReply::Refused, &mut bytes);
        let orders = orders();
        for (number, order) in orders.iter().enumerate() {
            put_order(number as u64, order, &mut bytes);
        }
        put_leave(&mut bytes);
        put_another(b"more", &mut bytes);
        let count = 5 + orders.len() as u32;
        let entries: Result<Vec<_>, _> = Entries::new(&bytes, count).collect();
        let entries = entries.unwrap();
        let Entry::Tell(tell) = &entries[0] else {
            panic!("{entries:?}")
        };
        assert_eq!((tell.target, tell.of), (Target::Service("bank"), of));
        let Entry::Answer(answer) = &entries[1] else {
            panic!("{entries:?}")
        };
        assert_eq!((answer.question, answer.body), (70, tell.body));
        assert_eq!(tell.body.refs().collect::<Vec<_>>(), refs);
        assert_eq!((tell.body.first, tell.body.content), (500, &b"content"[..]));
        let refusal = Entry::Refusal {
            question: 71,
            why: NoReply::Refused,
        };
        assert_eq!(entries[2], refusal);
        for (number, order) in orders.into_iter().enumerate() {
            let number = number as u64;
            assert_eq!(entries[3 + number as usize], Entry::Order { number, order });
        }
        assert_eq!(entries[entries.len() - 2], Entry::Leave);
        assert_eq!(entries.last(), Some(&Entry::Another(b"more")));
        // What is cut, or has more, is an error.
        for length in 0..bytes.len() {
            assert!(Entries::new(&bytes[..length], count).any(|entry| entry.is_err()));
        }
        assert!(Entries::new(&bytes, count - 1).any(|entry| entry.is_err()));
    }

    #[test]
    fn a_long_message_of_a_failure_is_cut() {
        let order = Order::Ended {
            watch: 1,
            ended: Ended::Failed("ä".repeat(1_000).into()),
        };
        let mut bytes = Vec::new();
        put_order(1, &order, &mut bytes);
        let entry = Entries::new(&bytes, 1).next().unwrap().unwrap();
        let ended = Ended::Failed("ä".repeat(512).into());
        let order = Order::Ended { watch: 1, ended };
        assert_eq!(entry, Entry::Order { number: 1, order });
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>, count: u32) {
            let mut read = 0;
            for entry in Entries::new(&bytes, count) {
                read += 1;
                if let Ok(Entry::Tell(tell)) = entry {
                    tell.body.refs().for_each(drop);
                }
            }
            prop_assert!(read <= bytes.len() + 1);
        }
    }
}
