//! A durable branch of a bank.

use std::collections::BTreeMap;

use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};
use garrick_sim::history::Sequential;

use crate::object::{Object, Request};

/// Number of accounts of a branch, and the money of each at first. Accounts become empty now and
/// then, so that the order of the transfers matters.
pub(crate) const ACCOUNTS: usize = 4;
pub(crate) const CENTS: u64 = 100;

/// The model of a bank, whose branches have numbers.
#[derive(Default)]
pub(crate) struct Bank;

/// A branch of the bank.
pub(crate) struct Branch {
    panics: bool,
}

/// The accounts of a branch, and the number of transfers so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Books {
    pub(crate) accounts: [u64; ACCOUNTS],
    pub(crate) transfers: u64,
}

/// An operation on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Transfers the money, or all money of the account if it has less. Returns the number of the
    /// transfer.
    Transfer {
        branch: usize,
        from: usize,
        to: usize,
        cents: u64,
    },
    /// Returns the accounts and the number of transfers.
    Look(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ret {
    Number(u64),
    Books(Books),
}

/// Money was transferred.
pub(crate) struct Transferred {
    from: u8,
    to: u8,
    cents: u64,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            accounts: [CENTS; ACCOUNTS],
            transfers: 0,
        }
    }
}

impl Stored for Transferred {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend([self.from, self.to]);
        bytes.extend(self.cents.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let ([from, to], cents) = bytes.split_first_chunk().ok_or("no accounts")?;
        Ok(Self {
            from: *from,
            to: *to,
            cents: u64::from_le_bytes(cents.try_into()?),
        })
    }
}

impl DurableActor for Branch {
    type Msg = Request<Bank>;
    type State = Books;
    type Event = Transferred;
    type Outcome = ();

    fn decide(&self, books: &Books, request: Request<Bank>, cx: &mut Decide<'_, '_, Self>) {
        match request.op {
            Op::Transfer {
                from, to, cents, ..
            } => {
                cx.record(Transferred {
                    from: from as u8,
                    to: to as u8,
                    cents: cents.min(books.accounts[from]),
                });
                assert!(!self.panics || !cents.is_multiple_of(4), "for this test");
                request.reply.send(Ret::Number(books.transfers + 1));
            }
            Op::Look(_) => request.reply.send(Ret::Books(books.clone())),
        }
    }

    fn apply(books: &mut Books, event: &Transferred) {
        books.transfers += 1;
        books.accounts[usize::from(event.from)] -= event.cents;
        books.accounts[usize::from(event.to)] += event.cents;
    }

    const SAVE_EVERY: u64 = 5;

    fn save(books: &Books, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(books.transfers.to_le_bytes());
        let cents = books.accounts.iter().flat_map(|cents| cents.to_le_bytes());
        bytes.extend(cents);
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Books, BoxError> {
        let mut numbers = bytes.chunks_exact(8).map(|chunk| {
            let chunk = chunk.try_into().expect("8 bytes");
            u64::from_le_bytes(chunk)
        });
        let transfers = numbers.next().ok_or("no number")?;
        let mut accounts = [0; ACCOUNTS];
        for account in &mut accounts {
            *account = numbers.next().ok_or("too few accounts")?;
        }
        Ok(Books {
            accounts,
            transfers,
        })
    }
}

impl Sequential for Bank {
    type State = BTreeMap<usize, Books>;
    type Op = Op;
    type Ret = Ret;
    type Key = usize;

    fn init(&self) -> BTreeMap<usize, Books> {
        BTreeMap::new()
    }

    fn apply(&self, branches: &mut BTreeMap<usize, Books>, op: &Op) -> Ret {
        match *op {
            Op::Transfer {
                branch,
                from,
                to,
                cents,
            } => {
                let books = branches.entry(branch).or_default();
                let paid = books.accounts[from].min(cents);
                books.accounts[from] -= paid;
                books.accounts[to] += paid;
                books.transfers += 1;
                Ret::Number(books.transfers)
            }
            Op::Look(branch) => Ret::Books(branches.get(&branch).cloned().unwrap_or_default()),
        }
    }

    fn key(&self, op: &Op) -> Option<usize> {
        let (Op::Transfer { branch, .. } | Op::Look(branch)) = *op;
        Some(branch)
    }
}

impl Object for Bank {
    type Entity = Branch;

    const NAME: &'static str = "branch";

    const CLIENTS_AHEAD: u64 = 4;

    fn entity(panics: bool) -> Branch {
        Branch { panics }
    }

    fn operation(branch: usize, chance: u64, _: u64, _: &BTreeMap<usize, Books>) -> Op {
        if chance.is_multiple_of(2) {
            return Op::Look(branch);
        }
        Op::Transfer {
            branch,
            from: (chance >> 8) as usize % ACCOUNTS,
            to: (chance >> 16) as usize % ACCOUNTS,
            cents: (chance >> 24) % CENTS,
        }
    }

    fn look(branch: usize) -> Op {
        Op::Look(branch)
    }

    fn see(branches: &mut BTreeMap<usize, Books>, branch: usize, ret: &Ret) {
        if let Ret::Books(books) = ret {
            branches.insert(branch, books.clone());
        }
    }
}
