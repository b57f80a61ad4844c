//! The five properties of figure 3 of the paper. Each property is checked after each step, and
//! examines only new facts.

use std::collections::BTreeMap;

use garrick_sim::{Facts, Sim};

use crate::facts::{Applied, Committed, Led, LogIs};
use crate::log::{Entry, Log};

pub(crate) const ELECTION_SAFETY: &str = "election safety";
pub(crate) const LEADER_APPEND_ONLY: &str = "leader append-only";
pub(crate) const LOG_MATCHING: &str = "log matching";
pub(crate) const LEADER_COMPLETENESS: &str = "leader completeness";
pub(crate) const STATE_MACHINE_SAFETY: &str = "state machine safety";

/// Declares the five properties.
pub(crate) fn declare(sim: &mut Sim, servers: usize) {
    let mut elections = ElectionSafety::default();
    sim.always(ELECTION_SAFETY, move |facts| elections.holds(facts));
    let mut appends = LeaderAppendOnly::default();
    sim.always(LEADER_APPEND_ONLY, move |facts| appends.holds(facts));
    let mut logs = LogMatching::new(servers);
    sim.always(LOG_MATCHING, move |facts| logs.holds(facts));
    let mut leaders = LeaderCompleteness::default();
    sim.always(LEADER_COMPLETENESS, move |facts| leaders.holds(facts));
    let mut machines = StateMachineSafety::default();
    sim.always(STATE_MACHINE_SAFETY, move |facts| machines.holds(facts));
}

/// The number of facts of a type that a property has already examined.
#[derive(Default)]
struct Cursor(usize);

impl Cursor {
    /// Returns the facts that are new.
    fn new_facts<'a, F: 'static>(&mut self, facts: &'a Facts) -> impl Iterator<Item = &'a F> {
        let seen = facts.seen::<F>();
        let new = seen.len() - std::mem::replace(&mut self.0, seen.len());
        seen.rev().take(new).rev()
    }
}

/// At most one leader can be elected in a given term.
#[derive(Default)]
struct ElectionSafety {
    led: Cursor,
    leaders: BTreeMap<u64, usize>,
}

impl ElectionSafety {
    fn holds(&mut self, facts: &Facts) -> bool {
        self.led.new_facts(facts).all(|led: &Led| {
            let leader = self.leaders.entry(led.term).or_insert(led.server);
            *leader == led.server
        })
    }
}

/// A leader never overwrites or deletes entries in its log; it only appends new entries.
#[derive(Default)]
struct LeaderAppendOnly {
    led: Cursor,
    changed: Cursor,
    /// The newest log of each leader of a term.
    logs: BTreeMap<(u64, usize), Log>,
}

impl LeaderAppendOnly {
    fn holds(&mut self, facts: &Facts) -> bool {
        for led in self.led.new_facts::<Led>(facts) {
            self.logs.insert((led.term, led.server), led.log.clone());
        }
        self.changed.new_facts(facts).all(|new: &LogIs| {
            let Some(term) = new.leads else {
                return true;
            };
            let before = self.logs.insert((term, new.server), new.log.clone());
            before.is_none_or(|before| new.log.starts_with(&before))
        })
    }
}

/// If two logs contain an entry with the same index and term, then the logs are identical in all
/// entries up through the given index.
struct LogMatching {
    changed: Cursor,
    /// The newest log of each server.
    logs: Vec<Log>,
}

impl LogMatching {
    fn new(servers: usize) -> Self {
        Self {
            changed: Cursor::default(),
            logs: vec![Log::default(); servers],
        }
    }

    fn holds(&mut self, facts: &Facts) -> bool {
        self.changed.new_facts(facts).all(|new: &LogIs| {
            self.logs[new.server] = new.log.clone();
            self.logs.iter().all(|log| log.matches(&new.log))
        })
    }
}

/// If a log entry is committed in a given term, then that entry will be present in the logs of the
/// leaders for all higher-numbered terms.
#[derive(Default)]
struct LeaderCompleteness {
    led: Cursor,
    committed: Cursor,
}

impl LeaderCompleteness {
    fn holds(&mut self, facts: &Facts) -> bool {
        let has = |led: &Led, committed: &Committed| {
            led.term <= committed.term || led.log.get(committed.index) == Some(committed.entry)
        };
        let mut leaders = self.led.new_facts(facts);
        let is_complete = leaders.all(|led| facts.seen().all(|committed| has(led, committed)));
        // The leader of an earlier term may commit when there is a newer leader.
        let mut new = self.committed.new_facts(facts);
        is_complete && new.all(|committed| facts.seen().all(|led| has(led, committed)))
    }
}

/// If a server has applied a log entry at a given index to its state machine, no other server will
/// ever apply a different log entry for the same index.
#[derive(Default)]
struct StateMachineSafety {
    applied: Cursor,
    entries: BTreeMap<usize, Entry>,
}

impl StateMachineSafety {
    fn holds(&mut self, facts: &Facts) -> bool {
        self.applied.new_facts(facts).all(|new: &Applied| {
            let entry = self.entries.entry(new.index).or_insert(new.entry);
            *entry == new.entry
        })
    }
}
