//! Faults: turns that fail, links that delay and lose, nodes that crash.

use std::any::type_name;
use std::ops::Range;
use std::time::Duration;

use garrick_sched::{Circumstances, Fate, Nanos};

use crate::search::Rng;

/// Number of equal parts in which probabilities are given.
const PER_MILLE: u64 = 1000;

/// The turns that fail, and the nodes that crash. [`Sim::faults`](crate::Sim::faults) returns it.
#[derive(Debug, Default)]
pub struct Faults {
    fails: Vec<Failing>,
    pub(crate) crashes: Vec<Crashing>,
}

/// A probability that turns of a type of actor fail.
#[derive(Debug)]
struct Failing {
    /// Name of the type. `None` stands for all types.
    of: Option<&'static str>,
    per_mille: u32,
}

/// A node that may crash.
#[derive(Debug)]
pub(crate) struct Crashing {
    pub(crate) node: String,
    /// Number of crashes that are left.
    pub(crate) left: u32,
    /// Time until the node starts again. `None` if it does not.
    pub(crate) restarts_after: Option<Range<Nanos>>,
}

impl Faults {
    /// Makes turns of actors of type `A` fail with a probability of `per_mille` / 1000. A turn that
    /// fails panics when it commits, so it is undone, and the actor's supervisor decides.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn turn_fails<A>(&mut self, per_mille: u32) -> &mut Self {
        self.add(Some(type_name::<A>()), per_mille)
    }

    /// Makes turns of all actors of the program fail, like [`Faults::turn_fails`].
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

    /// Makes a node crash up to `times` times. The node stays down for the rest of the run.
    /// Replaces an earlier rule for the crashes of this node.
    pub fn crash(&mut self, node: impl Into<String>, times: u32) -> &mut Self {
        self.add_crashes(node.into(), times, None)
    }

    /// Makes a node crash up to `times` times. After each crash, the node starts again after a time
    /// in the range `after`. Replaces an earlier rule for the crashes of this node.
    ///
    /// The node must have been opened by [`Sim::restarting`](crate::Sim::restarting), or it starts
    /// without actors.
    pub fn crash_and_restart(
        &mut self,
        node: impl Into<String>,
        times: u32,
        after: Range<Duration>,
    ) -> &mut Self {
        self.add_crashes(node.into(), times, Some(nanos_of(&after)))
    }

    /// Adds the rule for the crashes of a node, instead of an earlier one for this node.
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

    /// Returns true if there are faults.
    pub(crate) fn are_any(&self) -> bool {
        !self.fails.is_empty() || !self.crashes.is_empty()
    }

    /// Draws if a turn fails.
    fn draw_failure(&self, rng: &mut Rng, about: &Circumstances) -> bool {
        if self.fails.is_empty() || !about.is_turn || about.is_internal {
            return false;
        }
        let of_type = |failing: &&Failing| failing.of.is_none_or(|of| of == about.type_name);
        let applies = self.fails.iter().filter(of_type);
        let per_mille = applies.map(|failing| failing.per_mille).max();
        per_mille.is_some_and(|per_mille| draws(rng, per_mille))
    }
}

/// The links between nodes. [`Sim::links`](crate::Sim::links) returns it.
///
/// Links delay and lose messages between different nodes only. Within a node, a message is never
/// lost.
#[derive(Debug, Default)]
pub struct Links {
    /// Rules, the most specific last: names of the nodes, or `None` for all.
    rules: Vec<Link>,
}

/// The properties of the links from one node to another.
#[derive(Debug)]
pub struct Link {
    from: Option<String>,
    to: Option<String>,
    delay: Option<Range<Nanos>>,
    loses_per_mille: u32,
}

impl Link {
    /// Delays messages by a time in the range `delay`. Has an effect only if the messages of the
    /// run have times ([`Sim::latency`](crate::Sim::latency)).
    pub fn delay(&mut self, delay: Range<Duration>) -> &mut Self {
        self.delay = Some(nanos_of(&delay));
        self
    }

    /// Loses messages with a probability of `per_mille` / 1000.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn loses(&mut self, per_mille: u32) -> &mut Self {
        check_per_mille(per_mille);
        self.loses_per_mille = per_mille;
        self
    }
}

impl Links {
    /// Returns the rule for all links between different nodes.
    pub fn all(&mut self) -> &mut Link {
        self.rule(None, None)
    }

    /// Returns the rule for the messages from one node to another. It takes precedence over
    /// [`Links::all`].
    pub fn between(&mut self, from: impl Into<String>, to: impl Into<String>) -> &mut Link {
        self.rule(Some(from.into()), Some(to.into()))
    }

    fn rule(&mut self, from: Option<String>, to: Option<String>) -> &mut Link {
        let found = self
            .rules
            .iter()
            .position(|rule| rule.from == from && rule.to == to);
        let at = found.unwrap_or_else(|| {
            self.rules.push(Link {
                from,
                to,
                delay: None,
                loses_per_mille: 0,
            });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }

    /// Returns the names of the nodes in the rules.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.rules.iter().flat_map(|rule| [&rule.from, &rule.to]);
        names.filter_map(|name| name.as_deref())
    }

    /// Returns the rule for the messages between two nodes, if there is one.
    fn find(&self, from: &str, to: &str) -> Option<&Link> {
        let is = |name: &Option<String>, node: &str| name.as_deref() == Some(node);
        let exact = self
            .rules
            .iter()
            .find(|rule| is(&rule.from, from) && is(&rule.to, to));
        exact.or_else(|| self.rules.iter().find(|rule| rule.from.is_none()))
    }

    /// Returns the range of the delays between two nodes, if there is one.
    pub(crate) fn delay(&self, from: &str, to: &str) -> Option<Range<Nanos>> {
        self.find(from, to)?.delay.clone()
    }

    pub(crate) fn are_any(&self) -> bool {
        self.rules.iter().any(|rule| rule.loses_per_mille > 0)
    }

    /// Draws if a message between two nodes is lost.
    fn draw_loss(&self, rng: &mut Rng, from: &str, to: &str) -> bool {
        let rule = self.find(from, to);
        rule.is_some_and(|rule| draws(rng, rule.loses_per_mille))
    }
}

/// Draws the fate of a step. `name_of` returns the names of nodes.
pub(crate) fn draw_fate<'n>(
    faults: &Faults,
    links: &Links,
    rng: &mut Rng,
    about: &Circumstances,
    name_of: impl Fn(usize) -> &'n str,
) -> Fate {
    if let Some(from) = about.from
        && from != about.to
        && about.is_message
        && links.are_any()
        && links.draw_loss(rng, name_of(from), name_of(about.to))
    {
        return Fate::Lost;
    }
    if faults.draw_failure(rng, about) {
        return Fate::Fails;
    }
    Fate::Happens
}

/// Draws true with a probability in per mille.
pub(crate) fn draws(rng: &mut Rng, per_mille: u32) -> bool {
    per_mille > 0 && rng.below(PER_MILLE as usize) < per_mille as usize
}

/// Draws a time in a range. Returns the start if the range is empty.
pub(crate) fn draw_time(rng: &mut Rng, range: &Range<Nanos>) -> Nanos {
    let width = range.end.saturating_sub(range.start);
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    range.start + rng.below(width.max(1)) as Nanos
}

pub(crate) fn nanos_of(range: &Range<Duration>) -> Range<Nanos> {
    garrick_sched::nanos(range.start)..garrick_sched::nanos(range.end)
}

/// Panics if a probability is greater than 1000 per mille.
#[track_caller]
pub(crate) fn check_per_mille(per_mille: u32) {
    assert!(
        u64::from(per_mille) <= PER_MILLE,
        "a probability of {per_mille} per mille: it must be at most 1000"
    );
}
