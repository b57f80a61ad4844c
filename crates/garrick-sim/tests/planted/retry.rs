//! A client repeats a request after a timeout. A server that does not recognize a repeated request
//! counts it twice.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Reply, Timer};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the server has counted a withdrawal.
#[derive(Debug)]
struct Withdrawn;

struct Withdraw {
    request: u32,
    reply: Reply<()>,
}

struct Server {
    done: Vec<u32>,
    recognizes: bool,
}

impl Actor for Server {
    type Msg = Withdraw;
    type Outcome = ();

    fn receive(&mut self, withdraw: Withdraw, cx: &mut Context<'_, Withdraw>) {
        if !self.recognizes || !self.done.contains(&withdraw.request) {
            self.done.push(withdraw.request);
            cx.note(Withdrawn);
        }
        withdraw.reply.send(());
    }
}

struct Client {
    server: Address<Withdraw>,
    is_done: bool,
    left: u32,
    timer: Option<Timer>,
}

enum Event {
    Send,
    Done,
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Done => {
                self.is_done = true;
                if let Some(timer) = self.timer.take() {
                    timer.cancel();
                }
            }
            Event::Send if self.is_done || self.left == 0 => {}
            Event::Send => {
                self.left -= 1;
                let question = |reply| Withdraw { request: 1, reply };
                cx.ask(&self.server, question, |_| Event::Done);
                let after = Duration::from_millis(100);
                self.timer = cx.start_timer(after, &cx.address(), Event::Send).ok();
            }
        }
    }
}

fn retry(sim: &mut Sim, recognizes: bool) {
    let server = sim.node("server").spawn(Server {
        done: Vec::new(),
        recognizes,
    });
    let client = sim.node("client").spawn(Client {
        server: server.unwrap(),
        is_done: false,
        left: 3,
        timer: None,
    });
    client.unwrap().send(Event::Send).unwrap();
    sim.always("withdrawn once", |facts| {
        facts.seen::<Withdrawn>().len() <= 1
    });
    sim.eventually("withdrawn", Duration::from_secs(1), |facts| {
        facts.seen::<Withdrawn>().len() == 1
    });
}

#[test]
fn a_repeated_request_is_found() {
    assert_found("retry", "withdrawn once", |sim| retry(sim, false));
}

#[test]
fn a_server_that_recognizes_requests_is_right() {
    assert_right("retry that is recognized", |sim| retry(sim, true));
}

#[test]
fn a_repeated_request_is_found_only_if_the_network_is_slow() {
    // With delays, a request is repeated only if the answer takes longer than the timeout.
    assert_right("retry, fast network", |sim| {
        sim.latency(Duration::from_millis(1)..Duration::from_millis(40));
        retry(sim, false);
    });
    assert_found("retry, slow network", "withdrawn once", |sim| {
        sim.latency(Duration::from_millis(1)..Duration::from_millis(80));
        retry(sim, false);
    });
}

#[test]
fn a_lost_request_is_repeated() {
    assert_right("retry of what is lost", |sim| {
        sim.latency(Duration::from_millis(1)..Duration::from_millis(10));
        sim.links().all().loses(100);
        // Three requests in a row are lost in about one of 1,000 runs.
        retry_many(sim);
    });
}

/// A version of `retry` that repeats the request so often that the links never lose all
/// repetitions.
fn retry_many(sim: &mut Sim) {
    let server = sim.node("server").spawn(Server {
        done: Vec::new(),
        recognizes: true,
    });
    let client = sim.node("client").spawn(Client {
        server: server.unwrap(),
        is_done: false,
        left: 50,
        timer: None,
    });
    client.unwrap().send(Event::Send).unwrap();
    sim.at_end("withdrawn once", |facts| {
        facts.seen::<Withdrawn>().len() == 1
    });
}
