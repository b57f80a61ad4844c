//! Benchmark of messages to special actors: actors with a name, actors with a supervisor, and
//! actors whose handlers may await.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};

use super::framework::{Framework, Way};
use super::roles::Counter;
use super::{FLOOD_MAX, measured, others, ours, send, watch};

/// Number of messages per turn, as in `garrick bench`.
const BURST: u64 = 64;

pub(crate) const TELL_NAMED: Scenario = Scenario {
    name: "tell-named",
    operation: "one message as in 'tell' with bursts of 64, to an actor with a name",
    contenders: |effort: &Effort| contenders("tell-named", Way::Named, effort),
};

pub(crate) const TELL_SUPERVISED: Scenario = Scenario {
    name: "tell-supervised",
    operation: "one message as in 'tell' with bursts of 64, to a supervised actor",
    contenders: |effort: &Effort| contenders("tell-supervised", Way::Supervised, effort),
};

pub(crate) const TELL_ASYNC: Scenario = Scenario {
    name: "tell-async",
    operation: "one message as in 'tell' with bursts of 64, to an actor whose handler may await, \
                but awaits nothing",
    contenders: |effort: &Effort| contenders("tell-async", Way::Async, effort),
};

fn contenders(scenario: &str, way: Way, effort: &Effort) -> Vec<Contender> {
    let mut contenders = ours(scenario, effort, &Point::default());
    contenders.extend(others!(of, way).into_iter().flatten());
    contenders
}

fn of<F: Framework>(way: Way) -> Option<Contender> {
    F::WAYS.contains(&way).then(|| {
        Contender::fitted(F::NAME, move |ops| tell::<F>(way, ops))
            .with("burst", BURST)
            .at_most(FLOOD_MAX)
    })
}

fn tell<F: Framework>(way: Way, ops: u64) -> Result<Measured> {
    let bursts = ops.div_ceil(BURST);
    F::run(1, async move {
        let (counter, done) = Counter::new(bursts * BURST);
        let (counter, kept) = F::spawn_in_way(way, counter).await;
        let watch = watch();
        send::<F>(&counter, bursts, BURST).await;
        done.await.expect("the counter reports");
        let measured = measured(bursts * BURST, &watch);
        drop(kept);
        measured
    })
}
