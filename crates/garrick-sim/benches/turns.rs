//! Speed of simulated turns, compared with the same turns of a plain system on one thread.
//!
//! `cargo bench -p garrick-sim` prints two tables. The first table shows the time of a turn, for
//! different numbers of messages under way. Each message moves around a ring of actors. The second
//! table shows how many runs of a program take place per second. In this program, two actors ask a
//! third one. All values are medians of several rounds. In each round, both contenders are
//! measured.

use std::env;
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
use garrick_sim::{Check, Choosing, Sim};

/// Number of actors in a ring.
const RING: u64 = 100;

/// Number of turns in one measurement.
const TURNS: u64 = 400_000;

/// Number of measurements of each contender.
const ROUNDS: usize = 7;

/// An actor that passes a number, reduced by 1, to the next actor of a ring, until the number is
/// zero.
struct Hop(Option<Address<Token>>);

enum Token {
    Next(Address<Token>),
    Left(u64),
}

impl Actor for Hop {
    type Msg = Token;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, token: Token, cx: &mut Context<'_, Token>) {
        match (token, &self.0) {
            (Token::Next(next), _) => self.0 = Some(next),
            (Token::Left(left), Some(next)) if left > 0 => {
                let _ = cx.send(next, Token::Left(left - 1));
            }
            // Without the address of the next actor, the ring can be dropped.
            (Token::Left(_), _) => self.0 = None,
        }
    }
}

/// Spawns `width` rings with `spawn`, and sends a token to each. The tokens cause equal shares of
/// the turns.
fn rings(width: u64, turns: u64, mut spawn: impl FnMut(Hop) -> Address<Token>) {
    for _ in 0..width {
        let first = spawn(Hop(None));
        let mut next = first.clone();
        for _ in 1..RING {
            next = spawn(Hop(Some(next)));
        }
        first.send(Token::Next(next)).expect("the actor is alive");
        first
            .send(Token::Left(turns / width))
            .expect("the actor is alive");
    }
}

/// Returns how long a turn takes in a plain system.
fn plain(width: u64, turns: u64) -> Duration {
    let local = Local::new().expect("there is room for a worker");
    rings(width, turns, |hop| local.spawn(hop));
    let began = Instant::now();
    local.run();
    began.elapsed() / u32::try_from(turns).unwrap_or(u32::MAX)
}

/// Returns how long a turn takes in a simulation.
fn simulated(width: u64, turns: u64) -> Duration {
    // Seed 0 would be run twice.
    let check = Check::new("turns")
        .first_seed(1)
        .seeds(1)
        .steps(u32::MAX)
        .strategy(Choosing::Walk);
    let report = check.run(|sim: &mut Sim| {
        let node = sim.node("one");
        rings(width, turns, |hop| node.spawn(hop).expect("the node is up"));
    });
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    report.time / u32::try_from(report.steps).unwrap_or(u32::MAX)
}

struct Account(u32);

enum Request {
    Read(Reply<u32>),
    Write(u32),
}

impl Actor for Account {
    type Msg = Request;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, request: Request, _: &mut Context<'_, Request>) {
        match request {
            Request::Read(reply) => reply.send(self.0),
            Request::Write(balance) => self.0 = balance,
        }
    }
}

struct Teller(Address<Request>);

enum Task {
    Deposit,
    Read(Result<u32, NoReply>),
}

impl Actor for Teller {
    type Msg = Task;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, task: Task, cx: &mut Context<'_, Task>) {
        match task {
            Task::Deposit => cx.ask(&self.0, Request::Read, Task::Read),
            Task::Read(Ok(balance)) => drop(cx.send(&self.0, Request::Write(balance + 1))),
            Task::Read(Err(_)) => {}
        }
    }
}

/// Returns how many times per second the bank program runs.
fn banks(runs: u64) -> f64 {
    let check = Check::new("bank").seeds(runs).strategy(Choosing::Walk);
    let report = check.run(|sim: &mut Sim| {
        let node = sim.node("bank");
        let account = node.spawn(Account(0)).expect("the node is up");
        for _ in 0..2 {
            let teller = node.spawn(Teller(account.clone())).expect("the node is up");
            teller.send(Task::Deposit).expect("the teller is alive");
        }
    });
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    report.runs as f64 / report.time.as_secs_f64()
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("no value is missing"));
    values[values.len() / 2]
}

fn main() {
    let is_quick = env::var_os("GARRICK_BENCH_QUICK").is_some();
    let (turns, rounds) = if is_quick {
        (2_000, 1)
    } else {
        (TURNS, ROUNDS)
    };
    println!(
        "{:>10}  {:>12}  {:>14}  {:>12}",
        "in the air", "plain", "simulated", "M turns/s"
    );
    for width in [1, 4, 16, 64] {
        let pairs: Vec<_> = (0..rounds)
            .map(|_| (plain(width, turns), simulated(width, turns)))
            .collect();
        let of_plain = median(pairs.iter().map(|pair| pair.0).collect());
        let of_simulated = median(pairs.iter().map(|pair| pair.1).collect());
        let per_second = 1e-6 / of_simulated.as_secs_f64();
        println!(
            "{width:>10}  {:>9} ns  {:>11} ns  {per_second:>12.2}",
            of_plain.as_nanos(),
            of_simulated.as_nanos()
        );
    }
    let runs = if is_quick { 100 } else { 20_000 };
    let per_second = median((0..rounds).map(|_| banks(runs)).collect());
    println!("bank of two tellers: {per_second:.0} runs/s");
}
