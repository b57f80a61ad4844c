//! Bank transaction: a teller who has money moved between accounts, where an account waits for the other one's word before
//! it does anything else.
//!
//! ```text
//!   Teller  -- Move(amount, to) -->  Account i  -- Deposit(amount) -->  Account j > i
//!           <-- done -------------             <-- done -------------
//! ```
//!
//! The teller draws all transactions in one turn: i from the lower eight tenths, j above it, and an amount. No circle of
//! accounts can wait for one another, for each waits for a higher one only. An account is an [`AsyncActor`], whose
//! messages wait while its handler awaits; the original blocks a thread or stashes.
//!
//! An amount is a thousand divided by a number that is drawn, as in the original, here in whole millionths: the original's
//! accounts begin with so much, as floating point, that no transaction changes them.
//!
//! Right when each account has in the end what a plain loop over the generator leaves it, and all together have what they
//! began with.

use std::mem;

use garrick::{Actor, Address, AsyncActor, AsyncContext, Context, Next, NoReply, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, ours, run};
use super::work::Random;

pub(super) const BANK: Scenario = Scenario {
    name: "savina-bank",
    operation: "one transaction: an actor asks one of 1,000 async actors, which asks another one, awaits its answer \
                and then answers: four messages",
    contenders,
};

/// How much is done.
#[derive(Clone, Copy)]
struct Size {
    accounts: u32,
    transactions: u64,
}

const STANDARD: Size = Size {
    accounts: 1_000,
    transactions: 50_000,
};

const QUICK: Size = Size {
    transactions: 5_000,
    ..STANDARD
};

/// What an account begins with, in millionths: more than all transactions can take.
const BALANCE: u64 = 1_000_000_000_000_000;

/// The largest amount, in millionths.
const AMOUNT_MAX: u64 = 1_000_000_000;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("accounts", size.accounts.into()),
        ("transactions", size.transactions.into()),
    ];
    ours(&BANK, size, &params, bank)
}

/// A movement of money.
#[derive(Clone, Copy)]
struct Transaction {
    from: usize,
    to: usize,
    amount: u64,
}

/// What the teller draws, one after the other.
fn transactions(size: Size) -> impl FnMut() -> Transaction {
    let mut random = Random::new(123_456);
    move || {
        let from = random.below(size.accounts / 10 * 8);
        let above = random.below(size.accounts - from).max(1);
        Transaction {
            from: from as usize,
            to: (from + above) as usize,
            amount: AMOUNT_MAX / u64::from(random.next() + 1),
        }
    }
}

/// An account's number, and what is in it.
type Balance = (usize, u64);

/// Has money moved.
struct Teller {
    size: Size,
    accounts: Vec<Address<ToAccount>>,
    /// Transactions that are done.
    done: u64,
    /// Accounts that are closed.
    balances: Vec<Balance>,
    reports: Reports<Vec<Balance>>,
}

/// What a [`Teller`] receives.
enum ToTeller {
    /// Begin all transactions.
    Start,
    /// One is done.
    Done(std::result::Result<(), NoReply>),
    /// One account is closed, and had that.
    Closed(std::result::Result<Balance, NoReply>),
}

/// An account.
struct Account {
    id: usize,
    balance: u64,
}

/// What an [`Account`] receives.
enum ToAccount {
    /// Take so much, and bring it there.
    Move(u64, Address<ToAccount>, Reply<()>),
    /// Here is so much.
    Deposit(u64, Reply<()>),
    /// Say what there is, and end.
    Close(Reply<Balance>),
}

impl Teller {
    fn begin_all(&self, cx: &Context<'_, ToTeller>) {
        let mut next = transactions(self.size);
        for _ in 0..self.size.transactions {
            let Transaction { from, to, amount } = next();
            let to = self.accounts[to].clone();
            let moving = |reply| ToAccount::Move(amount, to, reply);
            cx.ask(&self.accounts[from], moving, ToTeller::Done);
        }
    }

    fn close_all(&self, cx: &Context<'_, ToTeller>) {
        for account in &self.accounts {
            cx.ask(account, ToAccount::Close, ToTeller::Closed);
        }
    }
}

impl Actor for Teller {
    type Msg = ToTeller;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToTeller>) -> Next {
        let accounts = (0..self.size.accounts as usize).map(|id| {
            cx.spawn_async_actor(Account {
                id,
                balance: BALANCE,
            })
        });
        self.accounts = accounts.collect();
        Next::Continue
    }

    fn receive(&mut self, message: ToTeller, cx: &mut Context<'_, ToTeller>) -> Next {
        match message {
            ToTeller::Start => self.begin_all(cx),
            ToTeller::Done(Ok(())) => {
                self.done += 1;
                if self.done == self.size.transactions {
                    self.close_all(cx);
                }
            }
            ToTeller::Closed(Ok(balance)) => {
                self.balances.push(balance);
                if self.balances.len() == self.accounts.len() {
                    self.reports.tell(mem::take(&mut self.balances));
                    return Next::Stop;
                }
            }
            ToTeller::Done(Err(none)) | ToTeller::Closed(Err(none)) => return cx.fail(none),
        }
        Next::Continue
    }
}

impl AsyncActor for Account {
    type Msg = ToAccount;
    type Outcome = Next;

    async fn receive(&mut self, message: ToAccount, cx: &mut AsyncContext<ToAccount>) -> Next {
        match message {
            ToAccount::Move(amount, to, reply) => {
                self.balance -= amount;
                match to.ask(|reply| ToAccount::Deposit(amount, reply)).await {
                    Ok(()) => reply.send(()),
                    Err(none) => return cx.fail(none),
                }
            }
            ToAccount::Deposit(amount, reply) => {
                self.balance += amount;
                reply.send(());
            }
            ToAccount::Close(reply) => {
                reply.send((self.id, self.balance));
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

fn bank(size: Size, workers: usize) -> Result<Measured> {
    let (books, span) = run(workers, 1, |on, reports| {
        let teller = on.spawn(Teller {
            size,
            accounts: Vec::new(),
            done: 0,
            balances: Vec::new(),
            reports: reports.clone(),
        })?;
        Ok(teller.send(ToTeller::Start)?)
    })?;
    books.iter().try_for_each(|books| check(size, books))?;
    Ok(Measured::new(size.transactions, span))
}

fn check(size: Size, balances: &[Balance]) -> Result<()> {
    agree("accounts", balances.len(), size.accounts as usize)?;
    let sum: u64 = balances.iter().map(|(_, balance)| balance).sum();
    agree(
        "all accounts together",
        sum,
        BALANCE * u64::from(size.accounts),
    )?;
    let expected = booked(size);
    for (id, balance) in balances {
        agree(format!("account {id}"), *balance, expected[*id])?;
    }
    Ok(())
}

/// What each account should have in the end.
fn booked(size: Size) -> Vec<u64> {
    let mut balances = vec![BALANCE; size.accounts as usize];
    let mut next = transactions(size);
    for _ in 0..size.transactions {
        let Transaction { from, to, amount } = next();
        balances[from] -= amount;
        balances[to] += amount;
    }
    balances
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        accounts: 20,
        transactions: 200,
    };

    #[test]
    fn all_transactions_are_done() {
        for workers in [1, 2] {
            assert_eq!(bank(TINY, workers).unwrap().ops, 200);
        }
    }

    #[test]
    fn money_that_is_lost_or_in_a_wrong_account_is_found() {
        let right: Vec<Balance> = booked(TINY).into_iter().enumerate().collect();
        assert!(check(TINY, &right).is_ok());
        let mut lost = right.clone();
        lost[3].1 -= 1;
        let said = refused(check(TINY, &lost));
        assert_eq!(
            said,
            "all accounts together: 19999999999999999, not 20000000000000000"
        );
        assert_eq!(refused(check(TINY, &lost[1..])), "accounts: 19, not 20");
        lost[4].1 += 1;
        assert!(refused(check(TINY, &lost)).starts_with("account 3: "));
    }
}
