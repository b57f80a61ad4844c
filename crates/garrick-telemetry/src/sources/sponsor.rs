//! A source that reads a sponsor (thread pool or thread): its workers, and its actors by type.
//!
//! The counts of a turn are added only when the turn returns, so they do not show a long turn while
//! it runs. Therefore each worker publishes the type of the actor that it runs. A sample of the
//! worker also contains the duration of the turn so far.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use garrick_sched::{
    AwaySample, Durations, KindSample, MessageSample, Nanos, Sample, WorkerSample,
};

use crate::reading::{ActorsReading, HeldReading, MessageReading, Reading, Source, SponsorReading};

use crate::snapshot::Histogram;

use super::names::{SPONSOR, id_of_group, short};
use super::outstanding::Outstanding;
use crate::trouble::LetterReading;

/// A source that reads the counters of a system of actors, or of another sponsor (thread pool or
/// thread). [`IntoSource`](crate::IntoSource) creates this source from a handle.
pub struct SponsorSource {
    sample: Box<dyn FnMut() -> Sample + Send>,
    /// The state of each type of actor, by the name of the type.
    kinds: HashMap<&'static str, Kind>,
    outstanding: Outstanding,
}

/// The running turns and the blocked turns of one type of actor.
#[derive(Debug, Default)]
struct Kind {
    /// Sum of the times that the running turns have taken so far, in nanoseconds.
    under_way: Nanos,
    /// Longest time that one of the running turns has taken so far, in nanoseconds.
    held: Nanos,
    /// Number of turns that are now blocked in `cx.blocking`.
    away: u64,
    /// Longest time that a turn has been blocked in `cx.blocking` so far, in nanoseconds.
    away_longest: Nanos,
}

impl SponsorSource {
    /// Creates a source that gets its values by calling `sample`.
    pub(super) fn new(sample: impl FnMut() -> Sample + Send + 'static) -> Self {
        Self {
            sample: Box::new(sample),
            kinds: HashMap::new(),
            outstanding: Outstanding::default(),
        }
    }

    /// Records the turns that are running on the workers.
    fn watch_workers(&mut self, workers: &[WorkerSample]) {
        for worker in workers {
            let Some(name) = worker.running else {
                continue;
            };
            let kind = self.kinds.entry(name).or_default();
            kind.under_way += worker.lasts;
            kind.held = kind.held.max(worker.lasts);
        }
    }

    /// Records the turns that are blocked in `cx.blocking`.
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
        reading.letters = letters_of(&sample);
        // Tasks of the library itself are not shown among the actors of the program.
        sample.kinds.retain(|kind| !kind.internal);
        // The kinds arrive in no fixed order. Sorting keeps the graph stable.
        sample.kinds.sort_unstable_by_key(|kind| kind.name);
        for kind in &sample.kinds {
            let seen = self.kinds.entry(kind.name).or_default();
            reading.actors.push(actors_of(&sample.name, kind, seen));
        }
        self.outstanding
            .read(sample.at, &sample.tasks, &mut reading.outstanding);
        reading.sponsors.push(sponsor_of(sample));
    }
}

impl Kind {
    /// Resets the values that describe a single moment, such as the times of running turns.
    fn begin(&mut self) {
        (self.under_way, self.held) = (0, 0);
        (self.away, self.away_longest) = (0, 0);
    }
}

fn actors_of(sponsor: &str, kind: &KindSample, seen: &Kind) -> ActorsReading {
    ActorsReading {
        id: id_of_group(kind.name),
        name: short(kind.name),
        place: sponsor.to_owned(),
        alive: Some(kind.begun.saturating_sub(kind.ended)),
        messages: kind.turns,
        turns: kind.turns,
        busy_nanos: Some(kind.busy + seen.under_way),
        waiting: Some(kind.in_mailboxes),
        longest: Some(kind.longest_mailbox),
        turn_seconds: Some(histogram(&kind.turn_times, kind.busy)),
        wait_seconds: Some(histogram(&kind.waits, kind.waits.total())),
        messages_by_kind: kind.messages.iter().map(message_of).collect(),
        failures: kind.failures,
        restarts: kind.restarts,
        slow: kind.slow_turns,
        held_nanos: Some(seen.held),
        away: Some(seen.away),
        away_nanos: Some(seen.away_longest),
    }
}

fn message_of(message: &MessageSample) -> MessageReading {
    MessageReading {
        name: message.name.to_owned(),
        turns: message.turns,
        busy_nanos: message.busy,
        longest_nanos: message.longest,
    }
}

/// Converts `durations` into a histogram. `total` is the sum of all durations, in nanoseconds.
fn histogram(durations: &Durations, total: Nanos) -> Histogram {
    static LIMITS: LazyLock<Arc<[f64]>> = LazyLock::new(|| {
        // The last class has no limit.
        let limit = |class| Durations::limit(class) as f64 / 1e9;
        (0..Durations::LEN - 1).map(limit).collect()
    });
    let counts = durations.counts().to_vec();
    Histogram::new(LIMITS.clone(), counts, total as f64 / 1e9)
}

fn held_of((worker, sample): (u64, &WorkerSample)) -> Option<HeldReading> {
    let kind = sample.running?;
    Some(HeldReading {
        worker,
        actors: id_of_group(kind),
        name: short(kind),
        nanos: sample.lasts,
    })
}

fn letters_of(sample: &Sample) -> Vec<LetterReading> {
    let letters = sample.letters.iter();
    letters
        .map(|letter| LetterReading {
            place: sample.name.clone(),
            name: short(letter.name),
            reason: letter.reason.name().to_owned(),
            count: letter.count,
        })
        .collect()
}

fn sponsor_of(sample: Sample) -> SponsorReading {
    let sum = |count: fn(&WorkerSample) -> u64| sample.workers.iter().map(count).sum();
    let mut waits = Durations::default();
    for worker in &sample.workers {
        waits.add_all(&worker.waits);
    }
    // Without probes, no census counts the ready actors.
    let is_counted = !sample.kinds.is_empty();
    SponsorReading {
        id: SPONSOR.to_owned(),
        workers: sample.workers.len() as u64,
        idle_nanos: Some(sum(|worker| worker.parked)),
        turns: sum(|worker| worker.turns),
        published: sum(|worker| worker.published),
        claimed: sum(|worker| worker.claimed),
        parks: sum(|worker| worker.parks),
        rescues: sum(|worker| worker.rescues),
        ready: is_counted.then(|| sum(|worker| worker.ready) + sample.queued),
        wait_seconds: is_counted.then(|| histogram(&waits, waits.total())),
        dead_letters: sample.dead_letters,
        held: (0..).zip(&sample.workers).filter_map(held_of).collect(),
        name: sample.name,
    }
}

impl fmt::Debug for SponsorSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SponsorSource")
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}
