//! Many asks with random timeouts. Each ask must get exactly one result.
//!
//! The environment variable `GARRICK_SOAK_ASKS` sets the number of asks. The default is 40,000.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Next, NoReply, Reply, System};
use garrick_testkit::setting;

/// Number of asks that an asker has pending at the same time.
const OPEN: u64 = 64;

/// Number of askers in each kind of system.
const ASKERS: u64 = 4;

/// Maximum timeout. It is so short that some answers come before it, some after it, and some at the
/// same time.
const TIMEOUT_MAX_NS: u64 = 200_000;

fn asks() -> u64 {
    setting("GARRICK_SOAK_ASKS").unwrap_or(40_000)
}

/// A pseudorandom number generator (Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// An actor that answers questions immediately, later, or never.
struct Oracle {
    random: Random,
    kept: VecDeque<(u64, Reply<u64>)>,
}

impl Actor for Oracle {
    type Msg = (u64, Reply<u64>);
    type Outcome = ();

    fn receive(&mut self, (n, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        match self.random.next(16) {
            0 => drop(reply),
            1..8 => self.kept.push_back((n, reply)),
            _ => reply.send(n),
        }
        if self.kept.len() > self.random.next(256) as usize {
            let (n, reply) = self.kept.pop_front().expect("it is longer than a number");
            reply.send(n);
        }
    }
}

/// Numbers of asks of one asker, by result.
#[derive(Default, Debug)]
struct Count {
    answered: u64,
    dropped: u64,
    timed_out: u64,
}

/// An actor that asks until a given number of asks have ended. Panics if an ask ends twice.
struct Asker {
    oracle: Address<(u64, Reply<u64>)>,
    random: Random,
    /// Number of asks so far, which is also the number of the next ask.
    asked: u64,
    last: u64,
    /// For each ask from number `oldest` on, true if it has ended.
    ended: VecDeque<bool>,
    /// The number of the oldest ask that has not ended.
    oldest: u64,
    count: Count,
    done: Sender<Count>,
}

enum Msg {
    Begin,
    Answer(u64, Result<u64, NoReply>),
}

impl Asker {
    fn ask(&mut self, cx: &Context<'_, Msg>) {
        if self.asked == self.last {
            return;
        }
        let n = self.asked;
        self.asked += 1;
        self.ended.push_back(false);
        let timeout = Duration::from_nanos(self.random.next(TIMEOUT_MAX_NS));
        let convert = move |answer| Msg::Answer(n, answer);
        cx.ask_within(timeout, &self.oracle, |reply| (n, reply), convert);
    }

    fn end(&mut self, n: u64) {
        let index = n.checked_sub(self.oldest).expect("it has ended before");
        let ended = &mut self.ended[index as usize];
        assert!(!*ended, "ask {n} is answered twice");
        *ended = true;
        while self.ended.front() == Some(&true) {
            self.ended.pop_front();
            self.oldest += 1;
        }
    }
}

impl Actor for Asker {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Begin => {
                (0..OPEN).for_each(|_| self.ask(cx));
                return Next::Continue;
            }
            Msg::Answer(n, answer) => {
                self.end(n);
                match answer {
                    Ok(answer) => {
                        assert_eq!(answer, n, "the answer to another question");
                        self.count.answered += 1;
                    }
                    Err(NoReply::TimedOut) => self.count.timed_out += 1,
                    Err(_) => self.count.dropped += 1,
                }
                self.ask(cx);
            }
        }
        if self.oldest == self.last {
            self.done.send(std::mem::take(&mut self.count)).unwrap();
        }
        Next::Continue
    }
}

fn soak(workers: usize, asks: u64) {
    let system = System::builder().workers(workers).start().unwrap();
    let (done, counts) = channel();
    let asks_each = asks.div_ceil(ASKERS);
    for number in 0..ASKERS {
        let oracle = system.spawn(Oracle {
            random: Random(number + 1),
            kept: VecDeque::new(),
        });
        let asker = system.spawn(Asker {
            oracle: oracle.unwrap(),
            random: Random(number + 100),
            asked: 0,
            last: asks_each,
            ended: VecDeque::new(),
            oldest: 0,
            count: Count::default(),
            done: done.clone(),
        });
        asker.unwrap().send(Msg::Begin).unwrap();
    }
    drop(done);
    let mut total = 0;
    for _ in 0..ASKERS {
        let count = counts.recv().expect("an asker has failed");
        println!("{workers} workers: {count:?}");
        total += count.answered + count.dropped + count.timed_out;
    }
    assert_eq!(total, ASKERS * asks_each);
    system.shutdown();
    // What was still to come came to nobody, or twice.
    assert!(counts.recv().is_err());
}

#[test]
fn no_ask_is_lost_or_answered_twice() {
    let asks = asks();
    soak(1, asks / 2);
    soak(2, asks / 2);
}
