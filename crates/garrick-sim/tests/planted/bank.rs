//! Tellers read a balance, add to it, and write it. If two tellers do this at the same time, a
//! deposit is lost.

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::Sim;

use crate::{assert_all_right, assert_found, assert_right};

/// A fact: the balance after a change.
#[derive(Debug)]
struct Balance(u32);

struct Account {
    balance: u32,
}

enum Request {
    Read(Reply<u32>),
    Write(u32),
    Add(u32),
}

impl Actor for Account {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Read(reply) => return reply.send(self.balance),
            Request::Write(balance) => self.balance = balance,
            Request::Add(amount) => self.balance += amount,
        }
        cx.note(Balance(self.balance));
    }
}

struct Teller {
    account: Address<Request>,
    reads_first: bool,
}

enum Task {
    Deposit(u32),
    Read(u32, Result<u32, NoReply>),
}

impl Actor for Teller {
    type Msg = Task;
    type Outcome = ();

    fn receive(&mut self, task: Task, cx: &mut Context<'_, Task>) {
        match task {
            Task::Deposit(amount) if self.reads_first => {
                cx.ask(&self.account, Request::Read, move |read| {
                    Task::Read(amount, read)
                });
            }
            Task::Deposit(amount) => drop(cx.send(&self.account, Request::Add(amount))),
            Task::Read(amount, Ok(balance)) => {
                drop(cx.send(&self.account, Request::Write(balance + amount)));
            }
            Task::Read(..) => {}
        }
    }
}

fn bank(sim: &mut Sim, tellers: u32, reads_first: bool) {
    let node = sim.node("bank");
    let account = node.spawn(Account { balance: 0 }).unwrap();
    for _ in 0..tellers {
        let account = account.clone();
        let teller = node
            .spawn(Teller {
                account,
                reads_first,
            })
            .unwrap();
        teller.send(Task::Deposit(1)).unwrap();
    }
    sim.at_end("all deposits count", move |facts| {
        facts
            .last::<Balance>()
            .is_some_and(|balance| balance.0 == tellers)
    });
}

#[test]
fn a_lost_update_is_found() {
    assert_found("bank", "all deposits count", |sim| bank(sim, 2, true));
}

#[test]
fn a_bank_that_adds_is_right() {
    assert_right("bank that adds", |sim| bank(sim, 3, false));
    assert_all_right("bank that adds, all orders", 1000, |sim| {
        bank(sim, 4, false);
    });
}
