//! Actors on two nodes of Garrick, which meet on a NATS server.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use garrick::cluster::nats::NatsNet;
use garrick::cluster::{Carrier, Node};
use garrick::wire::Wire;
use garrick::{Actor, Address, Context, NoReply, Reply, System};
use garrick_measure::{Clock, Stopwatch};

use crate::far::child::{is_ready, wait_for_end};
use crate::far::near::{Count, Near, Place, Tally, answer_to, check, serve};
use crate::far::order::{Fault, SMALL};

/// Number of messages that the sender sends per turn.
const BATCH: u64 = 256;

/// Time after which the sender tries again if too much waits.
const AGAIN_AFTER: Duration = Duration::from_micros(100);

/// Maximum time until the receiving node is known, and has handled the messages that wait.
const JOINED_WITHIN: Duration = Duration::from_secs(30);

/// Names of the receiving node and of its service.
const FAR: &str = "far";
const SERVICE: &str = "receiver";

/// The number of worker threads of each node. The connection to the server has one more thread.
const WORKERS: usize = 1;

#[derive(Wire)]
#[wire(name = "far.Msg", context = Carrier)]
enum Msg {
    Small { first: u64, second: u64 },
    Bytes(Vec<u8>),
    Ask(u64, u64, Reply<u64>),
    Tally(Reply<(u64, u64)>),
}

/// Counts messages, and answers questions.
struct Receiver(Count);

impl Actor for Receiver {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        match msg {
            Msg::Small { first, second } => self.0.add(first, second),
            Msg::Bytes(content) => self.0.add_bytes(&content),
            Msg::Ask(first, second, reply) => reply.send(answer_to(first, second)),
            Msg::Tally(reply) => {
                let tally = self.0.tally();
                reply.send((tally.handled, tally.cpu_ns));
            }
        }
    }
}

/// Joins the cluster of the pair.
fn join(place: &Place, name: &str) -> Result<(System, Node), Fault> {
    let system = System::builder().workers(WORKERS).start()?;
    let net = NatsNet::builder(&place.server).start()?;
    let node = Node::join(&system.handle(), net, &place.name, name)?;
    Ok((system, node))
}

/// Runs the receiving process.
pub(in crate::far) fn far(place: &Place) -> Result<(), Fault> {
    let (system, node) = join(place, FAR)?;
    node.offer(SERVICE, &system.spawn(Receiver(Count::new()))?);
    is_ready("")?;
    wait_for_end();
    node.leave();
    Ok(())
}

/// Runs the sending process.
pub(in crate::far) fn near(place: &Place) -> Result<(), Fault> {
    let (system, node) = join(place, "near")?;
    let to = node.service(FAR, SERVICE)?;
    serve(Here { system, to })?;
    node.leave();
    Ok(())
}

struct Here {
    system: System,
    to: Address<Msg>,
}

impl Near for Here {
    fn tell(&mut self, bytes: usize, count: u64) -> Result<Option<Duration>, Fault> {
        let (done, is_done) = channel();
        let flood = Flood {
            to: self.to.clone(),
            bytes,
            sent: 0,
            count,
            cpu: Duration::ZERO,
            done,
        };
        let flood = self.system.spawn(flood)?;
        let turns = is_done.recv()?;
        drop(flood);
        Ok(Some(turns))
    }

    fn ask(&mut self, in_flight: usize, count: u64) -> Result<Vec<Duration>, Fault> {
        let (done, is_done) = channel();
        let asker = Asker {
            to: self.to.clone(),
            asked: 0,
            count,
            in_flight,
            times: Vec::new(),
            done,
        };
        let asker = self.system.spawn(asker)?;
        let times = is_done.recv()?;
        drop(asker);
        times
    }

    fn tally(&mut self) -> Result<Tally, Fault> {
        let began = Instant::now();
        loop {
            match self.to.ask(Msg::Tally).wait() {
                Ok((handled, cpu_ns)) => return Ok(Tally { handled, cpu_ns }),
                // The other node is not known yet, or too much waits for it.
                Err(_) if began.elapsed() < JOINED_WITHIN => thread::sleep(AGAIN_AFTER),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Sends a batch of messages in each turn, as fast as they are accepted.
struct Flood {
    to: Address<Msg>,
    bytes: usize,
    sent: u64,
    count: u64,
    /// Total CPU time of the turns.
    cpu: Duration,
    done: Sender<Duration>,
}

impl Flood {
    fn message(&self) -> Msg {
        let (first, second) = (self.sent, self.sent + 1);
        if self.bytes == SMALL {
            return Msg::Small { first, second };
        }
        let mut content = vec![7; self.bytes];
        content[..8].copy_from_slice(&first.to_le_bytes());
        content[8..16].copy_from_slice(&second.to_le_bytes());
        Msg::Bytes(content)
    }
}

impl Actor for Flood {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let _ = cx.send(&me, ());
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let me = cx.address();
        let watch = Stopwatch::start(Clock::Thread);
        for _ in 0..BATCH.min(self.count - self.sent) {
            if cx.send(&self.to, self.message()).is_err() {
                // Too much waits.
                self.cpu += watch.stop().cpu;
                let _ = cx.send_after(AGAIN_AFTER, &me, ());
                return;
            }
            self.sent += 1;
        }
        self.cpu += watch.stop().cpu;
        if self.sent < self.count {
            let _ = cx.send(&me, ());
        } else {
            let _ = self.done.send(self.cpu);
        }
    }
}

/// Asks questions, and waits for the answers.
struct Asker {
    to: Address<Msg>,
    asked: u64,
    count: u64,
    in_flight: usize,
    times: Vec<Duration>,
    done: Sender<Result<Vec<Duration>, Fault>>,
}

/// The answer to a question, with the number and the time of the question.
struct Answer {
    number: u64,
    began: Instant,
    answer: Result<u64, NoReply>,
}

impl Asker {
    fn ask(&mut self, cx: &Context<'_, Answer>) {
        let (number, began) = (self.asked, Instant::now());
        self.asked += 1;
        let question = |reply| Msg::Ask(number, number + 1, reply);
        let answered = move |answer| Answer {
            number,
            began,
            answer,
        };
        cx.ask(&self.to, question, answered);
    }

    fn take(&mut self, answer: &Answer) -> Result<(), Fault> {
        check(answer.number, answer.answer?)?;
        self.times.push(answer.began.elapsed());
        Ok(())
    }
}

impl Actor for Asker {
    type Msg = Answer;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Answer>) {
        for _ in 0..self.count.min(self.in_flight as u64) {
            self.ask(cx);
        }
    }

    fn receive(&mut self, answer: Answer, cx: &mut Context<'_, Answer>) {
        if let Err(error) = self.take(&answer) {
            let _ = self.done.send(Err(error));
            return;
        }
        if self.asked < self.count {
            self.ask(cx);
        }
        if self.times.len() as u64 == self.count {
            let _ = self.done.send(Ok(std::mem::take(&mut self.times)));
        }
    }
}
