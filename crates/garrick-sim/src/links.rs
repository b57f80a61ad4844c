//! Links between nodes, which delay, lose and repeat messages.

use std::any::{TypeId, type_name};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use garrick_sched::{Circumstances, Nanos, Simulation};

use crate::chance::{check_per_mille, draws, nanos_of};
use crate::search::Rng;

/// The links between nodes, as returned by [`Sim::links`](crate::Sim::links).
///
/// Links delay, lose and repeat only messages between different nodes. Within a node, a message is
/// never lost, and never arrives twice.
#[derive(Debug, Default)]
pub struct Links {
    /// Rules for links. In the rule for all links, `from` and `to` are `None`.
    rules: Vec<Link>,
}

/// The properties of the links from one node to another.
#[derive(Debug)]
pub struct Link {
    from: Option<String>,
    to: Option<String>,
    delay: Option<Range<Nanos>>,
    loses_per_mille: u32,
    duplicates: Vec<Duplicating>,
}

/// The probability that a message of one type arrives twice.
struct Duplicating {
    /// Type of the messages.
    of: TypeId,
    type_name: &'static str,
    per_mille: u32,
    /// Function that allows a simulation to copy messages of this type.
    allow: fn(&mut Simulation),
}

impl fmt::Debug for Duplicating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of 1000 {}", self.per_mille, self.type_name)
    }
}

impl Link {
    /// Delays each message by a random time in the range `delay`. Has an effect only if the
    /// messages of the run have times ([`Sim::latency`](crate::Sim::latency)).
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

    /// Delivers messages of type `M` a second time with a probability of `per_mille` / 1000. Real
    /// links do this if the sender repeats each message until its arrival is confirmed. The copy
    /// arrives after the original, at once or at any later time. The copies of messages from one
    /// actor to another stay in order. A copy can be lost, but is never copied again.
    ///
    /// `M` is the type of the messages of an actor ([`Actor::Msg`](garrick_actor::Actor::Msg)).
    /// Messages to async actors and to bounded mailboxes are not repeated.
    ///
    /// # Panics
    /// Panics if `per_mille` is greater than 1000.
    #[track_caller]
    pub fn duplicates<M: Clone + 'static>(&mut self, per_mille: u32) -> &mut Self {
        check_per_mille(per_mille);
        let of = TypeId::of::<M>();
        self.duplicates.retain(|duplicating| duplicating.of != of);
        self.duplicates.push(Duplicating {
            of,
            type_name: type_name::<M>(),
            per_mille,
            allow: Simulation::copy::<M>,
        });
        self
    }
}

impl Links {
    /// Returns the rule for all links between different nodes.
    pub fn all(&mut self) -> &mut Link {
        self.rule(None, None)
    }

    /// Returns the rule for the messages from one node to another. This rule takes precedence over
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
                duplicates: Vec::new(),
            });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }

    /// Returns the names of the nodes to which the rules apply.
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
        let is_faulty = |rule: &Link| rule.loses_per_mille > 0 || !rule.duplicates.is_empty();
        self.rules.iter().any(is_faulty)
    }

    /// Allows the simulation to copy the messages that links may deliver twice.
    pub(crate) fn allow_copies(&self, simulation: &mut Simulation) {
        let duplicates = self.rules.iter().flat_map(|rule| &rule.duplicates);
        duplicates.for_each(|duplicating| (duplicating.allow)(simulation));
    }

    /// Returns the probability in per mille with which a message between two nodes is lost.
    pub(crate) fn loss(&self, from: &str, to: &str) -> u32 {
        let rule = self.find(from, to);
        rule.map_or(0, |rule| rule.loses_per_mille)
    }

    /// Decides at random whether a message between two nodes arrives twice.
    pub(crate) fn draw_copy(
        &self,
        rng: &mut Rng,
        from: &str,
        to: &str,
        about: &Circumstances,
    ) -> bool {
        let Some(rule) = self.find(from, to).filter(|_| about.can_double) else {
            return false;
        };
        let is_of = |duplicating: &&Duplicating| duplicating.of == about.message_type;
        let found = rule.duplicates.iter().find(is_of);
        found.is_some_and(|duplicating| draws(rng, duplicating.per_mille))
    }
}
