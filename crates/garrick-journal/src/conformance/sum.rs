//! A durable actor with states that cannot be decoded, for tests of several logs.

use garrick_actor::Reply;

use crate::{BoxError, Decide, DurableActor, EventKind, Stored};

const KIND: EventKind = EventKind { tag: 1, version: 1 };

/// A number that is encoded in eight bytes.
#[derive(Debug, Clone, Default)]
pub struct Number(pub u64);

impl Stored for Number {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        KIND
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

/// An actor that adds numbers. It cannot decode states from 15 on, and cannot save states from 100
/// on.
#[derive(Debug)]
pub struct Sum;

impl DurableActor for Sum {
    type Msg = (u64, Reply<u64>);
    type State = u64;
    type Event = Number;
    type Outcome = ();

    fn decide(&self, sum: &u64, (number, reply): Self::Msg, cx: &mut Decide<'_, '_, Self>) {
        if number > 0 {
            cx.record(Number(number));
        }
        reply.send(sum + number);
    }

    fn apply(sum: &mut u64, Number(number): &Number) {
        *sum += number;
    }

    const SAVE_EVERY: u64 = 10;

    fn save(sum: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        assert!(*sum < 100, "it is too large");
        Some(Number(*sum).encode(bytes))
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        let Number(sum) = Number::decode(kind, bytes)?;
        if sum < 15 {
            Ok(sum)
        } else {
            Err("a later version has saved it".into())
        }
    }
}
