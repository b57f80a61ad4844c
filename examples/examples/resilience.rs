//! A service that fails from time to time, behind a timeout, a breaker, a retry and a limiter.
use std::error::Error;
use std::time::Duration;

use garrick::behaviors::{self, Circuit, Request};
use garrick::prelude::*;

/// A service that keeps the first reply forever, drops the next three replies, and then answers.
struct Moody {
    asked: u32,
    kept: Option<Reply<u32>>,
}

impl Actor for Moody {
    type Msg = Request<u32, u32>;
    type Outcome = ();

    fn receive(&mut self, (n, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        self.asked += 1;
        match self.asked {
            1 => self.kept = Some(reply),
            2..5 => drop(reply),
            _ => reply.send(n * n),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let system = System::new()?;
    let moody = system.spawn(Moody {
        asked: 0,
        kept: None,
    })?;
    let timed = behaviors::timeout(&system.handle(), moody, Duration::from_millis(2));
    let observer = system.spawn(behavior(|circuit: Circuit, _| {
        println!("the circuit is {circuit:?} now");
    }))?;
    let breaker = behaviors::breaker(timed)
        .failures(3)
        .rest(Duration::from_millis(3))
        .notify(observer);
    let retry = behaviors::retry(system.spawn(breaker)?)
        .tries(100)
        .backoff(Duration::from_millis(1), Duration::from_millis(5));
    let steady = system.spawn(retry)?;
    let limited = behaviors::limiter(steady, Duration::from_micros(500)).burst(2);
    let limited = system.spawn(limited)?;
    let squares: Vec<_> = (1..=6).map(|n| limited.ask(|reply| (n, reply))).collect();
    for square in squares {
        println!("{}", square.wait()?);
    }
    system.shutdown();
    Ok(())
}
