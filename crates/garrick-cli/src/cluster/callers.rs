//! Threads that call accounts, and the history of their calls.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use garrick_actor::{Address, NoReply, System};
use garrick_cluster::nats::{NatsNet, NatsPlacement};
use garrick_cluster::{Entities, Node};
use garrick_core::random::mix;
use garrick_measure::Result;
use garrick_sim::history::History;
use garrick_sim::history::models::bank::Ret;

use super::account::{ACCOUNT, Order};
use super::member::join;
use super::model::{Action, Op};
use super::servers::Servers;

/// Name of the node through which the threads call the accounts.
const NAME: &str = "callers";

/// Number of threads that call accounts.
const CALLERS: u64 = 8;
const ACCOUNTS: usize = 12;

/// Time between two calls of a thread.
const PAUSE: Duration = Duration::from_millis(10);

/// Time limit of a call. A message to another node may be delayed by up to 10 s.
const LIMIT: Duration = Duration::from_secs(30);

/// State that is shared by the threads that call accounts.
struct Shared {
    accounts: Vec<Address<Order>>,
    history: Mutex<History<Op, Ret>>,
    answered: AtomicU64,
    unanswered: AtomicU64,
    silence: Mutex<Silence>,
}

/// The moment of the last answer of each account. Also the longest time between two consecutive
/// answers of one account.
struct Silence {
    last: Vec<Instant>,
    longest: Duration,
}

impl Silence {
    /// Returns the longest time for which an account has not answered. The time from the last
    /// answer of each account until now counts, too.
    fn until_now(&self) -> Duration {
        let silent = self.last.iter().map(Instant::elapsed);
        silent.fold(self.longest, Duration::max)
    }
}

/// Threads that call accounts, and the node to which the threads belong. This node runs no
/// accounts.
pub(super) struct Callers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// One sender for each thread. Dropping a sender ends its thread.
    ends: Vec<Sender<()>>,
    entities: Entities,
    node: Node,
    net: NatsNet,
    _system: System,
}

/// Results of the calls to the accounts.
pub(super) struct Calls {
    pub(super) answered: u64,
    pub(super) unanswered: u64,
    /// Longest time between two consecutive answers of one account. The time from the last answer
    /// of each account to the end counts, too.
    pub(super) silence: Duration,
    pub(super) history: History<Op, Ret>,
    /// Sum of all balances at the end, in cents. `None` if an account did not answer.
    pub(super) total: Option<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Callers {
    /// Joins the cluster. The calls begin when [`Callers::begin`] is called.
    pub(super) fn join(net: NatsNet, servers: &Servers, cluster: &str) -> Result<Self> {
        let system = System::builder().workers(1).start()?;
        let node = join(&system, &net, cluster, NAME)?;
        let placement = NatsPlacement::open(&system.handle(), servers.builder(), cluster, NAME)?;
        let entities = Entities::start(&node, placement)?;
        let account = |number: usize| entities.get(ACCOUNT, &number.to_string());
        let accounts = (0..ACCOUNTS)
            .map(account)
            .collect::<std::result::Result<_, _>>()?;
        let shared = Arc::new(Shared {
            accounts,
            history: Mutex::new(History::new()),
            answered: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            silence: Mutex::new(Silence {
                last: Vec::new(),
                longest: Duration::ZERO,
            }),
        });
        Ok(Self {
            shared,
            threads: Vec::new(),
            ends: Vec::new(),
            entities,
            node,
            net,
            _system: system,
        })
    }

    /// Starts the threads that call accounts.
    pub(super) fn begin(&mut self) {
        lock(&self.shared.silence).last = vec![Instant::now(); ACCOUNTS];
        for number in 0..CALLERS {
            let (shared, (end, ends)) = (self.shared.clone(), channel());
            let call = move || shared.call_until_the_end(number, &ends);
            self.threads.push(thread::spawn(call));
            self.ends.push(end);
        }
    }

    pub(super) fn answered(&self) -> u64 {
        self.shared.answered.load(SeqCst)
    }

    /// Ends the calls, and asks for the balances. The members must still be running.
    pub(super) fn end(self) -> Calls {
        drop(self.ends);
        for thread in self.threads {
            // It does not panic.
            let _ = thread.join();
        }
        let shared = &self.shared;
        let (answered, unanswered) = (&shared.answered, &shared.unanswered);
        let (answered, unanswered) = (answered.load(SeqCst), unanswered.load(SeqCst));
        let (mut total, until) = (Some(0), Instant::now() + LIMIT);
        for account in 0..ACCOUNTS {
            let balance = shared.last_balance(account, until);
            total = match (total, balance) {
                (Some(total), Some(Ret::Amount(balance))) => Some(total + balance),
                _ => None,
            };
        }
        // With the time before these answers.
        let silence = lock(&shared.silence).until_now();
        self.entities.leave();
        self.node.leave();
        self.net.close(Duration::from_secs(2));
        let history = std::mem::take(&mut *lock(&shared.history));
        Calls {
            answered,
            unanswered,
            silence,
            history,
            total,
        }
    }
}

impl Shared {
    fn call_until_the_end(&self, number: u64, ends: &Receiver<()>) {
        for call in 0.. {
            // Also the pause between two calls.
            if ends.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let chance = mix(number << 32 | call);
            let account = (chance % ACCOUNTS as u64) as usize;
            let cents = (chance >> 40) % 100 + 1;
            let action = match chance >> 32 & 3 {
                0 | 1 => Action::Deposit(cents),
                2 => Action::Withdraw(cents),
                _ => Action::Balance,
            };
            let ret = self.call(number, account, action);
            let count = if ret.is_some() {
                &self.answered
            } else {
                &self.unanswered
            };
            count.fetch_add(1, SeqCst);
        }
    }

    /// Asks for the balance of an account until an answer arrives or the time `until` is reached.
    /// Repeats the question, because a question is lost if the node of the account is killed.
    fn last_balance(&self, account: usize, until: Instant) -> Option<Ret> {
        let mut balance = None;
        while balance.is_none() && Instant::now() < until {
            balance = self.call(CALLERS, account, Action::Balance);
        }
        balance
    }

    /// Calls an account, and records the call and the answer in the history. Returns `None` if
    /// there was no answer.
    fn call(&self, caller: u64, account: usize, action: Action) -> Option<Ret> {
        let recorded = lock(&self.history).invoke(caller, Op { account, action });
        // Without an answer, the call may have taken effect.
        let ret = ask(&self.accounts[account], action).ok()?;
        lock(&self.history).complete(recorded, ret);
        let mut silence = lock(&self.silence);
        silence.longest = silence.last[account].elapsed().max(silence.longest);
        silence.last[account] = Instant::now();
        Some(ret)
    }
}

/// Calls an account, and waits for the answer.
pub(super) fn ask(account: &Address<Order>, action: Action) -> std::result::Result<Ret, NoReply> {
    match action {
        Action::Balance => account
            .ask(Order::Balance)
            .wait_timeout(LIMIT)
            .map(Ret::Amount),
        Action::Deposit(cents) => {
            let deposit = |reply| Order::Deposit { cents, reply };
            account.ask(deposit).wait_timeout(LIMIT).map(Ret::Amount)
        }
        Action::Withdraw(cents) => {
            let withdraw = |reply| Order::Withdraw { cents, reply };
            let after = account.ask(withdraw).wait_timeout(LIMIT)?;
            Ok(after.map_or(Ret::Refused, Ret::Amount))
        }
    }
}
