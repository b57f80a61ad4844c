//! Accounts: durable entities that accept deposits and withdrawals, and send money to each other.
//!
//! A transfer first takes the money from the sender in one durable turn. Then the sender asks the
//! receiver to take the money. The sender repeats the question, even after a crash, until the
//! receiver has answered. The transfers of a sender are numbered, and are sent one after another.
//! So the receiver recognizes a repetition: its number is not larger than the number of the last
//! transfer that the receiver has taken.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use garrick::Reply;
use garrick::cluster::{Carrier, Entities, Kind};
use garrick::journal::{BoxError, Decide, Due, DurableActor, EventKind, Stored};
use garrick::wire::Wire;

/// The entity kind of the accounts. The key of an account is its name.
pub(crate) const ACCOUNT: Kind<Order> = Kind::new("account");

/// Maximum amount of a payment in cents, and maximum balance after a deposit.
pub(crate) const CENTS_MAX: u64 = 1_000_000_000_000;

/// Maximum number of request keys that an account remembers.
const REQUESTS_MAX: usize = 1_000;

/// Maximum number of transfers that have left an account and have not arrived yet.
const TRANSFERS_MAX: usize = 1_000;

/// Time limit for the answer of the receiver of a transfer. The next constant is the time before
/// the receiver is asked again.
const ARRIVES_WITHIN: Duration = Duration::from_secs(15);
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Key of the effect that delivers transfers.
const DELIVERY: &str = "delivery";

/// A message to an account.
#[derive(Wire)]
#[wire(name = "bank.Order", context = Carrier)]
pub(crate) enum Order {
    Read(Reply<Result<Balance, Refusal>>),
    /// Changes the account. Does nothing if a change with the same key was already made.
    Change {
        change: Change,
        /// Key that the client has chosen for the change.
        key: Option<String>,
        reply: Reply<Result<Balance, Refusal>>,
    },
    /// Adds the money of a transfer to this account, but only once. Sent by another account.
    Take {
        from: String,
        number: u64,
        cents: u64,
        taken: Reply<()>,
    },
    /// Makes the account send its oldest transfer to the receiver. Sent by the account to itself.
    Deliver,
    /// Reports whether the receiver of a transfer has taken it. Sent by the account to itself.
    Delivered {
        number: u64,
        is_taken: bool,
    },
}

/// A change of an account.
#[derive(Wire, Clone, Debug)]
#[wire(name = "bank.Change")]
pub(crate) enum Change {
    Deposit(u64),
    Withdraw(u64),
    Transfer { to: String, cents: u64 },
}

/// Money of an account, in cents.
#[derive(Wire, Clone, Copy, Debug)]
#[wire(name = "bank.Balance")]
pub(crate) struct Balance {
    pub(crate) cents: u64,
    /// Money that has left this account in transfers that have not arrived yet.
    pub(crate) on_its_way: u64,
}

/// Reason why an account was not changed.
#[derive(Wire, Clone, Copy, Debug)]
#[wire(name = "bank.Refusal")]
pub(crate) enum Refusal {
    NotEnough { cents: u64 },
    TooMuch,
    TooManyTransfers,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEnough { cents } => {
                write!(
                    f,
                    "there is not enough money: the account has {cents} cents"
                )
            }
            Self::TooMuch => write!(f, "an account can have at most {CENTS_MAX} cents"),
            Self::TooManyTransfers => write!(
                f,
                "{TRANSFERS_MAX} transfers of the account are on their way: wait until some of \
                 them have arrived"
            ),
        }
    }
}

/// An event in the journal: a change of an account that was made.
#[derive(Stored)]
pub(crate) enum Event {
    #[stored(tag = 1)]
    Deposited { cents: u64, key: Option<String> },
    #[stored(tag = 2)]
    Withdrawn { cents: u64, key: Option<String> },
    #[stored(tag = 3)]
    Sent {
        to: String,
        cents: u64,
        key: Option<String>,
    },
    #[stored(tag = 4)]
    Taken {
        from: String,
        number: u64,
        cents: u64,
    },
    /// The oldest transfer has arrived at its receiver.
    #[stored(tag = 5)]
    Arrived,
}

/// The state of an account: the result of its events.
#[derive(Default, Stored)]
#[stored(tag = 1)]
pub(crate) struct Books {
    cents: u64,
    /// Keys of the last changes, by which repeated requests are recognized.
    keys: VecDeque<String>,
    /// Number of transfers of this account that have arrived at their receivers.
    arrived: u64,
    /// Transfers that have not arrived yet, oldest first. Each entry is the receiver and the number
    /// of cents.
    on_their_way: VecDeque<(String, u64)>,
    /// Number of the last transfer that was taken from each sender.
    taken: BTreeMap<String, u64>,
}

impl Books {
    fn balance(&self) -> Balance {
        Balance {
            cents: self.cents,
            on_its_way: self.on_their_way.iter().map(|(_, cents)| cents).sum(),
        }
    }

    fn remember(&mut self, key: Option<&String>) {
        if let Some(key) = key {
            if self.keys.len() == REQUESTS_MAX {
                self.keys.pop_front();
            }
            self.keys.push_back(key.clone());
        }
    }

    /// Returns the event of a change and the balance after it.
    fn decide(&self, change: Change, key: Option<String>) -> Result<(Event, Balance), Refusal> {
        let mut after = self.balance();
        let left = |cents: u64| {
            let left = self.cents.checked_sub(cents);
            left.ok_or(Refusal::NotEnough { cents: self.cents })
        };
        let event = match change {
            Change::Deposit(cents) => {
                let sum = self.cents.checked_add(cents);
                let sum = sum.filter(|sum| *sum <= CENTS_MAX);
                after.cents = sum.ok_or(Refusal::TooMuch)?;
                Event::Deposited { cents, key }
            }
            Change::Withdraw(cents) => {
                after.cents = left(cents)?;
                Event::Withdrawn { cents, key }
            }
            Change::Transfer { to, cents } => {
                after.cents = left(cents)?;
                after.on_its_way += cents;
                if self.on_their_way.len() >= TRANSFERS_MAX {
                    return Err(Refusal::TooManyTransfers);
                }
                Event::Sent { to, cents, key }
            }
        };
        Ok((event, after))
    }
}

/// An account.
pub(crate) struct Account {
    pub(crate) name: String,
    /// Finds other accounts.
    pub(crate) entities: Entities,
}

impl Account {
    /// Asks the receiver of this account's oldest transfer to take the money.
    fn deliver(&self, books: &Books, cx: &mut Decide<'_, '_, Self>) {
        let Some((to, cents)) = books.on_their_way.front() else {
            return;
        };
        let (number, cents, from) = (books.arrived + 1, *cents, self.name.clone());
        let Ok(receiver) = self.entities.get(ACCOUNT, to) else {
            // This node leaves. Another one delivers.
            return;
        };
        let take = |taken| Order::Take {
            from,
            number,
            cents,
            taken,
        };
        cx.ask_within(ARRIVES_WITHIN, &receiver, take, move |taken| {
            let is_taken = taken.is_ok();
            Order::Delivered { number, is_taken }
        });
    }
}

impl DurableActor for Account {
    type Msg = Order;
    type State = Books;
    type Event = Event;
    type Outcome = ();

    fn decide(&self, books: &Books, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Read(reply) => reply.send(Ok(books.balance())),
            Order::Change {
                key: Some(key),
                reply,
                ..
            } if books.keys.contains(&key) => {
                reply.send(Ok(books.balance()));
            }
            Order::Change { change, key, reply } => match books.decide(change, key) {
                Ok((event, after)) => {
                    if matches!(event, Event::Sent { .. }) {
                        // Has the account receive `Deliver` when the turn is durable, and after
                        // each start. If transfers are on their way already, this follows them.
                        cx.once(DELIVERY);
                    }
                    cx.record(event);
                    reply.send(Ok(after));
                }
                Err(refusal) => reply.send(Err(refusal)),
            },
            Order::Take {
                from,
                number,
                cents,
                taken,
            } => {
                if books.taken.get(&from).is_none_or(|last| number > *last) {
                    cx.record(Event::Taken {
                        from,
                        number,
                        cents,
                    });
                }
                taken.send(());
            }
            Order::Deliver => self.deliver(books, cx),
            // An answer of an earlier life of this account may come late.
            Order::Delivered { number, .. } if number != books.arrived + 1 => {}
            Order::Delivered { is_taken: true, .. } => {
                cx.record(Event::Arrived);
                let me = cx.address();
                if books.on_their_way.len() == 1 {
                    cx.done(DELIVERY);
                } else {
                    // This account is alive.
                    let _ = cx.send(&me, Order::Deliver);
                }
            }
            Order::Delivered {
                is_taken: false, ..
            } => {
                let me = cx.address();
                let _ = cx.send_after(AGAIN_AFTER, &me, Order::Deliver);
            }
        }
    }

    fn apply(books: &mut Books, event: &Event) {
        match event {
            Event::Deposited { cents, key } => {
                books.cents += cents;
                books.remember(key.as_ref());
            }
            Event::Withdrawn { cents, key } => {
                books.cents -= cents;
                books.remember(key.as_ref());
            }
            Event::Sent { to, cents, key } => {
                books.cents -= cents;
                books.on_their_way.push_back((to.clone(), *cents));
                books.remember(key.as_ref());
            }
            Event::Taken {
                from,
                number,
                cents,
            } => {
                books.cents += cents;
                books.taken.insert(from.clone(), *number);
            }
            Event::Arrived => {
                books.arrived += 1;
                books.on_their_way.pop_front();
            }
        }
    }

    fn save(books: &Books, bytes: &mut Vec<u8>) -> Option<EventKind> {
        Some(books.encode(bytes))
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<Books, BoxError> {
        Books::decode(kind, bytes)
    }

    fn due(due: Due) -> Option<Order> {
        (due.key == DELIVERY).then_some(Order::Deliver)
    }
}

// Nodes of two versions of the program run beside each other during an upgrade. This test compares
// the messages with those of the last version, which are in the file `wire.lock`.
garrick::wire::lock! {
    context = Carrier;
    Order,
    Balance,
    Refusal
}
