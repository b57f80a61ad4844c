//! Scenarios that would reveal a cost that grows quadratically. The same work is measured at
//! several sizes, and an operation should cost the same at each size.

mod asks;
mod children;
mod ends;
mod names;
mod timers;
mod watchers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_measure::{Contender, Effort, Measured, Result};

pub(super) use self::asks::ASKS;
pub(super) use self::children::CHILDREN;
pub(super) use self::ends::ENDS;
pub(super) use self::names::{ROUTEES, SERVICES, SUBSCRIBERS};
pub(super) use self::timers::TIMERS;
pub(super) use self::watchers::WATCHERS;

/// Maximum size in a quick run.
const QUICK_MAX: u64 = 1_000;

/// Creates one contender for each size. Each contender calls `measure` with its size.
fn sized(
    effort: &Effort,
    sizes: &[u64],
    measure: impl Fn(u64) -> Result<Measured> + Copy + 'static,
) -> Vec<Contender> {
    let max = effort.pick(u64::MAX, QUICK_MAX);
    let sizes = sizes.iter().copied().filter(|size| *size <= max);
    let rounds = effort.pick(7, 2);
    let contender = |size| {
        Contender::fixed("garrick", move || measure(size))
            .with("size", size)
            .rounds(rounds)
    };
    sizes.map(contender).collect()
}

/// A counter for events of any kind. All clones of a counter share one count.
#[derive(Clone, Default)]
struct Tally(Arc<AtomicU64>);

impl Tally {
    fn count(&self) {
        // Relaxed: all of the work runs on one thread.
        self.0.fetch_add(1, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A value that is counted when it is dropped.
struct Counted(Tally);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_does_at_a_small_size_what_it_says() {
        let effort = Effort {
            quick: true,
            seconds_per_row: 0.1,
        };
        for scenario in [
            ASKS,
            CHILDREN,
            ROUTEES,
            SERVICES,
            SUBSCRIBERS,
            TIMERS,
            WATCHERS,
        ] {
            for mut contender in (scenario.contenders)(&effort) {
                let size = contender.params["size"].as_u64().unwrap();
                let measured = (contender.measure)(0).unwrap();
                assert_eq!(measured.ops, size, "{}", scenario.name);
            }
        }
        for mut contender in (ENDS.contenders)(&effort) {
            assert_eq!((contender.measure)(0).unwrap().ops, ends::SYSTEMS);
        }
    }
}
