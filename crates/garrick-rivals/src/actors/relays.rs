//! Benchmark of a token that is passed back and forth between two actors, or around a ring of
//! actors.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};
use tokio::sync::oneshot;

use super::framework::Framework;
use super::roles::{Pass, Relay};
use super::{measured, others, ours, watch};

pub(crate) const PING_PONG: Scenario = Scenario {
    name: "ping-pong",
    operation: "one round trip between two actors on the same thread: two messages, each sent by \
                the handler of the other; threads: between two threads",
    contenders: |effort: &Effort| {
        let mut contenders = ours("ping-pong", effort, &Point::default());
        contenders.extend(others!(to_and_fro));
        contenders
    },
};

pub(crate) const RING: Scenario = Scenario {
    name: "ring",
    operation: "one hop of the only token in a ring of 100 actors on one thread; threads: in a \
                ring of 100 threads",
    contenders: |effort: &Effort| {
        let mut contenders = ours("ring", effort, &Point::default());
        contenders.extend(others!(round));
        contenders
    },
};

/// Number of actors in a ring.
const ACTORS: usize = 100;

fn to_and_fro<F: Framework>() -> Contender {
    Contender::fitted(F::NAME, |ops| {
        let hops = pass::<F>(2, 2 * ops)?;
        Ok(Measured { ops, ..hops })
    })
}

fn round<F: Framework>() -> Contender {
    Contender::fitted(F::NAME, |ops| pass::<F>(ACTORS, ops)).with("actors", ACTORS)
}

/// Creates a ring of `count` relays, and sends a token through the ring for `hops` hops. The relay
/// that receives the token after the last hop reports the arrival. If a token were lost or
/// misrouted, the measurement would not end.
fn pass<F: Framework>(count: usize, hops: u64) -> Result<Measured> {
    F::run(1, async move {
        let (done, waiting) = oneshot::channel();
        let mut done = Some(done);
        let last = (hops % count as u64) as usize;
        // Creates the relays from the last to the first, each with the address of the relay that
        // comes after it.
        let mut end = None;
        let mut next = None;
        for place in (0..count).rev() {
            let done = if place == last { done.take() } else { None };
            let relay = F::spawn(Relay::<F>::new(next, done), None).await;
            end.get_or_insert_with(|| relay.clone());
            next = Some(relay);
        }
        let (first, end) = next.zip(end).expect("a ring has at least one member");
        F::tell::<Relay<F>>(&end, Pass::Next(first.clone())).await;
        drop(end);
        let watch = watch();
        F::tell::<Relay<F>>(&first, Pass::Token(hops)).await;
        waiting.await.expect("the last relay reports");
        measured(hops, &watch)
    })
}
