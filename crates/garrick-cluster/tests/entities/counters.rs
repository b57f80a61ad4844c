//! Counters, which are the entities of the tests, and their clients.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply, Pending, Reply};
use garrick_cluster::{Carrier, Kind, Wire};
use garrick_core::random::mix;

pub(crate) const COUNTER: Kind<Count> = Kind::new("counter");

/// Keys of the counters.
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];

/// A message to a counter.
#[derive(Wire)]
#[wire(name = "test.Count", context = Carrier)]
pub(crate) enum Count {
    Tell {
        client: u64,
        number: u64,
    },
    Ask {
        client: u64,
        number: u64,
        reply: Reply<u64>,
    },
}

/// A fact: a counter has handled a message. Recorded when the turn commits.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) key: &'static str,
    /// Number of the instance of the counter. Each instance has a different number.
    pub(crate) instance: u64,
    pub(crate) client: u64,
    pub(crate) number: u64,
}

/// A fact: a client has asked a question. The next type is the fact that a client has received an
/// answer.
#[derive(Debug)]
pub(crate) struct Asked(pub(crate) u64, pub(crate) u64);
#[derive(Debug)]
pub(crate) struct Answered(
    pub(crate) u64,
    pub(crate) u64,
    pub(crate) Result<u64, NoReply>,
);

/// A fact: a message was handled.
#[derive(Debug)]
pub(crate) struct Took;

pub(crate) struct Counter {
    pub(crate) key: &'static str,
    pub(crate) instance: u64,
}

impl Actor for Counter {
    type Msg = Count;
    type Outcome = ();

    fn receive(&mut self, count: Count, cx: &mut Context<'_, Count>) {
        let (client, number) = match count {
            Count::Tell { client, number } => (client, number),
            Count::Ask {
                client,
                number,
                reply,
            } => {
                reply.send(self.instance);
                (client, number)
            }
        };
        cx.note(Ran {
            key: self.key,
            instance: self.instance,
            client,
            number,
        });
    }
}

/// A counter with some slow turns. Another actor, the clerk, commits these turns some time after
/// they have ended.
pub(crate) struct SlowCounter {
    pub(crate) counter: Counter,
    pub(crate) clerk: Address<ToClerk>,
}

impl Actor for SlowCounter {
    type Msg = Count;
    type Outcome = ();
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, count: Count, cx: &mut Context<'_, Count>) {
        let (Count::Tell { client, number } | Count::Ask { client, number, .. }) = count;
        let chance = mix(number << 32 | client);
        self.counter.receive(count, cx);
        if chance.is_multiple_of(8) {
            let clerk = self.clerk.clone();
            let time = Duration::from_millis(500 + (chance >> 32) % 2_500);
            cx.commit_later(move |turn| {
                // A turn whose message is dropped is undone.
                let _ = clerk.send(ToClerk::Turn(turn, time));
            });
        }
    }
}

pub(crate) enum ToClerk {
    Turn(Pending, Duration),
    Commit(Pending),
}

/// The clerk, which commits turns after a delay.
pub(crate) struct Clerk;

impl Actor for Clerk {
    type Msg = ToClerk;
    type Outcome = ();

    fn receive(&mut self, message: ToClerk, cx: &mut Context<'_, ToClerk>) {
        match message {
            ToClerk::Turn(turn, time) => {
                let me = cx.address();
                let _ = cx.send_after(time, &me, ToClerk::Commit(turn));
            }
            ToClerk::Commit(turn) => turn.commit(),
        }
    }
}

pub(crate) enum ToClient {
    Next,
    Got(u64, Result<u64, NoReply>),
}

/// A client, which sends messages and questions to counters.
pub(crate) struct Client {
    pub(crate) client: u64,
    pub(crate) counters: Vec<Address<Count>>,
    pub(crate) number: u64,
    pub(crate) last: u64,
    pub(crate) only_tells: bool,
    pub(crate) pause: Duration,
}

impl Actor for Client {
    type Msg = ToClient;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToClient>) {
        let me = cx.address();
        let _ = cx.send(&me, ToClient::Next);
    }

    fn receive(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        match message {
            ToClient::Next if self.number < self.last => {
                self.number += 1;
                let (client, number) = (self.client, self.number);
                let chance = mix(client << 32 | number);
                let counter = &self.counters[chance as usize % self.counters.len()];
                if self.only_tells || chance & (1 << 40) == 0 {
                    if cx.send(counter, Count::Tell { client, number }).is_ok() {
                        cx.note(Took);
                    }
                } else {
                    cx.note(Asked(client, number));
                    let ask = move |reply| Count::Ask {
                        client,
                        number,
                        reply,
                    };
                    cx.ask(counter, ask, move |got| ToClient::Got(number, got));
                }
                let me = cx.address();
                let _ = cx.send_after(self.pause, &me, ToClient::Next);
            }
            ToClient::Next => {}
            ToClient::Got(number, got) => cx.note(Answered(self.client, number, got)),
        }
    }
}
