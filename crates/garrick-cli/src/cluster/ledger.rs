//! Threads that call accounts. Each account has only one caller, which therefore always knows the
//! balance that the account must have.
//!
//! A call without an answer has perhaps taken effect, and perhaps not. A later call of the same
//! caller arrives after the unanswered call. So the balance that the later call returns shows
//! whether the unanswered call has taken effect.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use garrick_actor::{Address, System};
use garrick_cluster::nats::{NatsNet, NatsPlacement};
use garrick_cluster::{Entities, Node};
use garrick_core::random::mix;
use garrick_measure::Result;
use garrick_sim::history::models::bank::Ret;

use super::account::{ACCOUNT, Order};
use super::callers::ask;
use super::member::join;
use super::model::Action;
use super::servers::Servers;

/// Name of the node through which the threads call the accounts.
const NAME: &str = "ledger";

/// Number of accounts. A separate thread calls each account.
const ACCOUNTS: u64 = 12;

/// Time between two calls of a thread.
const PAUSE: Duration = Duration::from_millis(20);

/// Time limit for an account to tell its balance, at the end and after a call without an answer.
/// Within this limit, the question is repeated until an answer arrives.
const LAST_WITHIN: Duration = Duration::from_secs(60);

/// Counters that all calling threads share.
#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    unanswered: AtomicU64,
    /// Number of calls that took effect although no answer arrived.
    effective: AtomicU64,
    wrong: Mutex<Option<String>>,
}

impl Counts {
    fn wrong(&self) -> MutexGuard<'_, Option<String>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Results of the calls to the accounts.
pub(super) struct Totals {
    pub(super) answered: u64,
    pub(super) unanswered: u64,
    /// Number of calls that took effect although no answer arrived.
    pub(super) effective: u64,
    /// Longest time for which an account did not answer.
    pub(super) silence: Duration,
    /// Sum of all balances in cents, and the sum that the callers expect.
    pub(super) cents: (u64, u64),
    /// The first error, such as a wrong balance, or an account that did not answer in time.
    pub(super) wrong: Option<String>,
}

/// Threads that call accounts, and the node to which the threads belong. This node runs no
/// accounts.
pub(super) struct Ledger {
    counts: Arc<Counts>,
    threads: Vec<JoinHandle<Owner>>,
    /// One sender for each thread. Dropping a sender ends its thread.
    ends: Vec<Sender<()>>,
    accounts: Vec<Address<Order>>,
    entities: Entities,
    node: Node,
    net: NatsNet,
    _system: System,
}

impl Ledger {
    /// Joins the cluster. The calls begin when [`Ledger::begin`] is called.
    pub(super) fn join(servers: &Servers, cluster: &str) -> Result<Self> {
        let system = System::builder().workers(1).start()?;
        let net = servers.builder().start()?;
        let node = join(&system, &net, cluster, NAME)?;
        let placement = NatsPlacement::open(&system.handle(), servers.builder(), cluster, NAME)?;
        let entities = Entities::start(&node, placement)?;
        let account = |number: u64| entities.get(ACCOUNT, &number.to_string());
        let accounts = (0..ACCOUNTS).map(account);
        let accounts = accounts.collect::<std::result::Result<_, _>>()?;
        Ok(Self {
            counts: Arc::default(),
            threads: Vec::new(),
            ends: Vec::new(),
            accounts,
            entities,
            node,
            net,
            _system: system,
        })
    }

    /// Starts the threads that call accounts.
    pub(super) fn begin(&mut self) {
        for (number, account) in (0..).zip(&self.accounts) {
            let owner = Owner {
                number,
                account: account.clone(),
                balance: 0,
                last: Instant::now(),
                silence: Duration::ZERO,
            };
            let (counts, (end, ends)) = (self.counts.clone(), channel());
            self.threads
                .push(thread::spawn(move || owner.work(&counts, &ends)));
            self.ends.push(end);
        }
    }

    /// Returns the number of answers, and the first error so far.
    pub(super) fn so_far(&self) -> (u64, Option<String>) {
        let wrong = self.counts.wrong().clone();
        (self.counts.answered.load(SeqCst), wrong)
    }

    /// Ends the calls, and reads all balances. The members must still be running.
    pub(super) fn end(self) -> Totals {
        drop(self.ends);
        let (mut silence, mut cents) = (Duration::ZERO, (0, 0));
        for thread in self.threads {
            let Ok(mut owner) = thread.join() else {
                let wrong = "a calling thread has panicked".to_owned();
                self.counts.wrong().get_or_insert(wrong);
                continue;
            };
            silence = silence.max(owner.silence).max(owner.last.elapsed());
            cents.1 += owner.balance;
            match owner.balance_within(LAST_WITHIN) {
                Some(balance) => cents.0 += balance,
                None => {
                    let wrong = format!("account {} did not tell its balance", owner.number);
                    self.counts.wrong().get_or_insert(wrong);
                }
            }
        }
        self.entities.leave();
        self.node.leave();
        self.net.close(Duration::from_secs(2));
        let count = |count: &AtomicU64| count.load(SeqCst);
        Totals {
            answered: count(&self.counts.answered),
            unanswered: count(&self.counts.unanswered),
            effective: count(&self.counts.effective),
            silence,
            cents,
            wrong: self.counts.wrong().take(),
        }
    }
}

/// State of the thread that calls one account. No other thread calls this account.
struct Owner {
    number: u64,
    account: Address<Order>,
    /// Balance in cents that the account must have.
    balance: u64,
    /// Time of the latest answer.
    last: Instant,
    silence: Duration,
}

impl Owner {
    /// Calls the account until the sender of `ends` is dropped, or until a call returns an error.
    fn work(mut self, counts: &Counts, ends: &Receiver<()>) -> Self {
        for call in 0.. {
            // Also the pause between two calls.
            if ends.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            let chance = mix(self.number << 40 | call);
            if let Err(wrong) = self.call(action(chance), counts) {
                counts.wrong().get_or_insert(wrong);
                break;
            }
        }
        self
    }

    /// Calls the account. Returns an error if the account returns a wrong balance, or takes too
    /// long to answer.
    fn call(&mut self, action: Action, counts: &Counts) -> std::result::Result<(), String> {
        let (number, before) = (self.number, self.balance);
        let (ret, after) = expected(before, action);
        let Ok(found) = ask(&self.account, action) else {
            counts.unanswered.fetch_add(1, SeqCst);
            return self.find_out(after, counts);
        };
        counts.answered.fetch_add(1, SeqCst);
        self.hear();
        self.balance = after;
        if found == ret {
            return Ok(());
        }
        Err(format!(
            "account {number} had {before} cents, and has answered {found:?} to {action:?}"
        ))
    }

    /// Finds out whether a call without an answer has taken effect. If the call has taken effect,
    /// the account has the balance `after`. Otherwise the account still has its earlier balance.
    fn find_out(&mut self, after: u64, counts: &Counts) -> std::result::Result<(), String> {
        let (number, before) = (self.number, self.balance);
        let limit = LAST_WITHIN.as_secs();
        let found = self
            .balance_within(LAST_WITHIN)
            .ok_or_else(|| format!("account {number} was silent for {limit} s"))?;
        if found != before && found != after {
            return Err(format!(
                "account {number} has {found} cents instead of {before} or {after}"
            ));
        }
        counts.effective.fetch_add((found != before).into(), SeqCst);
        self.balance = found;
        Ok(())
    }

    /// Asks for the balance repeatedly until there is an answer. Returns `None` if there is no
    /// answer within the time `limit`.
    fn balance_within(&mut self, limit: Duration) -> Option<u64> {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            if let Ok(Ret::Amount(balance)) = ask(&self.account, Action::Balance) {
                self.hear();
                return Some(balance);
            }
            // A question is refused at once while no node can be reached.
            thread::park_timeout(PAUSE);
        }
        None
    }

    fn hear(&mut self) {
        self.silence = self.last.elapsed().max(self.silence);
        self.last = Instant::now();
    }
}

/// Returns a random action: a deposit, a withdrawal or a question for the balance. `chance` is a
/// random number.
fn action(chance: u64) -> Action {
    let cents = (chance >> 40) % 100 + 1;
    match chance & 3 {
        0 | 1 => Action::Deposit(cents),
        2 => Action::Withdraw(cents),
        _ => Action::Balance,
    }
}

/// Returns the answer that an account with the balance `balance` must give to `action`, and the
/// balance after `action`.
fn expected(balance: u64, action: Action) -> (Ret, u64) {
    let after = match action {
        Action::Deposit(cents) => Some(balance + cents),
        Action::Withdraw(cents) => balance.checked_sub(cents),
        Action::Balance => Some(balance),
    };
    match after {
        Some(after) => (Ret::Amount(after), after),
        None => (Ret::Refused, balance),
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Ret, expected};

    #[test]
    fn the_answer_and_the_balance_follow_from_the_call() {
        assert_eq!(expected(5, Action::Deposit(2)), (Ret::Amount(7), 7));
        assert_eq!(expected(5, Action::Withdraw(5)), (Ret::Amount(0), 0));
        assert_eq!(expected(5, Action::Withdraw(6)), (Ret::Refused, 5));
        assert_eq!(expected(5, Action::Balance), (Ret::Amount(5), 5));
    }
}
