//! A sponsor as a source: its workers, and its actors by type.
//!
//! The counts of a turn are added only when the turn returns, so they do not show a long turn while
//! it runs. Therefore each worker publishes the kind of the actor that it runs. A sample of the
//! worker also contains the duration of the turn so far.

use std::collections::HashMap;
use std::fmt;

use garrick_sched::{AwaySample, KindSample, Nanos, Sample, WorkerSample};

use crate::reading::{ActorsReading, HeldReading, Reading, Source, SponsorReading};

use super::names::short;

/// Minimum duration of a running turn that counts as slow.
const SLOW: Nanos = 100_000_000;

/// A source that reads the counters of a system of actors, or of another sponsor.
/// [`IntoSource`](crate::IntoSource) creates it from a handle.
pub struct SponsorSource {
    sample: Box<dyn FnMut() -> Sample + Send>,
    /// For each worker, the last activation that was counted as slow.
    slow: Vec<Option<u64>>,
    /// State of each kind, by its name.
    kinds: HashMap<&'static str, Kind>,
}

/// State of a kind of actor.
#[derive(Debug, Default)]
struct Kind {
    /// Number of slow turns.
    slow: u64,
    /// Sum of the times that the running turns have taken so far. The next field is their maximum.
    under_way: Nanos,
    held: Nanos,
    /// Number of turns that block in `cx.blocking`, and the longest time that one of them has
    /// blocked.
    away: u64,
    away_longest: Nanos,
    /// Number of mailbox lookups up to the last sample, and number of messages found in them.
    looks: u64,
    waiting: u64,
    /// Average number of waiting messages, at the last sample with a new mailbox lookup.
    depth: Option<u64>,
}

impl SponsorSource {
    /// Creates a source that calls `sample`.
    pub(super) fn new(sample: impl FnMut() -> Sample + Send + 'static) -> Self {
        Self {
            sample: Box::new(sample),
            slow: Vec::new(),
            kinds: HashMap::new(),
        }
    }

    /// Records the turns that are running on the workers.
    fn watch_workers(&mut self, workers: &[WorkerSample]) {
        self.slow.resize(workers.len(), None);
        for (slow, worker) in self.slow.iter_mut().zip(workers) {
            let Some(name) = worker.running else {
                continue;
            };
            let kind = self.kinds.entry(name).or_default();
            kind.under_way += worker.lasts;
            kind.held = kind.held.max(worker.lasts);
            let activation = Some(worker.activations);
            if worker.lasts >= SLOW && *slow != activation {
                *slow = activation;
                kind.slow += 1;
            }
        }
    }

    /// Records the turns that block in `cx.blocking`.
    fn watch_away(&mut self, away: &[AwaySample]) {
        for away in away {
            let kind = self.kinds.entry(away.name).or_default();
            (kind.away, kind.away_longest) = (away.turns, away.longest);
        }
    }
}

impl Source for SponsorSource {
    fn read(&mut self, reading: &mut Reading) {
        let mut sample = (self.sample)();
        self.kinds.values_mut().for_each(Kind::begin);
        self.watch_workers(&sample.workers);
        self.watch_away(&sample.away);
        // The kinds arrive in no fixed order. Sorting keeps the graph stable.
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
    /// Resets the values that apply to one moment only.
    fn begin(&mut self) {
        (self.under_way, self.held) = (0, 0);
        (self.away, self.away_longest) = (0, 0);
    }

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
        failures: kind.failures,
        restarts: kind.restarts,
        slow: seen.slow,
        held_nanos: Some(seen.held),
        away: Some(seen.away),
        away_nanos: Some(seen.away_longest),
    }
}

fn held_of((worker, sample): (u64, &WorkerSample)) -> Option<HeldReading> {
    let kind = sample.running?;
    Some(HeldReading {
        worker,
        actors: kind.to_owned(),
        name: short(kind),
        nanos: sample.lasts,
    })
}

fn sponsor_of(sample: Sample) -> SponsorReading {
    let sum = |count: fn(&WorkerSample) -> u64| sample.workers.iter().map(count).sum();
    SponsorReading {
        // No kind of task has this name, because the name of a type contains a path.
        id: "sponsor".to_owned(),
        workers: sample.workers.len() as u64,
        idle_nanos: Some(sum(|worker| worker.parked)),
        turns: sum(|worker| worker.turns),
        published: sum(|worker| worker.published),
        claimed: sum(|worker| worker.claimed),
        parks: sum(|worker| worker.parks),
        dead_letters: sample.dead_letters,
        held: (0..).zip(&sample.workers).filter_map(held_of).collect(),
        name: sample.name,
    }
}

impl fmt::Debug for SponsorSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SponsorSource")
            .field("slow", &self.slow)
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}
