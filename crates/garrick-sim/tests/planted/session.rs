//! An async actor reads a stock, waits, and then takes an item. Two such actors sell the last item
//! twice.

use garrick_actor::{Actor, Context, Incoming, Reply};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the number of items after a sale.
#[derive(Debug)]
struct Left(i32);

struct Stock(i32);

enum Request {
    Count(Reply<i32>),
    Take(Reply<bool>),
    TakeIfSome(Reply<bool>),
}

impl Actor for Stock {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Count(reply) => reply.send(self.0),
            Request::TakeIfSome(reply) if self.0 == 0 => reply.send(false),
            Request::Take(reply) | Request::TakeIfSome(reply) => {
                self.0 -= 1;
                cx.note(Left(self.0));
                reply.send(true);
            }
        }
    }
}

fn shop(sim: &mut Sim, counts_first: bool) {
    let node = sim.node("shop");
    let stock = node.spawn(Stock(1)).unwrap();
    for _ in 0..2 {
        let stock = stock.clone();
        let session = node.spawn(async move |mut orders: Incoming<()>| {
            while orders.recv().await.is_some() {
                if !counts_first {
                    let _ = stock.ask(Request::TakeIfSome).await;
                } else if stock.ask(Request::Count).await.unwrap_or(0) > 0 {
                    let _ = stock.ask(Request::Take).await;
                }
            }
        });
        session.unwrap().send(()).unwrap();
    }
    sim.always("no item is sold twice", |facts| {
        facts.last::<Left>().is_none_or(|left| left.0 >= 0)
    });
}

#[test]
fn an_item_that_is_sold_twice_is_found() {
    assert_found("shop", "no item is sold twice", |sim| shop(sim, true));
}

#[test]
fn a_shop_that_takes_at_once_is_right() {
    assert_right("shop that takes at once", |sim| shop(sim, false));
}
