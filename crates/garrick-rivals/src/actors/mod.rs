//! Actor libraries compared with each other, by the scenarios of `garrick bench`.
//!
//! Garrick's contenders are those of `garrick bench`: actors that use the public API. The rivals
//! are actix, ractor, kameo and xtra, and two common substitutes for a library: tokio tasks with
//! channels, and threads with channels. The scenarios of the rivals are written once, for the trait
//! [`framework::Framework`]. The module `frameworks` contains the implementations of this trait.
//! The module `roles` contains the work of the actors.
//!
//! With Garrick, the code that sends, asks or spawns is an actor. With the rivals, this code is a
//! task of the runtime. Such a task continues without sending a message to itself. With one worker,
//! everything runs on one thread, except in the contender `threads`. CPU time covers the whole
//! process.

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

/// Calls `$contenders::<F>($argument..)` for the framework `F` of each rival, and collects the
/// results.
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

/// Number of messages that a sender sends before it yields.
const BURST: u64 = 256;

/// Capacity of a bounded mailbox, in messages.
const BOUND: usize = 1024;

/// Maximum number of messages that may wait in unbounded mailboxes at once.
const FLOOD_MAX: u64 = 1 << 18;

/// Returns the contenders with the name `garrick` of a `garrick bench` scenario.
fn ours(scenario: &str, effort: &Effort, point: &Point) -> Vec<Contender> {
    let all = garrick_bench::contenders(scenario, effort, point);
    all.into_iter()
        .filter(|contender| contender.name == "garrick")
        .collect()
}

/// Starts a stopwatch for the wall time, and for the CPU time of the whole process.
fn watch() -> Stopwatch {
    Stopwatch::start(Clock::Process)
}

/// Sends `bursts` times `burst` messages to a counter. Yields after each burst.
async fn send<F: framework::Framework>(to: &F::Address<roles::Counter>, bursts: u64, burst: u64) {
    for _ in 0..bursts {
        for number in 0..burst {
            F::tell::<roles::Counter>(to, number).await;
        }
        F::pause().await;
    }
}

/// Returns the measurement of `ops` operations that were done since the stopwatch `watch` was
/// started.
fn measured(ops: u64, watch: &Stopwatch) -> Measured {
    Measured::new(ops, watch.stop())
}
