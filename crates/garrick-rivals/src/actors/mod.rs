//! Actor libraries beside each other, on the scenarios of `garrick bench`.
//!
//! Garrick's contenders are those of `garrick bench` themselves, actors on the public API. The others are actix,
//! ractor, kameo and xtra, and what many use in place of a library: tokio tasks and threads, each with channels.
//! Their scenarios are written once, on a [`framework::Framework`] that each of them is made to; the handful of
//! functions that takes are in `frameworks`, the actors' work in `roles`.
//!
//! Who sends, asks and spawns is an actor with Garrick, and with the others a task of the runtime, which goes on
//! without a message to itself. Those of one worker run all of it on one thread
//! (threads cannot); CPU time is counted of the whole process.

pub(crate) mod framework;
mod roles;

pub(crate) mod frameworks;

mod ask;
mod fan_in;
mod fork_bomb;
mod idle_memory;
mod relays;
mod spawn;
mod tell;
mod tell_ways;
mod timer_cancel;

use garrick_measure::{Clock, Contender, Effort, Measured, Point, Stopwatch};

pub(crate) use ask::ASK;
pub(crate) use fan_in::FAN_IN;
pub(crate) use fork_bomb::FORK_BOMB;
pub(crate) use idle_memory::{IDLE_MEMORY, child};
pub(crate) use relays::{PING_PONG, RING};
pub(crate) use spawn::SPAWN;
pub(crate) use tell::TELL;
pub(crate) use tell_ways::{TELL_ASYNC, TELL_NAMED, TELL_SUPERVISED};
pub(crate) use timer_cancel::TIMER_CANCEL;

/// Calls `$contenders::<F>($argument..)` for each of the others, and collects what they return.
macro_rules! others {
    ($contenders:ident $(, $argument:expr)*) => {
        [
            $contenders::<$crate::actors::frameworks::Actix>($($argument),*),
            $contenders::<$crate::actors::frameworks::Ractor>($($argument),*),
            $contenders::<$crate::actors::frameworks::Kameo>($($argument),*),
            $contenders::<$crate::actors::frameworks::Xtra>($($argument),*),
            $contenders::<$crate::actors::frameworks::Tasks>($($argument),*),
            $contenders::<$crate::actors::frameworks::Threads>($($argument),*),
        ]
    };
}
use others;

/// Messages that a sender sends before it lets others run.
const BURST: u64 = 256;

/// Messages for which a bounded mailbox has room.
const BOUND: usize = 1024;

/// Messages that may wait in unbounded mailboxes at once.
const FLOOD_MAX: u64 = 1 << 18;

/// Garrick's contenders of a scenario of `garrick bench`: those that it is itself.
fn ours(scenario: &str, effort: &Effort, point: &Point) -> Vec<Contender> {
    let all = garrick_bench::contenders(scenario, effort, point);
    all.into_iter()
        .filter(|contender| contender.name == "garrick")
        .collect()
}

/// Begins to measure the whole process.
fn watch() -> Stopwatch {
    Stopwatch::start(Clock::Process)
}

/// Sends `bursts` bursts of `burst` messages to a counter.
async fn send<F: framework::Framework>(to: &F::Address<roles::Counter>, bursts: u64, burst: u64) {
    for _ in 0..bursts {
        for number in 0..burst {
            F::tell::<roles::Counter>(to, number).await;
        }
        F::pause().await;
    }
}

/// `ops` operations that have taken `watch` until now.
fn measured(ops: u64, watch: &Stopwatch) -> Measured {
    Measured::new(ops, watch.stop())
}
