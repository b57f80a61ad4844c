//! Faults: turns that fail, nodes that crash, partitions, and the end of all faults.

use std::any::type_name;
use std::ops::Range;
use std::time::Duration;

use garrick_sched::{Circumstances, Nanos};

use crate::chance::{check_per_mille, draws, nanos_of};
use crate::search::Rng;

/// Default probability, in per mille, that the connection from a crashed node to a receiver ends
/// before the next message arrives.
const LOSES_SENT: u32 = 500;

/// The settings for failing turns, crashing nodes and partitions of the network.
/// [`Sim::faults`](crate::Sim::faults) returns these settings.
#[derive(Debug)]
pub struct Faults {
    fails: Vec<Failing>,
    pub(crate) crashes: Vec<Crashing>,
    pub(crate) partitions: Vec<Partition>,
    /// Probability, in per mille, that the connection from a crashed node to a receiver ends before
    /// the next message arrives.
    pub(crate) loses_sent: u32,
    /// Moment at which all faults end. `None` if they end with the run.
    pub(crate) end: Option<EndOfFaults>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            fails: Vec::new(),
            crashes: Vec::new(),
            partitions: Vec::new(),
            loses_sent: LOSES_SENT,
            end: None,
        }
    }
}

/// The moment at which all faults end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EndOfFaults {
    Time(Nanos),
    Steps(u32),
}

/// A partition that can begin during a run: some nodes then cannot reach the others.
/// [`Faults::partition`] returns it.
#[derive(Debug)]
pub struct Partition {
    /// Names of the nodes on one side of the partition. All other nodes are on the other side.
    pub(crate) nodes: Vec<String>,
    /// Number of times that the partition can still begin.
    pub(crate) left: u32,
    /// Range of the time after which the partition heals.
    pub(crate) lasts: Range<Nanos>,
    /// True if messages wait until the partition has healed. False if messages are lost.
    pub(crate) holds: bool,
}

impl Partition {
    /// Makes messages wait until the partition has healed, as if their connection survived the
    /// partition. By default, the messages are lost, because waiting messages would only arrive
    /// late, and the simulation tries late messages even without partitions.
    pub fn holds_messages(&mut self) -> &mut Self {
        self.holds = true;
        self
    }

    /// Returns true if two nodes are on different sides of the partition.
    pub(crate) fn separates(&self, one: &str, other: &str) -> bool {
        let has = |name: &str| self.nodes.iter().any(|node| node == name);
        has(one) != has(other)
    }

    /// Returns the names of the nodes that the partition cuts off, separated by commas.
    pub(crate) fn name(&self) -> String {
        self.nodes.join(", ")
    }
}

/// The probability that a turn fails, for one type of actor or for all types.
#[derive(Debug)]
struct Failing {
    /// Name of the actor's type. `None` stands for all types.
    of: Option<&'static str>,
    per_mille: u32,
}

/// A node that can crash, and the rule for its crashes.
#[derive(Debug)]
pub(crate) struct Crashing {
    pub(crate) node: String,
    /// Number of times that the node can still crash.
    pub(crate) left: u32,
    /// Range of the time after which the node starts again. `None` if the node stays down.
    pub(crate) restarts_after: Option<Range<Nanos>>,
}

impl Faults {
    /// Makes turns of actors of type `A` fail with a probability of `per_mille` / 1000. Such a turn
    /// panics when it commits, so the turn is undone, and the actor's supervisor decides what
    /// happens to the actor.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn turn_fails<A>(&mut self, per_mille: u32) -> &mut Self {
        self.add(Some(type_name::<A>()), per_mille)
    }

    /// Makes turns of all actors fail with a probability of `per_mille` / 1000, like
    /// [`Faults::turn_fails`].
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn any_turn_fails(&mut self, per_mille: u32) -> &mut Self {
        self.add(None, per_mille)
    }

    #[track_caller]
    fn add(&mut self, of: Option<&'static str>, per_mille: u32) -> &mut Self {
        check_per_mille(per_mille);
        self.fails.push(Failing { of, per_mille });
        self
    }

    /// Lets a node crash once. After the crash, the node stays down for the rest of the run.
    /// Replaces an earlier rule for the crashes of this node.
    pub fn crash(&mut self, node: impl Into<String>) -> &mut Self {
        self.add_crashes(node.into(), 1, None)
    }

    /// Lets a node crash up to `times` times. After each crash, the node stays down for a time in
    /// the range `after`, and then starts again. Replaces an earlier rule for the crashes of this
    /// node.
    ///
    /// Open the node by [`Sim::restarting`](crate::Sim::restarting). Otherwise, the node starts
    /// again without actors.
    pub fn crash_and_restart(
        &mut self,
        node: impl Into<String>,
        times: u32,
        after: Range<Duration>,
    ) -> &mut Self {
        self.add_crashes(node.into(), times, Some(nanos_of(&after)))
    }

    /// Adds the rule for the crashes of a node. Replaces an earlier rule for this node.
    fn add_crashes(
        &mut self,
        node: String,
        left: u32,
        restarts_after: Option<Range<Nanos>>,
    ) -> &mut Self {
        self.crashes.retain(|crashing| crashing.node != node);
        self.crashes.push(Crashing {
            node,
            left,
            restarts_after,
        });
        self
    }

    /// Sets the probability that a crash also loses messages that the node sent before the crash.
    /// The default is 500 of 1000.
    ///
    /// For each pair of a crashed sender and a receiver, this is the probability that the
    /// connection ends before the next message arrives. If the connection ends, this message and
    /// all later ones are lost. So there are no gaps between the messages that arrive. With 1000,
    /// no message arrives after a crash.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn crash_loses_sent(&mut self, per_mille: u32) -> &mut Self {
        check_per_mille(per_mille);
        self.loses_sent = per_mille;
        self
    }

    /// Adds a partition that may begin up to `times` times. While the partition lasts, `nodes` are
    /// cut off from all other nodes. The partition lasts for a time in the range `lasts`, or for
    /// any time if [`Sim::latency`](crate::Sim::latency) is not called. Messages between the two
    /// sides are lost, unless [`Partition::holds_messages`] is called.
    ///
    /// The simulation records the facts [`Cut`](crate::Cut) and [`Healed`](crate::Healed) when the
    /// partition begins and heals.
    pub fn partition<N: Into<String>>(
        &mut self,
        nodes: impl IntoIterator<Item = N>,
        times: u32,
        lasts: Range<Duration>,
    ) -> &mut Partition {
        self.partitions.push(Partition {
            nodes: nodes.into_iter().map(Into::into).collect(),
            left: times,
            lasts: nanos_of(&lasts),
            holds: false,
        });
        self.partitions.last_mut().expect("it was added above")
    }

    /// Ends all faults after a time: no turn fails, no message is lost, no node crashes, partitions
    /// heal, and nodes that wait for their restart start at once. At this moment, the time limits
    /// of [`Sim::eventually`](crate::Sim::eventually) begin. By default, there are faults until
    /// nothing is left to do.
    ///
    /// Use this method together with [`Sim::latency`](crate::Sim::latency). Without delays, time
    /// passes only when the search chooses to fire a timer. In this case, use
    /// [`Faults::cease_after_steps`] instead.
    pub fn cease_after(&mut self, time: Duration) -> &mut Self {
        self.end = Some(EndOfFaults::Time(garrick_sched::nanos(time)));
        self
    }

    /// Ends all faults after a number of steps, like [`Faults::cease_after`]. After the end of the
    /// faults, a search of all orders tries only one order of the steps.
    pub fn cease_after_steps(&mut self, steps: u32) -> &mut Self {
        self.end = Some(EndOfFaults::Steps(steps));
        self
    }

    /// Returns a description of the mistake in the declared faults, if there is one.
    pub(crate) fn mistake(&self, nodes: &[String]) -> Option<String> {
        self.partitions.iter().find_map(|partition| {
            let is_inside = |node: &&String| partition.nodes.contains(*node);
            let inside = nodes.iter().filter(is_inside).count();
            match inside {
                0 => Some("a partition without nodes on one side: name some".to_owned()),
                _ if inside == nodes.len() => Some(format!(
                    "a partition of [{}] has all nodes on one side: leave some out",
                    partition.name()
                )),
                _ => None,
            }
        })
    }

    /// Returns the names of the nodes to which the rules apply.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let crashing = self.crashes.iter().map(|crash| &*crash.node);
        let cut = self
            .partitions
            .iter()
            .flat_map(|partition| &partition.nodes);
        crashing.chain(cut.map(String::as_str))
    }

    /// Returns true if the settings let nodes crash or let partitions begin, or if they end the
    /// faults before the end of the run.
    pub(crate) fn have_outages(&self) -> bool {
        !self.crashes.is_empty() || !self.partitions.is_empty() || self.end.is_some()
    }

    /// Returns true if the settings let turns fail.
    pub(crate) fn can_fail_turns(&self) -> bool {
        !self.fails.is_empty()
    }

    /// Returns true if the settings let turns fail or let nodes crash.
    pub(crate) fn are_any(&self) -> bool {
        self.can_fail_turns() || !self.crashes.is_empty()
    }

    /// Decides at random whether a turn fails. Returns true if it fails.
    pub(crate) fn draw_failure(&self, rng: &mut Rng, about: &Circumstances) -> bool {
        if self.fails.is_empty() || !about.is_turn || about.is_internal {
            return false;
        }
        let of_type = |failing: &&Failing| failing.of.is_none_or(|of| of == about.type_name);
        let applies = self.fails.iter().filter(of_type);
        let per_mille = applies.map(|failing| failing.per_mille).max();
        per_mille.is_some_and(|per_mille| draws(rng, per_mille))
    }
}
