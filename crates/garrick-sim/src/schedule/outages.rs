//! Outages: nodes that are down, and partitions that have not healed.

use garrick_sched::Nanos;

use crate::chance::{draw_time, rng_of};
use crate::event::Event;
use crate::search::Rng;
use crate::sim::Sim;

use super::{Mode, set_offered};

/// A number that is mixed into the seed of the random generator for the earliest step of each
/// crash. So no other generator has the same seed.
const CRASHES: u64 = 0x63_7261_7368;

/// A number that is mixed into the seed of the random generator for the earliest step of each
/// partition. So no other generator has the same seed.
const CUTS: u64 = 0x6375_7473;

/// A number that distinguishes the random generator for the durations of outages from other
/// generators with the same seed.
const LASTS: u64 = 0x6c_6173_7473;

/// Exclusive upper bound of the random number of steps before an outage can begin.
const ONSET_STEPS: usize = 64;

/// The outages of a run, in the order of their rules.
pub(super) struct Outages {
    crashes: Rules,
    /// For each rule for crashes, the index of its node.
    crashing: Vec<usize>,
    cuts: Rules,
}

/// The outages of one kind: all crashes, or all partitions.
struct Rules {
    all: Vec<Outage>,
    /// Number of outages that are in progress.
    on: usize,
    /// Random generator for the earliest step of each outage. `None` if outages can begin at any
    /// step, because the choices of the run are given as a list.
    onsets: Option<Rng>,
    /// A number that makes the random durations of crashes differ from those of partitions.
    kind: u64,
}

/// The state of the outage that one rule can cause.
#[derive(Default)]
struct Outage {
    /// Sequence number of the step after which the outage can begin.
    onset: u32,
    is_on: bool,
    /// The earliest time at which the outage can end. `None` if the outage can end at any time.
    ends_at: Option<Nanos>,
    /// Number of times that the outage has begun.
    times: u64,
}

impl Rules {
    fn new(count: usize, seed: u64, kind: u64, has_onsets: bool) -> Self {
        let mut onsets = has_onsets.then(|| Rng::new(seed ^ kind));
        let mut outage = || Outage {
            onset: onsets.as_mut().map_or(0, draw_onset),
            ..Outage::default()
        };
        Self {
            all: (0..count).map(|_| outage()).collect(),
            on: 0,
            onsets,
            kind,
        }
    }

    /// Begins the outage of the rule with the index `index`, in the step number `step` of the run.
    /// `lasts` returns the random time at which the outage can end, or `None` if the outage can end
    /// at any time.
    fn begin(
        &mut self,
        index: usize,
        step: u32,
        seed: u64,
        lasts: impl FnOnce(&mut Rng) -> Option<Nanos>,
    ) {
        let onset = self.onsets.as_mut().map_or(0, draw_onset);
        let outage = &mut self.all[index];
        let mut rng = rng_of(&[LASTS, seed, self.kind, index as u64, outage.times]);
        outage.onset = step + onset;
        self.on += usize::from(!outage.is_on);
        outage.is_on = true;
        outage.ends_at = lasts(&mut rng);
        outage.times += 1;
    }

    fn end(&mut self, index: usize) {
        if let Some(outage) = self.all.get_mut(index) {
            self.on -= usize::from(outage.is_on);
            outage.is_on = false;
        }
    }
}

fn draw_onset(rng: &mut Rng) -> u32 {
    rng.below(ONSET_STEPS) as u32
}

impl Outage {
    fn may_end(&self, mode: Mode, now: Nanos) -> bool {
        mode != Mode::Faulty || self.ends_at.is_none_or(|time| time <= now)
    }
}

impl Outages {
    pub(super) fn new(sim: &Sim, has_onsets: bool) -> Self {
        let (faults, _) = sim.faults_and_links();
        let seed = sim.seed();
        let crashing = faults.crashes.iter();
        Self {
            crashing: crashing.map(|crash| sim.node_index(&crash.node)).collect(),
            crashes: Rules::new(faults.crashes.len(), seed, CRASHES, has_onsets),
            cuts: Rules::new(faults.partitions.len(), seed, CUTS, has_onsets),
        }
    }

    /// Offers a choice (a possible next step) for each outage that can begin or end in step number
    /// `step`.
    #[inline]
    pub(super) fn offer(&self, sim: &mut Sim, mode: Mode, step: u32) {
        if !self.crashes.all.is_empty() || !self.cuts.all.is_empty() {
            self.offer_all(sim, mode, step);
        }
    }

    fn offer_all(&self, sim: &mut Sim, mode: Mode, step: u32) {
        let now = sim.clock.now();
        let may_begin = |outage: &Outage| mode != Mode::Calm && outage.onset < step;
        for (index, outage) in self.crashes.all.iter().enumerate() {
            let crash = &sim.faults_and_links().0.crashes[index];
            let (left, restarts) = (crash.left, crash.restarts_after.is_some());
            let node = self.crashing[index];
            let is_up = sim.is_up(node);
            if sim.disks.are_any() {
                let at_risk = mode != Mode::Calm && is_up && left > 0;
                sim.disks.set_at_risk(sim.name_at(node), at_risk);
            }
            let crashes = is_up && left > 0 && may_begin(outage);
            set_offered(sim, Event::Crash(node), crashes);
            let starts = !is_up && restarts && outage.may_end(mode, now);
            set_offered(sim, Event::Restart(node), starts);
        }
        for (index, outage) in self.cuts.all.iter().enumerate() {
            let left = sim.faults_and_links().0.partitions[index].left;
            let cuts = !outage.is_on && left > 0 && may_begin(outage);
            set_offered(sim, Event::Cut(index), cuts);
            let heals = outage.is_on && outage.may_end(mode, now);
            set_offered(sim, Event::Heal(index), heals);
        }
    }

    /// Returns the index of the rule for crashes of the node with the index `node`.
    fn rule_of(&self, node: usize) -> Option<usize> {
        self.crashing.iter().position(|crashing| *crashing == node)
    }

    /// Returns the times after `now` from which on the outages in progress can end.
    pub(super) fn ends(&self, now: Nanos) -> impl Iterator<Item = Nanos> {
        let all = self.crashes.all.iter().chain(&self.cuts.all);
        let ends = all.filter(|outage| outage.is_on);
        ends.filter_map(|outage| outage.ends_at)
            .filter(move |time| *time > now)
    }

    /// Crashes the node with the index `node`, in the step number `step` of the run. If `has_times`
    /// is false, the node can start again at any step.
    pub(super) fn crash(&mut self, sim: &mut Sim, node: usize, step: u32, has_times: bool) {
        let Some(index) = self.rule_of(node) else {
            return;
        };
        let (now, seed) = (sim.clock.now(), sim.seed());
        let crash = &mut sim.faults_mut().crashes[index];
        crash.left -= 1;
        let after = crash.restarts_after.clone().filter(|_| has_times);
        self.crashes.begin(index, step, seed, |rng| {
            after.map(|after| now.saturating_add(draw_time(rng, &after)))
        });
        sim.crash(node);
    }

    /// Ends the crash of the node with the index `node`, and starts the node again.
    pub(super) fn restart(&mut self, sim: &mut Sim, node: usize) {
        if let Some(index) = self.rule_of(node) {
            self.crashes.end(index);
        }
        sim.restart(node);
    }

    /// Begins the partition of the rule with the index `index`, in the step number `step` of the
    /// run. If `has_times` is false, the partition can heal at any step.
    pub(super) fn cut(&mut self, sim: &mut Sim, index: usize, step: u32, has_times: bool) {
        let (now, seed) = (sim.clock.now(), sim.seed());
        let Some(partition) = sim.faults_mut().partitions.get_mut(index) else {
            return;
        };
        partition.left = partition.left.saturating_sub(1);
        let lasts = partition.lasts.clone();
        self.cuts.begin(index, step, seed, |rng| {
            has_times.then(|| now.saturating_add(draw_time(rng, &lasts)))
        });
    }

    /// Heals a partition.
    pub(super) fn heal(&mut self, index: usize) {
        self.cuts.end(index);
    }

    /// Returns true if a partition that makes messages wait is in progress.
    #[inline]
    pub(super) fn are_any_held(&self, sim: &Sim) -> bool {
        if self.cuts.on == 0 {
            return false;
        }
        let partitions = &sim.faults_and_links().0.partitions;
        let cuts = self.cuts.all.iter().zip(partitions);
        cuts.into_iter().any(|(cut, rule)| cut.is_on && rule.holds)
    }

    /// Returns true if a partition prevents the delivery that the choice with the index `at` would
    /// make. (A choice is a possible next step of the simulation.) If `holds` is true, only
    /// partitions that make messages wait count. Otherwise, only partitions that lose messages
    /// count.
    #[inline]
    pub(super) fn cut_off(&self, sim: &Sim, at: usize, holds: bool) -> bool {
        self.cuts.on > 0 && self.is_separated(sim, at, holds)
    }

    fn is_separated(&self, sim: &Sim, at: usize, holds: bool) -> bool {
        let Some((from, to)) = sim.simulation.nodes_of(at) else {
            return false;
        };
        let (from, to) = (sim.name_of(from), sim.name_of(to));
        let partitions = &sim.faults_and_links().0.partitions;
        let mut cuts = self.cuts.all.iter().zip(partitions);
        cuts.any(|(cut, rule)| cut.is_on && rule.holds == holds && rule.separates(from, to))
    }
}
