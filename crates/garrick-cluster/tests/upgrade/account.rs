//! An account in two versions of a program. The message type of the newer version has a new field
//! with a default, and a new variant.

use garrick_actor::Reply;
use garrick_cluster::{Carrier, Kind, Wire};
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};

/// An amount was deposited. Both versions have the same events.
pub(crate) struct PaidIn(u64);

impl Stored for PaidIn {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

pub(crate) mod older {
    use super::{Carrier, Decide, DurableActor, Kind, PaidIn, Reply, Wire};

    pub(crate) const ACCOUNT: Kind<Order> = Kind::new("account");

    #[derive(Wire)]
    #[wire(name = "test.Order", context = Carrier)]
    pub(crate) enum Order {
        PayIn { amount: u64, reply: Reply<u64> },
        Read(Reply<u64>),
    }

    pub(crate) struct Account;

    impl DurableActor for Account {
        type Msg = Order;
        type State = u64;
        type Event = PaidIn;
        type Outcome = ();

        fn decide(&self, sum: &u64, order: Order, cx: &mut Decide<'_, '_, Self>) {
            match order {
                Order::PayIn { amount, reply } => {
                    cx.record(PaidIn(amount));
                    reply.send(sum + amount);
                }
                Order::Read(reply) => reply.send(*sum),
            }
        }

        fn apply(sum: &mut u64, PaidIn(amount): &PaidIn) {
            *sum += amount;
        }
    }
}

pub(crate) mod newer {
    use super::{Carrier, Decide, DurableActor, Kind, PaidIn, Reply, Wire};

    pub(crate) const ACCOUNT: Kind<Order> = Kind::new("account");

    #[derive(Wire)]
    #[wire(name = "test.Order", version = 2, context = Carrier)]
    pub(crate) enum Order {
        #[wire(1)]
        PayIn {
            #[wire(1)]
            amount: u64,
            #[wire(2)]
            reply: Reply<u64>,
            #[wire(3, default)]
            note: String,
        },
        #[wire(2)]
        Read(#[wire(1)] Reply<u64>),
        /// Deposits the same amount several times.
        #[wire(3)]
        PayInOften {
            #[wire(1)]
            amount: u64,
            #[wire(2)]
            times: u32,
            #[wire(3)]
            reply: Reply<u64>,
        },
    }

    pub(crate) struct Account;

    impl DurableActor for Account {
        type Msg = Order;
        type State = u64;
        type Event = PaidIn;
        type Outcome = ();

        fn decide(&self, sum: &u64, order: Order, cx: &mut Decide<'_, '_, Self>) {
            match order {
                Order::PayIn {
                    amount,
                    reply,
                    note,
                } => {
                    // An older program sends no note.
                    assert!(note.is_empty() || note == "rent");
                    cx.record(PaidIn(amount));
                    reply.send(sum + amount);
                }
                Order::Read(reply) => reply.send(*sum),
                Order::PayInOften {
                    amount,
                    times,
                    reply,
                } => {
                    for _ in 0..times {
                        cx.record(PaidIn(amount));
                    }
                    reply.send(sum + amount * u64::from(times));
                }
            }
        }

        fn apply(sum: &mut u64, PaidIn(amount): &PaidIn) {
            *sum += amount;
        }
    }
}
