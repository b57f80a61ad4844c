//! Actors made from `impl` blocks: a bank opens accounts, and asks all of them for their balances.

use std::collections::BTreeMap;

use garrick::prelude::*;

#[derive(Default)]
struct Account {
    balance: u64,
}

/// The error if the account has too little money: the missing amount.
#[derive(Debug, PartialEq, Eq)]
struct Missing(u64);

#[garrick::actor]
impl Account {
    /// Pays an amount into the account.
    fn pay_in(&mut self, amount: u64) {
        self.balance += amount;
    }

    /// Pays an amount out of the account, and returns the new balance.
    fn pay_out(&mut self, amount: u64) -> Result<u64, Missing> {
        let left = self.balance.checked_sub(amount);
        self.balance = left.ok_or_else(|| Missing(amount - self.balance))?;
        Ok(self.balance)
    }

    /// Returns the balance.
    fn balance(&self) -> u64 {
        self.balance
    }
}

#[derive(Default)]
struct Bank {
    accounts: BTreeMap<String, AccountHandle>,
    /// Replies that wait for the total.
    waiting: Vec<Reply<u64>>,
    /// Number of accounts that have not reported their balance.
    missing: usize,
    /// Sum of the reported balances.
    total: u64,
}

#[garrick::actor]
impl Bank {
    /// Returns the account of `owner`. Opens the account if there is none.
    fn account(&mut self, owner: String, cx: &mut Context<'_, BankMsg>) -> AccountHandle {
        let open = || cx.spawn(Account::default()).into();
        self.accounts.entry(owner).or_insert_with(open).clone()
    }

    /// Replies with the total of all accounts, after their balances have arrived as messages.
    fn total(&mut self, reply: Reply<u64>, cx: &mut Context<'_, BankMsg>) {
        self.waiting.push(reply);
        if self.missing > 0 {
            return;
        }
        (self.missing, self.total) = (self.accounts.len(), 0);
        for account in self.accounts.values() {
            account.balance_to(cx, BankMsg::Counted);
        }
        self.answer_if_counted();
    }

    /// Handles the balance that an account has reported.
    fn counted(&mut self, balance: Result<u64, NoReply>) {
        self.total += balance.unwrap_or(0);
        self.missing -= 1;
        self.answer_if_counted();
    }

    #[actor(skip)]
    fn answer_if_counted(&mut self) {
        if self.missing == 0 {
            for reply in self.waiting.drain(..) {
                reply.send(self.total);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let bank = BankHandle::new(system.spawn(Bank::default())?);
    let ada = bank.account("Ada".to_owned()).wait()?;
    let alan = bank.account("Alan".to_owned()).wait()?;
    assert_eq!(bank.account("Ada".to_owned()).wait()?, ada);

    ada.pay_in(100)?;
    alan.pay_in(20)?;
    assert_eq!(ada.pay_out(30).wait()?, Ok(70));
    assert_eq!(alan.pay_out(30).wait()?, Err(Missing(10)));

    let total = bank.total().wait()?;
    println!("Ada and Alan have {total} together");
    assert_eq!(total, 90);
    system.shutdown();
    Ok(())
}
