//! The bank as actors of Garrick.

use garrick::prelude::*;
use garrick::sim::Sim;

/// The balance after a change.
#[derive(Debug)]
struct Balance(u32);

struct Account(u32);

enum Request {
    Read(Reply<u32>),
    Write(u32),
}

impl Actor for Account {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Read(reply) => reply.send(self.0),
            Request::Write(balance) => {
                self.0 = balance;
                cx.note(Balance(balance));
            }
        }
    }
}

struct Teller(Address<Request>);

enum Task {
    Deposit,
    Add(u32),
}

impl Actor for Teller {
    type Msg = Task;
    type Outcome = ();

    fn receive(&mut self, task: Task, cx: &mut Context<'_, Task>) {
        match task {
            Task::Deposit => cx.ask(&self.0, Request::Read, |read| Task::Add(read.unwrap_or(0))),
            Task::Add(balance) => drop(cx.send(&self.0, Request::Write(balance + 1))),
        }
    }
}

pub(super) fn bank(sim: &mut Sim) {
    let node = sim.node("bank");
    let account = node.spawn(Account(0)).unwrap();
    for _ in 0..2 {
        let teller = node.spawn(Teller(account.clone())).unwrap();
        teller.send(Task::Deposit).unwrap();
    }
    sim.at_end("both deposits count", |facts| {
        facts
            .last::<Balance>()
            .is_some_and(|balance| balance.0 == 2)
    });
}
