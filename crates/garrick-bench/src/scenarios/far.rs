//! Messages and questions to an actor on another node.

use std::hint::black_box;
use std::sync::mpsc;

use garrick::cluster::{Carrier, LocalNet, Node, Travels};
use garrick::wire::Wire;
use garrick::{Actor, Address, Context, Next, NoReply, Reply, System};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{BURST, send_in, sent, worker};

pub(super) const TELL_FAR: Scenario = Scenario {
    name: "tell-far",
    operation: "one message of 16 bytes from an actor to an actor on another node of the process, \
                encoded, sent, decoded and handled; each node has a system of one worker; the \
                sender sends 256 messages per turn, with at most 32 such bursts in flight: the \
                receiver sends back a credit for each burst",
    contenders: |_: &Effort| {
        vec![
            Contender::fitted("garrick", tell_far)
                .with("burst", BURST)
                .with("bursts_open", BURSTS_OPEN),
        ]
    },
};

pub(super) const ASK_FAR: Scenario = Scenario {
    name: "ask-far",
    operation: "one question from an actor to an actor on another node of the process, and its \
                answer, one after another; each node has a system of one worker",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ask_far)],
};

/// Number of bursts that may be in flight.
const BURSTS_OPEN: u64 = 32;

/// A message of 16 bytes.
#[derive(Wire)]
#[wire(name = "bench.Number")]
struct Number {
    first: u64,
    second: u64,
}

/// A message that allows the [`Teller`] to send one more burst.
#[derive(Wire)]
#[wire(name = "bench.Credit")]
struct Credit(u64);

/// A question, with the reply through which the receiver sends back a number.
#[derive(Wire)]
#[wire(name = "bench.Question", context = Carrier)]
struct Question(Reply<u64>);

/// Name of the cluster, and of the service that each node offers.
const SERVICE: &str = "bench";

/// A node of a cluster, and its actor system with one worker.
struct Place {
    system: System,
    node: Node,
}

impl Place {
    fn new(net: &LocalNet, name: &str) -> Result<Self> {
        let system = worker(name)?;
        let node = Node::join(&system.handle(), net.clone(), SERVICE, name)?;
        Ok(Self { system, node })
    }

    /// Spawns an actor, and offers it to the other node as a service.
    fn offer<A: Actor + Send>(&self, actor: A) -> Result<Address<A::Msg>>
    where
        A::Msg: Travels,
    {
        let address = self.system.spawn(actor)?;
        self.node.offer(SERVICE, &address);
        Ok(address)
    }
}

/// The sender. Every credit that arrives allows the sender to send one more burst.
struct Teller {
    to: Address<Number>,
    /// Number of bursts that have not been sent yet.
    left: u64,
}

impl Actor for Teller {
    type Msg = Credit;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, Credit(first): Credit, cx: &mut Context<'_, Credit>) -> Next {
        if self.left > 0 {
            self.left -= 1;
            for second in 0..BURST {
                if cx.send(&self.to, Number { first, second }).is_err() {
                    return Next::Stop;
                }
            }
        }
        Next::Continue
    }
}

/// The receiver, which counts messages. After each burst, the receiver allows the sender to send
/// one more burst.
struct Counter {
    teller: Address<Credit>,
    /// Number of messages that have not arrived yet.
    left: u64,
    done: mpsc::Sender<()>,
}

impl Actor for Counter {
    type Msg = Number;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, number: Number, cx: &mut Context<'_, Number>) -> Next {
        let Number { first, second } = black_box(number);
        self.left -= 1;
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        if second + 1 == BURST {
            return sent(&cx.send(&self.teller, Credit(first)));
        }
        Next::Continue
    }
}

fn tell_far(ops: u64) -> Result<Measured> {
    let bursts = ops.div_ceil(BURST);
    let net = LocalNet::new();
    let (near, far) = (Place::new(&net, "near")?, Place::new(&net, "far")?);
    let (done, waiting) = mpsc::channel();
    far.offer(Counter {
        teller: far.node.service("near", SERVICE)?,
        left: bursts * BURST,
        done,
    })?;
    let teller = near.offer(Teller {
        to: near.node.service("far", SERVICE)?,
        left: bursts,
    })?;
    let watch = Stopwatch::start(Clock::Process);
    for burst in 0..BURSTS_OPEN {
        send_in(&teller, Credit(burst));
    }
    waiting.recv()?;
    Ok(Measured::new(bursts * BURST, watch.stop()))
}

/// An actor that answers each question with the number of questions that it has received so far.
struct Answerer(u64);

impl Actor for Answerer {
    type Msg = Question;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, Question(reply): Question, _: &mut Context<'_, Question>) {
        self.0 += 1;
        reply.send(self.0);
    }
}

/// An actor that asks one question at a time.
struct Asker {
    to: Address<Question>,
    /// Number of questions that have not been asked yet.
    left: u64,
    done: mpsc::Sender<()>,
}

enum Event {
    Start,
    Answered(std::result::Result<u64, NoReply>),
}

impl Actor for Asker {
    type Msg = Event;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) -> Next {
        if let Event::Answered(Err(error)) = event {
            return cx.fail(error);
        }
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        self.left -= 1;
        cx.ask(&self.to, Question, Event::Answered);
        Next::Continue
    }
}

fn ask_far(ops: u64) -> Result<Measured> {
    let net = LocalNet::new();
    let (near, far) = (Place::new(&net, "near")?, Place::new(&net, "far")?);
    far.offer(Answerer(0))?;
    let (done, waiting) = mpsc::channel();
    let asker = near.system.spawn(Asker {
        to: near.node.service("far", SERVICE)?,
        left: ops,
        done,
    })?;
    let watch = Stopwatch::start(Clock::Process);
    send_in(&asker, Event::Start);
    waiting.recv()?;
    Ok(Measured::new(ops, watch.stop()))
}
