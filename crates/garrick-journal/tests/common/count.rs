//! A durable actor that counts its events.

use garrick_actor::Reply;
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};

/// An event without content.
pub(crate) struct Added;

impl Stored for Added {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind::default()
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

/// An actor that counts its events, and saves its state after each ten of them. A message adds as
/// many events as it says.
pub(crate) struct Count;

impl DurableActor for Count {
    type Msg = (u64, Reply<u64>);
    type State = u64;
    type Event = Added;
    type Outcome = ();

    fn decide(&self, count: &u64, (adds, reply): Self::Msg, cx: &mut Decide<'_, '_, Self>) {
        (0..adds).for_each(|_| cx.record(Added));
        reply.send(count + adds);
    }

    fn apply(count: &mut u64, _: &Added) {
        *count += 1;
    }

    const SAVE_EVERY: u64 = 10;

    fn save(count: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(count.to_le_bytes());
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}
