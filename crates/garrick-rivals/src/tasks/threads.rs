//! Implementations of the trait [`Crew`] that use threads or pools to do tasks.

use std::sync::mpsc;
use std::thread;

use garrick_measure::Result;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::crew::Crew;
use super::work::work;

/// A [`Crew`] with a new thread for each task.
#[derive(Debug)]
pub(super) struct Bare;

impl Crew for Bare {
    fn hire() -> Result<Self> {
        Ok(Self)
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        let start = |_| thread::Builder::new().spawn(work);
        let threads: Vec<_> = (0..tasks).map(start).collect::<std::io::Result<_>>()?;
        let answers = threads
            .into_iter()
            .map(|thread| thread.join().expect("the work does not panic"));
        Ok(answers.sum())
    }
}

/// A [`Crew`] with a thread for each core. The threads are created once, and take tasks from one
/// channel. Each task contains the sender for its answer.
#[derive(Debug)]
pub(super) struct Fixed {
    /// Sender of tasks, each with the sender for its answer. The threads end when this sender is
    /// dropped.
    tasks: crossbeam_channel::Sender<mpsc::Sender<u64>>,
}

impl Crew for Fixed {
    fn hire() -> Result<Self> {
        let (tasks, queue) = crossbeam_channel::unbounded::<mpsc::Sender<u64>>();
        for _ in 0..cores() {
            let queue = queue.clone();
            thread::Builder::new().spawn(move || {
                for answers in queue {
                    // The receiver has been dropped if the batch has failed.
                    let _ = answers.send(work());
                }
            })?;
        }
        Ok(Self { tasks })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        let (answers, answered) = mpsc::channel();
        for _ in 0..tasks {
            self.tasks.send(answers.clone())?;
        }
        drop(answers);
        Ok(answered.iter().take(tasks as usize).sum())
    }
}

/// A [`Crew`] that uses Rayon's pool, and spawns a closure for each task.
#[derive(Debug)]
pub(super) struct RayonSpawn {
    pool: ThreadPool,
}

impl Crew for RayonSpawn {
    fn hire() -> Result<Self> {
        Ok(Self {
            pool: rayon_pool()?,
        })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        let (answers, answered) = mpsc::channel();
        for _ in 0..tasks {
            let answers = answers.clone();
            self.pool.spawn(move || {
                // The receiver has been dropped if the batch has failed.
                let _ = answers.send(work());
            });
        }
        drop(answers);
        Ok(answered.iter().take(tasks as usize).sum())
    }
}

/// A [`Crew`] that uses Rayon's pool, and runs a batch as one parallel iterator.
#[derive(Debug)]
pub(super) struct RayonIterator {
    pool: ThreadPool,
}

impl Crew for RayonIterator {
    fn hire() -> Result<Self> {
        Ok(Self {
            pool: rayon_pool()?,
        })
    }

    fn batch(&mut self, tasks: u64) -> Result<u64> {
        Ok(self
            .pool
            .install(|| (0..tasks).into_par_iter().map(|_| work()).sum()))
    }
}

fn rayon_pool() -> Result<ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new()
        .num_threads(cores())
        .build()?)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
