//! Two nodes with counters.

use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply, System};
use garrick_cluster::{Carrier, Node, Wire};
use garrick_testkit::{ByHand, ms};

use crate::forged::Forged;
use crate::spy::Spy;

/// A message to a counter.
#[derive(Wire)]
#[wire(name = "test.Msg", context = Carrier)]
pub(crate) enum Msg {
    Add(u64),
    Get(Reply<u64>),
    /// Request to keep an address, and to add 1 to the counter that it leads to.
    Keep(Address<Msg>),
    /// A question that the counter keeps without an answer.
    Wait(Reply<u64>),
    /// Request to answer the questions that the counter has kept.
    Answer(u64),
    Text(String),
    /// Asks for a text with this number of bytes.
    Large(u64, Reply<String>),
    /// Asks for the addresses of this number of new counters.
    Children(u64, Reply<Vec<Address<Msg>>>),
    /// Asks for the addresses of this number of new counters, and keeps the counters.
    Keeps(u64, Reply<Vec<Address<Msg>>>),
    /// Request to keep some of these addresses.
    KeepAll(Vec<Address<Msg>>),
    /// A question that the counter keeps until it is asked for texts.
    WaitText(Reply<String>),
    /// Request to do much in one turn.
    Much(Much),
}

/// Request to send texts of 1,000 bytes to an address, to answer all questions for texts with texts
/// of this number of bytes, and to send the same texts again. So the turn sends messages before and
/// after the answers.
#[derive(Wire)]
#[wire(name = "test.Much", context = Carrier)]
pub(crate) struct Much {
    pub(crate) to: Address<Msg>,
    pub(crate) texts: u64,
    pub(crate) answer: u64,
    /// Watches the address this number of times before the last texts.
    pub(crate) watches: u64,
}

/// A counter that keeps addresses and questions.
#[derive(Default)]
pub(crate) struct Counter {
    sum: u64,
    kept: Vec<Address<Msg>>,
    questions: Vec<Reply<u64>>,
    texts: Vec<Reply<String>>,
}

impl Counter {
    /// Sends messages, answers, watches and messages in one turn.
    fn much(&mut self, much: &Much, cx: &Context<'_, Msg>) {
        let send = || {
            for _ in 0..much.texts {
                cx.send(&much.to, Msg::Text("t".repeat(1_000))).unwrap();
            }
        };
        send();
        for reply in self.texts.drain(..) {
            reply.send("x".repeat(much.answer as usize));
        }
        for _ in 0..much.watches {
            much.to.watch(|_| ());
        }
        send();
    }

    fn children(count: u64, cx: &Context<'_, Msg>) -> Vec<Address<Msg>> {
        (0..count).map(|_| cx.spawn(Self::default())).collect()
    }
}

impl Actor for Counter {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Add(number) => self.sum = self.sum.wrapping_add(number),
            Msg::Get(reply) => reply.send(self.sum),
            Msg::Keep(address) => {
                // Some of these lead nowhere.
                let _ = cx.send(&address, Msg::Add(1));
                self.kept.push(address);
                self.kept.truncate(10);
            }
            Msg::Wait(reply) => self.questions.push(reply),
            Msg::Answer(number) => self
                .questions
                .drain(..)
                .for_each(|reply| reply.send(number)),
            Msg::Text(text) => self.sum += text.len() as u64,
            // An enemy may ask for any number.
            Msg::Large(bytes, reply) => reply.send("x".repeat(bytes.min(1 << 20) as usize)),
            Msg::Children(count, reply) => reply.send(Self::children(count.min(1_000), cx)),
            Msg::Keeps(count, reply) => {
                let children = Self::children(count.min(1_000), cx);
                self.kept.extend(children.iter().cloned());
                reply.send(children);
            }
            Msg::KeepAll(addresses) => self.kept.extend(addresses.into_iter().take(10)),
            Msg::WaitText(reply) => self.texts.push(reply),
            Msg::Much(much) => self.much(&much, cx),
        }
    }
}

/// Returns the output of a future, if it is ready.
pub(crate) fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Two nodes on one thread. Each offers a counter. The value also contains the address by which the
/// client reaches the server's counter.
pub(crate) struct Pair {
    clock: Arc<ByHand>,
    pub(crate) local: Local,
    pub(crate) spy: Spy,
    pub(crate) server: Node,
    pub(crate) client: Node,
    pub(crate) counter: Address<Msg>,
    pub(crate) far: Address<Msg>,
}

impl Pair {
    /// Creates two nodes that have not met.
    pub(crate) fn new() -> Self {
        Self::on(Spy::default())
    }

    /// Creates two nodes on a network that refuses frames of more than `max_frame` bytes.
    pub(crate) fn with_frames_of(max_frame: usize) -> Self {
        let spy = Spy::default();
        spy.limit(max_frame);
        Self::on(spy)
    }

    fn on(spy: Spy) -> Self {
        let clock = ByHand::new();
        let local = System::builder().world(clock.clone()).local().unwrap();
        let handle = local.handle();
        let server = Node::join(&handle, spy.clone(), "test", "server").unwrap();
        let client = Node::join(&handle, spy.clone(), "test", "client").unwrap();
        let counter = local.spawn(Counter::default());
        server.offer("counter", &counter);
        client.offer("counter", &counter);
        let far = client.service("server", "counter").unwrap();
        Self {
            clock,
            local,
            spy,
            server,
            client,
            counter,
            far,
        }
    }

    /// Creates two nodes after the client has sent a message to the server.
    pub(crate) fn met() -> Self {
        let pair = Self::new();
        pair.far.send(Msg::Add(1)).unwrap();
        pair.run();
        assert_eq!(pair.server.sample().delivered, 1);
        pair
    }

    /// Lets the nodes exchange messages of all kinds. Returns the frames that were sent to the
    /// server.
    pub(crate) fn talk(&self) -> Vec<Vec<u8>> {
        self.far.send(Msg::Add(1)).unwrap();
        self.far.send(Msg::Keep(self.far.clone())).unwrap();
        self.far.watch(|_| ());
        let ask = self.far.ask(Msg::Get);
        self.run();
        drop(ask);
        self.spy.frames("server")
    }

    /// Runs the nodes until all messages are handled.
    pub(crate) fn run(&self) {
        self.local.run();
    }

    /// Lets time pass, half a second at a time.
    pub(crate) fn pass(&self, halves: u32) {
        for _ in 0..halves {
            self.clock.advance(ms(500));
            self.run();
        }
    }

    /// Asks the server's counter for its sum. Returns `None` if the answer does not come at once.
    pub(crate) fn get(&self, far: &Address<Msg>) -> Option<Result<u64, NoReply>> {
        let ask = far.ask(Msg::Get);
        self.run();
        ready(ask)
    }

    /// Returns the addresses of new counters of the server.
    pub(crate) fn children(&self, count: u64) -> Vec<Address<Msg>> {
        let ask = self.far.ask(|reply| Msg::Children(count, reply));
        self.run();
        ready(ask).unwrap().unwrap()
    }

    /// Returns a forged frame to a node. The frame has the number `number` in the first session
    /// with this node.
    pub(crate) fn forge(&self, to: &str, number: u64) -> Forged {
        Forged::like(&self.spy.frames(to)[0], number)
    }

    /// Sends a frame to the server, as if it came over the network.
    pub(crate) fn inject(&self, frame: Vec<u8>) {
        self.spy.inject("server", frame);
        self.run();
    }

    /// Checks that the nodes work.
    pub(crate) fn check(&self) {
        assert!(!self.counter.is_stopped());
        // A session that was damaged ends within some seconds.
        for _ in 0..20 {
            let _ = self.far.send(Msg::Add(0));
            self.run();
            self.pass(1);
        }
        let got = self.get(&self.far);
        let samples = (self.server.sample(), self.client.sample());
        assert!(matches!(got, Some(Ok(_))), "{got:?} {samples:?}");
        self.check_links();
    }

    /// Checks that no link has failed.
    pub(crate) fn check_links(&self) {
        assert_eq!(self.local.handle().failures(), 0);
    }
}
