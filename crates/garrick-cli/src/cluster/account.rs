//! The bank accounts of the cluster demonstrations. Each account is a durable entity.

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
    /// Adds cents to the account, and replies with the new balance.
    Deposit { cents: u64, reply: Reply<u64> },
    /// Takes cents from the account, and replies with the new balance. If the balance is too small,
    /// takes nothing and replies with `None`.
    Withdraw {
        cents: u64,
        reply: Reply<Option<u64>>,
    },
    /// Replies with the balance.
    Balance(Reply<u64>),
}

/// An account, whose state is its balance in cents.
#[derive(Clone)]
pub(super) struct Account {
    /// If this is `Some(n)`, every `n`th deposit of the process is not recorded. The demonstration
    /// must detect these lost deposits when it checks the results.
    forget: Option<u64>,
    /// Number of deposits so far. All accounts of the process share this counter.
    deposits: Arc<AtomicU64>,
}

/// The event of an account, which contains the new balance.
pub(super) struct Balance(u64);

impl Account {
    pub(super) fn new(forget: Option<u64>) -> Self {
        Self {
            forget,
            deposits: Arc::default(),
        }
    }

    /// Counts a deposit. Returns true if this deposit must not be recorded, because of the option
    /// `forget`.
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
