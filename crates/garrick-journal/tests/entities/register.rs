//! A durable register.

use garrick_actor::Reply;
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};

/// A register with a number, which is empty at first.
pub(crate) struct Register {
    /// True if it panics when it is set to some numbers.
    pub(crate) panics: bool,
}

/// A request to a register.
pub(crate) enum Command {
    Get(Reply<Option<u64>>),
    Put(u64, Reply<()>),
    /// Sets the number to the second one if it is the first one.
    Swap(Option<u64>, u64, Reply<bool>),
}

/// The number was set.
pub(crate) struct Set(u64);

impl Stored for Set {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for Register {
    type Msg = Command;
    type State = Option<u64>;
    type Event = Set;
    type Outcome = ();

    fn decide(&self, number: &Option<u64>, command: Command, cx: &mut Decide<'_, '_, Self>) {
        let check = |new: u64| {
            assert!(!self.panics || !new.is_multiple_of(4), "for this test");
        };
        match command {
            Command::Get(reply) => reply.send(*number),
            Command::Put(new, reply) => {
                cx.record(Set(new));
                check(new);
                reply.send(());
            }
            Command::Swap(expected, new, reply) => {
                let swaps = *number == expected;
                if swaps {
                    cx.record(Set(new));
                    check(new);
                }
                reply.send(swaps);
            }
        }
    }

    fn apply(number: &mut Option<u64>, Set(new): &Set) {
        *number = Some(*new);
    }

    const SAVE_EVERY: u64 = 3;

    fn save(number: &Option<u64>, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend((*number)?.to_le_bytes());
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Option<u64>, BoxError> {
        Ok(Some(u64::from_le_bytes(bytes.try_into()?)))
    }
}
