//! A replicated register returns old values if it answers reads from the nearest replica.

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::Sim;
use garrick_sim::history::models::register::{Op, Register, Ret};
use garrick_sim::history::{Called, Returned};

use crate::{assert_found, assert_right};

/// An actor that keeps a copy of the value.
struct Replica(u32);

enum Request {
    Read(Reply<u32>),
    Write(u32, Reply<()>),
    /// Writes the value at this replica, then at the next one, and then answers.
    Pass(u32, Address<Request>, Reply<()>),
}

impl Actor for Replica {
    type Msg = Request;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Read(reply) => reply.send(self.0),
            Request::Write(value, reply) => {
                self.0 = value;
                reply.send(());
            }
            Request::Pass(value, next, reply) => {
                self.0 = value;
                let _ = cx.send(&next, Request::Write(value, reply));
            }
        }
    }
}

/// A client that reads, perhaps after it has written its number.
struct Client {
    number: u32,
    head: Address<Request>,
    tail: Address<Request>,
    reads_from: Address<Request>,
    reads_left: u32,
}

enum Event {
    Write,
    Begin,
    Written(Result<(), NoReply>),
    Read(Result<u32, NoReply>),
}

impl Client {
    fn read(&mut self, cx: &Context<'_, Event>) {
        if self.reads_left > 0 {
            self.reads_left -= 1;
            cx.note(Called {
                client: u64::from(self.number),
                op: Op::<u32>::Read,
            });
            cx.ask(&self.reads_from, Request::Read, Event::Read);
        }
    }
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        let number = self.number;
        let client = u64::from(number);
        let ret = match event {
            Event::Write => {
                let op = Op::Write(number);
                cx.note(Called { client, op });
                let tail = self.tail.clone();
                let write = move |reply| Request::Pass(number, tail, reply);
                cx.ask_once(&self.head, write, Event::Written);
                return;
            }
            Event::Begin => return self.read(cx),
            Event::Written(Ok(())) => Ret::Written,
            Event::Read(Ok(value)) => Ret::Value(value),
            Event::Written(Err(_)) | Event::Read(Err(_)) => return,
        };
        cx.note(Returned { client, ret });
        self.read(cx);
    }
}

fn register(sim: &mut Sim, reads_from_head: bool) {
    let head = sim.node("head").spawn(Replica(0)).unwrap();
    let tail = sim.node("tail").spawn(Replica(0)).unwrap();
    for number in 1..=3 {
        // The others read where the value is final.
        let reads_from = if reads_from_head && number == 1 {
            &head
        } else {
            &tail
        };
        let client = sim.node("clients").spawn(Client {
            number,
            head: head.clone(),
            tail: tail.clone(),
            reads_from: reads_from.clone(),
            reads_left: 1,
        });
        let begin = if number != 2 {
            Event::Begin
        } else {
            Event::Write
        };
        client.unwrap().send(begin).unwrap();
    }
    sim.linearizable(Register::new(0_u32));
}

#[test]
fn a_value_that_is_read_too_early_is_found() {
    assert_found("register", "linearizable", |sim| register(sim, true));
}

#[test]
fn a_chain_that_is_read_at_its_end_is_right() {
    assert_right("register that is read at its end", |sim| {
        register(sim, false);
    });
}
