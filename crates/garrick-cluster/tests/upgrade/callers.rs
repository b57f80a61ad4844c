//! Programs of both versions that call accounts. Each program has its own node, which runs no
//! accounts.

use std::ops::Range;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply, Reply};
use garrick_cluster::{Entities, Node};
use garrick_core::random::mix;
use garrick_sim::Node as SimNode;

use crate::Shared;
use crate::account::{newer, older};
use crate::lives::Version;

/// Number of accounts. The next constant is the time between two calls of a caller.
const ACCOUNTS: u64 = 24;
const PAUSE: Duration = Duration::from_millis(50);

/// A fact: a call has ended.
#[derive(Debug)]
pub(crate) struct Answered {
    /// Duration of the call, or the reason why there is no answer.
    pub(crate) took: Result<Duration, String>,
    /// True for a call with the new variant.
    pub(crate) is_new: bool,
}

/// Plan of the calls of one caller.
pub(crate) struct Plan {
    pub(crate) handle: Handle,
    pub(crate) shared: Shared,
    pub(crate) name: &'static str,
    pub(crate) version: Version,
    /// Period in which the caller uses the new variant.
    pub(crate) news: Option<Range<Duration>>,
    pub(crate) last: Duration,
}

/// Implemented by the messages that each version of the program sends to an account.
trait Orders: Sized + Send + 'static {
    /// Returns the addresses of the accounts.
    fn accounts(entities: &Entities) -> Vec<Address<Self>>;

    /// Returns a message that deposits an amount. Uses the new variant if this version has it.
    fn pay_in(amount: u64, is_new: bool, reply: Reply<u64>) -> Self;

    fn read(reply: Reply<u64>) -> Self;
}

impl Orders for older::Order {
    fn accounts(entities: &Entities) -> Vec<Address<Self>> {
        let account = |key: u64| entities.get(older::ACCOUNT, &key.to_string()).unwrap();
        (0..ACCOUNTS).map(account).collect()
    }

    fn pay_in(amount: u64, _: bool, reply: Reply<u64>) -> Self {
        Self::PayIn { amount, reply }
    }

    fn read(reply: Reply<u64>) -> Self {
        Self::Read(reply)
    }
}

impl Orders for newer::Order {
    fn accounts(entities: &Entities) -> Vec<Address<Self>> {
        let account = |key: u64| entities.get(newer::ACCOUNT, &key.to_string()).unwrap();
        (0..ACCOUNTS).map(account).collect()
    }

    fn pay_in(amount: u64, is_new: bool, reply: Reply<u64>) -> Self {
        if is_new {
            let times = 1;
            return Self::PayInOften {
                amount,
                times,
                reply,
            };
        }
        Self::PayIn {
            amount,
            reply,
            // An older program skips it.
            note: "rent".to_owned(),
        }
    }

    fn read(reply: Reply<u64>) -> Self {
        Self::Read(reply)
    }
}

/// Spawns a caller.
pub(crate) fn spawn(on: &SimNode, plan: Plan) {
    match plan.version {
        Version::Older => drop(on.spawn(Caller::<older::Order>::new(plan)).unwrap()),
        Version::Newer => drop(on.spawn(Caller::<newer::Order>::new(plan)).unwrap()),
    }
}

/// A caller, which calls accounts at fixed times, even if earlier calls have no answer yet.
struct Caller<O> {
    plan: Plan,
    joined: Option<(Node, Entities)>,
    accounts: Vec<Address<O>>,
    calls: u64,
    /// Minimum balance of each account: the sum of the confirmed deposits.
    sums: Vec<u64>,
}

enum ToCaller {
    Next,
    Answer {
        account: usize,
        amount: u64,
        is_new: bool,
        began: u64,
        /// Minimum balance of the account at the start of the call.
        before: u64,
        answer: Result<u64, NoReply>,
    },
    Leave,
}

impl<O: Orders> Caller<O> {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            joined: None,
            accounts: Vec::new(),
            calls: 0,
            sums: vec![0; ACCOUNTS as usize],
        }
    }

    fn call(&mut self, cx: &Context<'_, ToCaller>) {
        let account = (mix(self.calls) % ACCOUNTS) as usize;
        // Each third call only reads.
        let amount = if self.calls.is_multiple_of(3) {
            0
        } else {
            1 + self.calls % 7
        };
        self.calls += 1;
        let (began, before) = (cx.now(), self.sums[account]);
        let news = self.plan.news.as_ref();
        let is_new =
            amount > 0 && news.is_some_and(|news| news.contains(&Duration::from_nanos(began)));
        let order = move |reply| match amount {
            0 => O::read(reply),
            _ => O::pay_in(amount, is_new, reply),
        };
        cx.ask_once(&self.accounts[account], order, move |answer| {
            ToCaller::Answer {
                account,
                amount,
                is_new,
                began,
                before,
                answer,
            }
        });
    }
}

impl<O: Orders> Actor for Caller<O> {
    type Msg = ToCaller;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToCaller>) {
        let Plan {
            handle,
            shared,
            name,
            last,
            ..
        } = &self.plan;
        let node = Node::join(handle, shared.net.clone(), "test", name).unwrap();
        let entities = Entities::start(&node, shared.placement.clone()).unwrap();
        self.accounts = O::accounts(&entities);
        self.joined = Some((node, entities));
        let me = cx.address();
        let _ = cx.send(&me, ToCaller::Next);
        let _ = cx.send_after(*last + Duration::from_secs(5), &me, ToCaller::Leave);
    }

    fn receive(&mut self, message: ToCaller, cx: &mut Context<'_, ToCaller>) {
        match message {
            ToCaller::Next if cx.now() < self.plan.last.as_nanos() as u64 => {
                self.call(cx);
                let me = cx.address();
                let _ = cx.send_after(PAUSE, &me, ToCaller::Next);
            }
            ToCaller::Next => {}
            ToCaller::Answer {
                account,
                amount,
                is_new,
                began,
                before,
                answer,
            } => {
                let took = Duration::from_nanos(cx.now() - began);
                if let Ok(sum) = answer {
                    assert!(sum >= before + amount, "{sum} after {before} and {amount}");
                    self.sums[account] += amount;
                }
                let took = answer
                    .map(|_| took)
                    .map_err(|why| format!("{why} at {:?}", Duration::from_nanos(began)));
                cx.note(Answered { took, is_new });
            }
            ToCaller::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}
