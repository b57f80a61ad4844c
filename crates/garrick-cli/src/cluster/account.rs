//! Accounts of the demonstration: durable entities.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_actor::Reply;
use garrick_cluster::{Carrier, Kind, Wire};
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};

pub(super) const ACCOUNT: Kind<Order> = Kind::new("account");

/// A message to an account.
#[derive(Wire)]
#[wire(name = "garrick.demo.Order", context = Carrier)]
pub(super) enum Order {
    /// Adds cents, and returns the balance.
    Deposit { cents: u64, reply: Reply<u64> },
    /// Takes cents, and returns the balance. Returns `None` if there are not enough.
    Withdraw {
        cents: u64,
        reply: Reply<Option<u64>>,
    },
    /// Returns the balance.
    Balance(Reply<u64>),
}

/// An account, whose state is its balance in cents.
#[derive(Clone)]
pub(super) struct Account {
    /// The account forgets each deposit whose number is divisible by this one.
    forget: Option<u64>,
    /// Number of deposits so far to all accounts of the process.
    deposits: Arc<AtomicU64>,
}

/// An event, which records the new balance.
pub(super) struct Balance(u64);

impl Account {
    pub(super) fn new(forget: Option<u64>) -> Self {
        Self {
            forget,
            deposits: Arc::default(),
        }
    }

    /// Returns true if the account must forget the next deposit. Forgotten deposits show whether
    /// the check of the results finds errors.
    fn forgets(&self) -> bool {
        let number = self.deposits.fetch_add(1, Relaxed) + 1;
        self.forget.is_some_and(|each| number.is_multiple_of(each))
    }
}

impl Stored for Balance {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for Account {
    type Msg = Order;
    type State = u64;
    type Event = Balance;
    type Outcome = ();

    fn decide(&self, balance: &u64, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Deposit { cents, reply } => {
                let after = balance.saturating_add(cents);
                if !self.forgets() {
                    cx.record(Balance(after));
                }
                reply.send(after);
            }
            Order::Withdraw { cents, reply } => {
                let after = balance.checked_sub(cents);
                if let Some(after) = after {
                    cx.record(Balance(after));
                }
                reply.send(after);
            }
            Order::Balance(reply) => reply.send(*balance),
        }
    }

    fn apply(balance: &mut u64, Balance(after): &Balance) {
        *balance = *after;
    }

    // Each event has the whole balance, so a saved state has the same bytes.
    fn save(balance: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        Some(Balance(*balance).encode(bytes))
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        Balance::decode(kind, bytes).map(|Balance(balance)| balance)
    }
}
