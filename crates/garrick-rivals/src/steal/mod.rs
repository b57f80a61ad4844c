//! Work-stealing channels: many threads send values, and many threads receive them. The benchmarks
//! have the same shapes as those of BeamDequeChannel, a Zig library, which is the origin of
//! Garrick's channel.
//!
//! All threads of a contender meet at a barrier. The measured time begins at the barrier, and ends
//! when the last thread ends. The values are numbers. Their receivers count them and add them up.

mod team;

mod channels;
mod deques;
mod shapes;

use garrick_measure::{Contender, Effort, Scenario};

use channels::{Crossbeam, Flume, Kanal, Ours, Std};
use deques::{CrossbeamDeque, St3};
use shapes::{both, imbalanced, roles};
use team::Team;

pub(crate) const ROLES: Scenario = Scenario {
    name: "steal-roles",
    operation: "one value of 8 bytes from threads that only send to threads that only receive, \
                until all values have been received (V1 of the Zig library)",
    contenders: |_: &Effort| {
        let mut contenders = Vec::new();
        for (producers, consumers) in [(1, 1), (2, 2), (4, 4)] {
            let all = [
                with_roles::<Ours>("garrick", "workers", producers, consumers),
                with_roles::<CrossbeamDeque>("crossbeam", "deque", producers, consumers),
                with_roles::<St3>("st3", "lifo", producers, consumers),
                with_roles::<Crossbeam<0>>("crossbeam", "unbounded", producers, consumers),
                with_roles::<Crossbeam<4096>>("crossbeam", "bounded", producers, consumers),
                with_roles::<Flume>("flume", "unbounded", producers, consumers),
                with_roles::<Kanal>("kanal", "unbounded", producers, consumers),
            ];
            contenders.extend(all);
            if consumers == 1 {
                contenders.push(with_roles::<Std>("std", "mpsc", producers, consumers));
            }
        }
        contenders
    },
};

pub(crate) const BOTH: Scenario = Scenario {
    name: "steal-both",
    operation: "one value sent and one value received; each of several threads alternates between \
                the two until all values have been received (V2 of the Zig library)",
    contenders: |_: &Effort| by_workers(1),
};

pub(crate) const BATCHES: Scenario = Scenario {
    name: "steal-batches",
    operation: "one value as in 'steal-both', but each thread alternately sends 32 values and \
                receives 32",
    contenders: |_: &Effort| by_workers(32),
};

pub(crate) const IMBALANCED: Scenario = Scenario {
    name: "steal-imbalanced",
    operation: "one value received; one thread sends four fifths of the values, and the other \
                threads send the rest; each thread receives after it has sent",
    contenders: |_: &Effort| {
        let mut contenders = Vec::new();
        for workers in [2, 8] {
            let all = [
                unevenly::<Ours>("garrick", "workers", workers),
                unevenly::<CrossbeamDeque>("crossbeam", "deque", workers),
                unevenly::<St3>("st3", "lifo", workers),
                unevenly::<Crossbeam<0>>("crossbeam", "unbounded", workers),
                unevenly::<Flume>("flume", "unbounded", workers),
                unevenly::<Kanal>("kanal", "unbounded", workers),
            ];
            contenders.extend(all);
        }
        contenders
    },
};

/// Maximum number of values in one repetition. All of them may wait at the same time.
const VALUES_MAX: u64 = 1 << 21;

/// Returns all contenders in which each thread both sends and receives.
fn by_workers(batch: u64) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for workers in [1, 2, 4, 8] {
        let all = [
            in_turns::<Ours>("garrick", "workers", workers, batch),
            in_turns::<CrossbeamDeque>("crossbeam", "deque", workers, batch),
            in_turns::<St3>("st3", "lifo", workers, batch),
            in_turns::<Crossbeam<0>>("crossbeam", "unbounded", workers, batch),
            in_turns::<Flume>("flume", "unbounded", workers, batch),
            in_turns::<Kanal>("kanal", "unbounded", workers, batch),
        ];
        contenders.extend(all);
    }
    contenders
}

fn with_roles<T: Team>(name: &'static str, by: &str, producers: u64, consumers: u64) -> Contender {
    let shape = format!("{producers}P{consumers}C");
    Contender::fitted(name, move |ops| roles::<T>(producers, consumers, ops))
        .with("by", by)
        .with("shape", shape)
        .at_most(VALUES_MAX)
}

fn in_turns<T: Team>(name: &'static str, by: &str, workers: u64, batch: u64) -> Contender {
    Contender::fitted(name, move |ops| both::<T>(workers, batch, ops))
        .with("by", by)
        .with("workers", workers)
}

fn unevenly<T: Team>(name: &'static str, by: &str, workers: u64) -> Contender {
    Contender::fitted(name, move |ops| imbalanced::<T>(workers, ops))
        .with("by", by)
        .with("workers", workers)
        .at_most(VALUES_MAX)
}
