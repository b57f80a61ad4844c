//! Many members of one topic, receptionist or router.

use garrick::naming::{Key, Receptionist, Topic};
use garrick::route::{RoundRobin, Router};
use garrick::{Actor, Address, Context, Local};
use garrick_measure::{Clock, Effort, Measured, Result, Scenario, Stopwatch};

use super::{Tally, sized};

const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

pub(crate) const SUBSCRIBERS: Scenario = Scenario {
    name: "scale-subscribers",
    operation: "one of size subscribers of a topic, on one thread: it subscribes, gets one \
                message, and unsubscribes, oldest first",
    contenders: |effort: &Effort| sized(effort, &SIZES, subscribed),
};

pub(crate) const SERVICES: Scenario = Scenario {
    name: "scale-services",
    operation: "one of size actors that serve one protocol, on one thread: the receptionist \
                registers it, and it stops, oldest first",
    contenders: |effort: &Effort| sized(effort, &SIZES, served),
};

pub(crate) const ROUTEES: Scenario = Scenario {
    name: "scale-routees",
    operation: "one of size routees of a round-robin router, on one thread: it is added, gets one \
                message, and is removed after it has stopped",
    contenders: |effort: &Effort| sized(effort, &SIZES, routed),
};

/// A member, which counts its messages.
struct Member(Tally);

impl Actor for Member {
    type Msg = u64;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, _: u64, _: &mut Context<'_, u64>) {
        self.0.count();
    }
}

fn members(local: &Local, size: u64) -> (Vec<Address<u64>>, Tally) {
    let got = Tally::default();
    let members = (0..size).map(|_| local.spawn(Member(got.clone())));
    (members.collect(), got)
}

fn subscribed(size: u64) -> Result<Measured> {
    let local = Local::new()?;
    let (members, got) = members(&local, size);
    let topic = Topic::spawn(&local.handle())?;
    let stopwatch = Stopwatch::start(Clock::Thread);
    for member in &members {
        topic.subscribe(member)?;
    }
    topic.publish(1)?;
    local.run();
    assert_eq!(got.get(), size, "every subscriber gets the message");
    for member in &members {
        topic.unsubscribe(member)?;
    }
    local.run();
    Ok(Measured::new(size, stopwatch.stop()))
}

fn served(size: u64) -> Result<Measured> {
    const KEY: Key<u64> = Key::new("members");
    let local = Local::new()?;
    let (members, _) = members(&local, size);
    let receptionist = Receptionist::spawn(&local.handle())?;
    let stopwatch = Stopwatch::start(Clock::Thread);
    for member in &members {
        receptionist.serve(&KEY, member)?;
    }
    local.run();
    for member in &members {
        member.stop();
    }
    local.run();
    Ok(Measured::new(size, stopwatch.stop()))
}

fn routed(size: u64) -> Result<Measured> {
    let local = Local::new()?;
    let (members, got) = members(&local, size);
    let router = Router::spawn(&local.handle(), RoundRobin::new())?;
    let stopwatch = Stopwatch::start(Clock::Thread);
    for member in &members {
        router.add(member)?;
    }
    for number in 0..size {
        router.send(number)?;
    }
    local.run();
    assert_eq!(got.get(), size, "every routee gets a message");
    for member in &members {
        member.stop();
    }
    local.run();
    // All members have stopped, so none receives the message.
    router.send(0)?;
    local.run();
    assert_eq!(got.get(), size);
    Ok(Measured::new(size, stopwatch.stop()))
}
