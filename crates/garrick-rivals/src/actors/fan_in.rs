//! Benchmark of messages from four senders to one actor.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};

use super::framework::Framework;
use super::roles::Counter;
use super::{BOUND, BURST, FLOOD_MAX, measured, others, ours, send, watch};

pub(crate) const FAN_IN: Scenario = Scenario {
    name: "fan-in",
    operation: "one message from one of four senders to the same actor, all on two workers, sent \
                and handled; each sender sends 256 messages and then yields; actix: the senders \
                are on a separate arbiter; threads: four threads send to a fifth",
    contenders,
};

const SENDERS: u64 = 4;

/// Number of threads of each runtime.
const WORKERS: usize = 2;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let mut contenders = ours("fan-in", effort, &Point::default());
    contenders.extend(others!(of).into_iter().flatten());
    contenders
}

fn of<F: Framework>() -> Vec<Contender> {
    let unbounded = Contender::fitted(F::NAME, |ops| fan_in::<F>(ops, None))
        .with("senders", SENDERS)
        .at_most(FLOOD_MAX);
    let bounded = Contender::fitted(F::NAME, |ops| fan_in::<F>(ops, Some(BOUND)))
        .with("senders", SENDERS)
        .with("bound", BOUND);
    if F::HAS_BOUNDED {
        vec![unbounded, bounded]
    } else {
        vec![unbounded]
    }
}

fn fan_in<F: Framework>(ops: u64, bound: Option<usize>) -> Result<Measured> {
    let bursts = ops.div_ceil(SENDERS * BURST);
    let ops = SENDERS * bursts * BURST;
    F::run(WORKERS, async move {
        let (counter, done) = Counter::new(ops);
        let counter = F::spawn(counter, bound).await;
        let sender = |_| sender::<F>(counter.clone(), bursts);
        let senders = (0..SENDERS).map(sender).collect();
        drop(counter);
        let watch = watch();
        F::go(senders);
        done.await.expect("the counter reports");
        measured(ops, &watch)
    })
}

async fn sender<F: Framework>(to: F::Address<Counter>, bursts: u64) {
    send::<F>(&to, bursts, BURST).await;
}
