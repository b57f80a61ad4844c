//! Model of the accounts of the cluster demonstration, and the check of their history.

use std::fmt;

use garrick_sim::history::models::bank::Ret;
use garrick_sim::history::{History, Outcome, Sequential, Verdict};

/// An operation on an account.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) account: usize,
    pub(super) action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Deposit(u64),
    Withdraw(u64),
    Balance,
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = self.account;
        match self.action {
            Action::Deposit(cents) => write!(f, "account {account}: deposit {cents}"),
            Action::Withdraw(cents) => write!(f, "account {account}: withdraw {cents}"),
            Action::Balance => write!(f, "account {account}: balance"),
        }
    }
}

/// The model of the accounts: the balance of each account is 0 at first.
pub(super) struct Accounts;

impl Sequential for Accounts {
    /// Balance of one account. Each account is checked separately.
    type State = u64;
    type Op = Op;
    type Ret = Ret;
    type Key = usize;

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, balance: &mut u64, op: &Op) -> Ret {
        let after = match op.action {
            Action::Deposit(cents) => balance.checked_add(cents),
            Action::Withdraw(cents) => balance.checked_sub(cents),
            Action::Balance => Some(*balance),
        };
        let Some(after) = after else {
            return Ret::Refused;
        };
        *balance = after;
        Ret::Amount(after)
    }

    fn key(&self, op: &Op) -> Option<usize> {
        Some(op.account)
    }
}

/// Checks that the history is linearizable, and that the sum of the final balances is correct.
/// Otherwise returns a description of the error.
pub(super) fn check(history: &History<Op, Ret>, total: Option<u64>) -> Result<(), String> {
    match history.check(&Accounts) {
        Verdict::Linearizable(_) => {}
        Verdict::NotLinearizable(why) => return Err(why.to_string()),
        Verdict::Unknown { explored } => {
            return Err(format!(
                "the history has too many calls without an answer to be checked: {explored} states \
                 were seen"
            ));
        }
    }
    let (least, most) = bounds(history);
    match total {
        None => Err("the accounts did not tell their last balances".to_owned()),
        Some(total) if (least..=most).contains(&i128::from(total)) => Ok(()),
        Some(total) => Err(format!(
            "the accounts have {total} cents: they must have {least} to {most}"
        )),
    }
}

/// Returns the smallest and the largest possible sum of all balances. There is a range because a
/// call without an answer may or may not have taken effect.
fn bounds(history: &History<Op, Ret>) -> (i128, i128) {
    let (mut least, mut most) = (0, 0);
    for operation in history.operations() {
        let is_certain = match &operation.outcome {
            Outcome::Returned {
                ret: Ret::Amount(_),
                ..
            } => true,
            Outcome::Returned { .. } | Outcome::Failed { .. } => continue,
            Outcome::Pending => false,
        };
        match operation.op.action {
            Action::Deposit(cents) => {
                most += i128::from(cents);
                least += if is_certain { i128::from(cents) } else { 0 };
            }
            Action::Withdraw(cents) => {
                least -= i128::from(cents);
                most -= if is_certain { i128::from(cents) } else { 0 };
            }
            Action::Balance => {}
        }
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::{Action, History, Op, Ret, check};

    fn history(calls: &[(Action, Option<Ret>)]) -> History<Op, Ret> {
        let mut history = History::new();
        for (action, ret) in calls {
            let op = Op {
                account: 0,
                action: *action,
            };
            let call = history.invoke(0, op);
            if let Some(ret) = ret {
                history.complete(call, *ret);
            }
        }
        history
    }

    #[test]
    fn a_lost_deposit_is_found() {
        let calls = [
            (Action::Deposit(5), Some(Ret::Amount(5))),
            (Action::Balance, Some(Ret::Amount(0))),
        ];
        let why = check(&history(&calls), Some(0)).unwrap_err();
        assert!(why.contains("account 0: balance"), "{why}");
    }

    #[test]
    fn a_call_without_an_answer_may_have_taken_effect_or_not() {
        let calls = [
            (Action::Deposit(7), Some(Ret::Amount(7))),
            (Action::Withdraw(8), Some(Ret::Refused)),
            (Action::Deposit(1), None),
            (Action::Withdraw(2), None),
        ];
        let history = history(&calls);
        for total in 5..=8 {
            assert_eq!(check(&history, Some(total)), Ok(()));
        }
        for total in [4, 9] {
            let why = check(&history, Some(total)).unwrap_err();
            assert!(why.contains("they must have 5 to 8"), "{why}");
        }
        assert!(check(&history, None).is_err());
    }
}
