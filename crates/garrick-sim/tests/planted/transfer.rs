//! Money is taken from one account, and then put into another one by a later turn. If that turn
//! fails, the money is gone.

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the change of the balance of an account.
#[derive(Debug)]
struct Changed(i64);

struct Account(i64);

enum Request {
    Take(i64, Reply<i64>),
    Put(i64),
    Pass(i64, Address<Request>),
}

impl Actor for Account {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        let change = match request {
            Request::Take(amount, reply) => {
                reply.send(amount);
                -amount
            }
            Request::Put(amount) => amount,
            // Both changes belong to messages of one turn.
            Request::Pass(amount, to) => {
                let _ = cx.send(&to, Request::Put(amount));
                -amount
            }
        };
        self.0 += change;
        cx.note(Changed(change));
    }
}

struct Transfer {
    from: Address<Request>,
    to: Address<Request>,
    takes_first: bool,
}

enum Order {
    Go(i64),
    Taken(Result<i64, NoReply>),
}

impl Actor for Transfer {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::Go(amount) if self.takes_first => {
                cx.ask(
                    &self.from,
                    move |reply| Request::Take(amount, reply),
                    Order::Taken,
                );
            }
            Order::Go(amount) => {
                let _ = cx.send(&self.from, Request::Pass(amount, self.to.clone()));
            }
            Order::Taken(Ok(amount)) => drop(cx.send(&self.to, Request::Put(amount))),
            Order::Taken(Err(_)) => {}
        }
    }
}

fn transfers(sim: &mut Sim, takes_first: bool) {
    let node = sim.node("bank");
    let from = node.spawn(Account(100)).unwrap();
    let to = node.spawn(Account(0)).unwrap();
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .spawn(node.handle())
        .unwrap();
    let transfer = node
        .actor(move || Transfer {
            from: from.clone(),
            to: to.clone(),
            takes_first,
        })
        .named("transfer")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    for amount in 1..3 {
        transfer.send(Order::Go(amount)).unwrap();
    }
    sim.keep(tree);
    // The supervisor gives up after some failures.
    sim.allow_failures();
    sim.faults().turn_fails::<Transfer>(50);
    sim.at_end("no money is lost", |facts| {
        facts
            .seen::<Changed>()
            .map(|changed| changed.0)
            .sum::<i64>()
            == 0
    });
}

#[test]
fn lost_money_is_found() {
    assert_found("transfer", "no money is lost", |sim| transfers(sim, true));
}

#[test]
fn a_transfer_in_one_turn_is_right() {
    assert_right("transfer in one turn", |sim| transfers(sim, false));
}
