//! The fork bomb of `garrick bench`: a binary tree of actors that grows step by step. Each actor
//! reports to its parent how many actors its subtree has.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};
use tokio::sync::oneshot;

use super::framework::Framework;
use super::frameworks::{Actix, Kameo, Ractor, Tasks, Threads, Xtra};
use super::roles::Tree;
use super::{measured, ours, watch};

pub(crate) const FORK_BOMB: Scenario = Scenario {
    name: "fork-bomb",
    operation: "one actor of a binary tree of 2^(depth+1)-1 actors: it is created, handles its \
                messages, and is dropped; an inner actor creates two children, changes its \
                behavior twice, and answers its customer after two answers; on the calling thread, \
                or on two workers; actix has one thread; threads: each actor is a thread",
    contenders,
};

/// Depth of the tree. Memory limits the depth: when the last leaf is created, all actors of a rival
/// are still alive. Each of them takes up to 8 KiB.
const DEPTH: u32 = 16;

const DEPTH_QUICK: u32 = 12;

/// Maximum depth of a tree of threads. A deeper tree would need more threads than a process may
/// have.
const DEPTH_OF_THREADS_MAX: u32 = 10;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let depth = effort.pick(DEPTH, DEPTH_QUICK);
    let mut contenders = ours(
        "fork-bomb",
        effort,
        &Point::default().with("depth", depth.into()),
    );
    contenders.push(of::<Actix>(depth, 1));
    for workers in [1, 2] {
        contenders.extend([
            of::<Ractor>(depth, workers),
            of::<Kameo>(depth, workers),
            of::<Xtra>(depth, workers),
            of::<Tasks>(depth, workers),
        ]);
    }
    contenders.push(of::<Threads>(depth.min(DEPTH_OF_THREADS_MAX), 1));
    contenders
}

fn of<F: Framework>(depth: u32, workers: usize) -> Contender {
    Contender::fixed(F::NAME, move || grow::<F>(depth, workers))
        .with("workers", workers)
        .with("depth", depth)
}

fn grow<F: Framework>(depth: u32, workers: usize) -> Result<Measured> {
    let actors = (1 << (depth + 1)) - 1;
    F::run(workers, async move {
        let (done, waiting) = oneshot::channel();
        let customer = F::spawn(Tree::<F>::Customer(Some(done)), None).await;
        let watch = watch();
        Tree::<F>::plant(customer, depth).await;
        let count = waiting.await.expect("the root's customer reports");
        let measured = measured(actors, &watch);
        assert_eq!(count, actors, "the tree is complete");
        measured
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::others;

    fn actors_of<F: Framework>(depth: u32, workers: usize) -> u64 {
        let measured = grow::<F>(depth, workers).expect("threads are to be had");
        measured.ops
    }

    #[test]
    fn trees_of_all_frameworks_are_complete() {
        for workers in [1, 2] {
            for depth in [0, 1, 4] {
                let actors = others!(actors_of, depth, workers);
                assert_eq!(actors, [(2 << depth) - 1; 6]);
            }
        }
    }
}
