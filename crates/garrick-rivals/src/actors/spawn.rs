//! Benchmark of actors that end after one message.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};

use super::framework::Framework;
use super::roles::{Mayfly, Tally};
use super::{measured, others, ours, watch};

pub(crate) const SPAWN: Scenario = Scenario {
    name: "spawn",
    operation: "one actor with 8 bytes of state that is spawned on the same thread, handles one \
                message, and stops because its last address has been dropped (ractor: because it \
                stops itself); 64 actors are spawned, and then the spawner yields; threads: 64 \
                threads are started, and run when they can",
    contenders,
};

/// Number of actors that are spawned before the spawner yields.
const LITTER: u64 = 64;

/// Maximum number of actors in a measurement. The number is limited because each actor may be a
/// thread, and all of them may be alive at the same time.
const SPAWNED_MAX: u64 = 4096;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let mut contenders = ours("spawn", effort, &Point::default());
    // The rivals are measured with only one number of actors per turn.
    contenders.truncate(1);
    contenders.extend(others!(of));
    contenders
}

fn of<F: Framework>() -> Contender {
    Contender::fitted(F::NAME, spawn::<F>)
        .with("spawned_per_turn", LITTER)
        .at_most(SPAWNED_MAX)
}

fn spawn<F: Framework>(ops: u64) -> Result<Measured> {
    let litters = ops.div_ceil(LITTER);
    let ops = litters * LITTER;
    F::run(1, async move {
        let (tally, done) = Tally::new(ops);
        let watch = watch();
        for _ in 0..litters {
            for number in 0..LITTER {
                let mayfly = F::spawn(Mayfly(tally.clone()), None).await;
                F::tell::<Mayfly>(&mayfly, number).await;
            }
            F::pause().await;
        }
        done.await.expect("the end of the last actor is reported");
        let measured = measured(ops, &watch);
        assert_eq!(tally.handled(), ops, "each actor has handled its message");
        measured
    })
}
