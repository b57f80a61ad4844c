//! A sponsor as a source: its workers, and its actors by type.
//!
//! The counts of a turn are added when it is over. So a turn that lasts would not be seen while it does: it is,
//! because a worker shows which kind it runs and how many it has run. Seen twice with the same number, it has been
//! at it since.

use std::collections::HashMap;
use std::fmt;

use garrick_sched::{KindSample, Nanos, Sample, WorkerSample};

use crate::reading::{ActorsReading, Reading, Source, SponsorReading};

use super::names::short;

/// Turns that are seen to last as long as this count as slow.
const SLOW: Nanos = 100_000_000;

/// Watches a sponsor, or a system of actors; from [`IntoSource`](crate::IntoSource).
pub struct SponsorSource {
    sample: Box<dyn FnMut() -> Sample + Send>,
    /// What each worker was seen at, in their order.
    workers: Vec<Seen>,
    /// By the name of the kind.
    kinds: HashMap<&'static str, Kind>,
}

/// What a worker was seen at.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Its activations, and since when there were so many.
    activations: u64,
    since: Nanos,
    /// Whether the one under way has been counted as slow.
    slow: bool,
}

/// What was seen of a kind.
#[derive(Debug, Default)]
struct Kind {
    /// Turns that were slow.
    slow: u64,
    /// How long turns under way have taken so far.
    under_way: Nanos,
    /// Looks into mailboxes, and what waited there, at the last sample.
    looks: u64,
    waiting: u64,
    /// How many waited on the average between the last two samples in which somebody looked.
    depth: Option<u64>,
}

impl SponsorSource {
    /// A source that asks `sample`.
    pub(super) fn new(sample: impl FnMut() -> Sample + Send + 'static) -> Self {
        Self {
            sample: Box::new(sample),
            workers: Vec::new(),
            kinds: HashMap::new(),
        }
    }

    /// Notes what the workers are at.
    fn watch_workers(&mut self, now: Nanos, workers: &[WorkerSample]) {
        self.workers.resize(workers.len(), Seen::default());
        for kind in self.kinds.values_mut() {
            kind.under_way = 0;
        }
        for (seen, worker) in self.workers.iter_mut().zip(workers) {
            if seen.activations != worker.activations {
                *seen = Seen {
                    activations: worker.activations,
                    since: now,
                    slow: false,
                };
            }
            let Some(name) = worker.running else {
                continue;
            };
            let kind = self.kinds.entry(name).or_default();
            let lasts = now.saturating_sub(seen.since);
            kind.under_way += lasts;
            if lasts >= SLOW && !seen.slow {
                seen.slow = true;
                kind.slow += 1;
            }
        }
    }
}

impl Source for SponsorSource {
    fn read(&mut self, reading: &mut Reading) {
        let mut sample = (self.sample)();
        self.watch_workers(sample.at, &sample.workers);
        // Kinds come in no order of their own, and a graph should not dance.
        sample.kinds.sort_unstable_by_key(|kind| kind.name);
        for kind in &sample.kinds {
            let seen = self.kinds.entry(kind.name).or_default();
            seen.look(kind);
            reading.actors.push(actors_of(&sample.name, kind, seen));
        }
        reading.sponsors.push(sponsor_of(sample));
    }
}

impl Kind {
    fn look(&mut self, kind: &KindSample) {
        let looks = kind.looks.saturating_sub(self.looks);
        let waiting = kind.waiting.saturating_sub(self.waiting);
        if let Some(depth) = waiting.checked_div(looks) {
            (self.looks, self.waiting) = (kind.looks, kind.waiting);
            self.depth = Some(depth);
        }
    }
}

fn actors_of(sponsor: &str, kind: &KindSample, seen: &Kind) -> ActorsReading {
    ActorsReading {
        id: kind.name.to_owned(),
        name: short(kind.name),
        place: sponsor.to_owned(),
        alive: Some(kind.begun.saturating_sub(kind.ended)),
        messages: kind.turns,
        turns: kind.turns,
        busy_nanos: Some(kind.busy + seen.under_way),
        depth: seen.depth,
        restarts: kind.recoveries,
        slow: seen.slow,
    }
}

fn sponsor_of(sample: Sample) -> SponsorReading {
    let sum = |count: fn(&WorkerSample) -> u64| sample.workers.iter().map(count).sum();
    SponsorReading {
        // No kind of task is called so: the name of a type has a path.
        id: "sponsor".to_owned(),
        workers: sample.workers.len() as u64,
        idle_nanos: Some(sum(|worker| worker.parked)),
        turns: sum(|worker| worker.turns),
        published: sum(|worker| worker.published),
        claimed: sum(|worker| worker.claimed),
        parks: sum(|worker| worker.parks),
        name: sample.name,
    }
}

impl fmt::Debug for SponsorSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SponsorSource")
            .field("workers", &self.workers)
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}
