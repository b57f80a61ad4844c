//! A durable register, whose journal is in a log that all nodes share.

use garrick_actor::Reply;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, Wire};
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};

pub(crate) const REGISTER: Kind<Access> = Kind::new("register");

/// A call of a register.
#[derive(Wire)]
#[wire(name = "test.Access", context = Carrier)]
pub(crate) enum Access {
    Get(Reply<Option<u64>>),
    Put {
        new: u64,
        reply: Reply<()>,
    },
    Swap {
        expected: Option<u64>,
        new: u64,
        reply: Reply<bool>,
    },
}

struct Register;

/// Runs registers on a node. Their journals refuse earlier owners. If `is_fenced` is true, the kind
/// is fenced.
pub(crate) fn host(entities: &Entities, journal: Journal, options: KindOptions, is_fenced: bool) {
    let options = if is_fenced { options.fenced() } else { options };
    let make = move |key: &str| {
        let entity = journal.entity(format!("register/{key}"), Register);
        entity.unwrap().fenced()
    };
    entities.host(REGISTER, options, make).unwrap();
}

/// An event: the register was set to this value.
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
    type Msg = Access;
    type State = Option<u64>;
    type Event = Set;
    type Outcome = ();

    fn decide(&self, number: &Option<u64>, access: Access, cx: &mut Decide<'_, '_, Self>) {
        match access {
            Access::Get(reply) => reply.send(*number),
            Access::Put { new, reply } => {
                cx.record(Set(new));
                reply.send(());
            }
            Access::Swap {
                expected,
                new,
                reply,
            } => {
                let swaps = *number == expected;
                if swaps {
                    cx.record(Set(new));
                }
                reply.send(swaps);
            }
        }
    }

    fn apply(number: &mut Option<u64>, Set(new): &Set) {
        *number = Some(*new);
    }
}
