//! A sleeper that is a tokio task, on a current-thread runtime.

use std::time::{Duration, Instant};

use ::tokio::runtime::Builder;
use ::tokio::sync::mpsc;
use ::tokio::task::yield_now;
use ::tokio::time::sleep;

use super::garrick::lateness;
use super::{CROWD, FLOOD, Load, Plan, work};

pub(super) fn task(plan: Plan) -> Vec<Duration> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the runtime can be built");
    runtime.block_on(async {
        match plan.load {
            Load::Idle => {}
            Load::Crowded => (0..CROWD).for_each(|_| drop(::tokio::spawn(busy()))),
            Load::Flooded => drop(::tokio::spawn(flooded())),
        }
        let sleeper = ::tokio::spawn(async move {
            let mut late = Vec::with_capacity(plan.sleeps);
            for _ in 0..plan.sleeps {
                let began = Instant::now();
                sleep(plan.delay).await;
                late.push(lateness(plan, began));
            }
            late
        });
        sleeper.await.expect("the task does not panic")
    })
}

/// Runs one of the busy tasks, which works and yields repeatedly.
async fn busy() {
    loop {
        work();
        yield_now().await;
    }
}

/// Runs a busy task whose channel is never empty.
async fn flooded() {
    let (give, mut take) = mpsc::unbounded_channel();
    let flood = || (0..FLOOD).for_each(|_| give.send(()).expect("the channel is open"));
    flood();
    let mut left = FLOOD;
    while take.recv().await.is_some() {
        work();
        left -= 1;
        if left == 0 {
            flood();
            left = FLOOD;
        }
    }
}
