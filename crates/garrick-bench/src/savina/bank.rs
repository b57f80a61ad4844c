//! Bank transaction: a teller moves money between accounts. An account that sends money to another
//! account waits for the reply before it handles its next message.
//!
//! ```text
//!   Teller  -- Move(amount, to) -->  Account i  -- Deposit(amount) -->  Account j > i
//!           <-- done -------------             <-- done -------------
//! ```
//!
//! The teller draws all transactions at random in one turn. For each transaction, the teller draws
//! two accounts and the amount. Account i, the sender, is one of the first 80 % of the accounts.
//! Account j, the receiver, has a higher number. Accounts cannot wait for one another in a circle,
//! because each account waits only for accounts with a higher number. An account is an
//! [`AsyncActor`], whose messages wait while its handler awaits. The original blocks a thread or
//! stashes messages.
//!
//! An amount is a thousand divided by a random number, as in the original. Here amounts are whole
//! millionths. The original's accounts start with such a large floating-point balance that no
//! transaction changes it.
//!
//! The run is correct if each account has the same balance at the end as after a plain loop that
//! draws the same random numbers. The sum of all balances must be unchanged.

use std::mem;

use garrick::{Actor, Address, AsyncActor, AsyncContext, Context, Next, NoReply, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, ours, run};
use super::work::Random;

pub(super) const BANK: Scenario = Scenario {
    name: "savina-bank",
    operation: "one transaction: an actor asks one of 1,000 async actors, which asks another one \
                of them, awaits the answer, and then answers: four messages",
    contenders,
};

/// The amount of work in one run of the benchmark.
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

/// Initial balance of an account, in millionths. This balance is larger than the sum of all
/// transactions.
const BALANCE: u64 = 1_000_000_000_000_000;

/// Maximum amount of a transaction, in millionths.
const AMOUNT_MAX: u64 = 1_000_000_000;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("accounts", size.accounts.into()),
        ("transactions", size.transactions.into()),
    ];
    ours(&BANK, size, &params, bank)
}

/// A transfer of money between two accounts.
#[derive(Clone, Copy)]
struct Transaction {
    from: usize,
    to: usize,
    amount: u64,
}

/// Returns a closure that creates the teller's random transactions, one at each call.
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

/// Index of an account, and its balance.
type Balance = (usize, u64);

/// The teller, an actor that requests all transactions.
struct Teller {
    size: Size,
    accounts: Vec<Address<ToAccount>>,
    /// Number of transactions that are done.
    done: u64,
    /// Balances of the closed accounts.
    balances: Vec<Balance>,
    reports: Reports<Vec<Balance>>,
}

/// Messages that a [`Teller`] handles.
enum ToTeller {
    /// Starts all transactions.
    Start,
    /// Reports that a transaction is done.
    Done(std::result::Result<(), NoReply>),
    /// Reports the balance of a closed account.
    Closed(std::result::Result<Balance, NoReply>),
}

/// An account, whose handler awaits the reply of the account to which it sends money.
struct Account {
    id: usize,
    balance: u64,
}

/// Messages that an [`Account`] handles.
enum ToAccount {
    /// Takes this amount from the account that receives the message, and deposits it in the given
    /// account.
    Move(u64, Address<ToAccount>, Reply<()>),
    /// Adds this amount to the account.
    Deposit(u64, Reply<()>),
    /// Requests the balance, and stops the account.
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
            cx.spawn(Account {
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

/// Returns the expected final balance of each account.
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
