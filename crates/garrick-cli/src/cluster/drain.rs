//! Subcommand `garrick cluster drain`.

use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use garrick_cluster::nats::{NatsError, NatsObserver};
use garrick_cluster::{MemberOverview, Overview};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use super::observed::Observed;
use super::refusal::refusal;

/// Maximum number of seconds to wait: an hour.
const SECONDS_MAX: u64 = 3_600;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node.
    #[arg(value_name = "NODE")]
    node: String,

    #[command(flatten)]
    observed: Observed,

    /// Wait for at most this number of seconds until the node has left. 0 does not wait.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = value_parser!(u64).range(..=SECONDS_MAX))]
    seconds: u64,
}

/// Orders a node to drain, and waits until it has left.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    match drain(arguments) {
        Ok(ended) => Ok(ended),
        Err(error) => refusal(&error),
    }
}

fn drain(arguments: &Arguments) -> std::result::Result<Ended, NatsError> {
    let (observer, node) = (arguments.observed.open()?, arguments.node.as_str());
    let before = observer.overview()?;
    let is_new = observer.drain(node)?;
    let before = member(&before, node);
    let shards = match before {
        Some(member) => format!("{} shards", member.owned),
        // It has joined after the first look.
        None => "its shards".to_owned(),
    };
    print(&match is_new {
        true => format!("{node} was ordered to hand {shards} over"),
        false => format!("{node} hands {shards} over already"),
    });
    if arguments.seconds == 0 {
        return Ok(Ended::Well);
    }
    let ordered = before.map(Membership::of);
    wait(
        &observer,
        node,
        ordered,
        Duration::from_secs(arguments.seconds),
    )
}

fn member<'a>(overview: &'a Overview, node: &str) -> Option<&'a MemberOverview> {
    let mut members = overview.members.iter();
    members.find(|member| member.name.as_str() == node)
}

/// A membership of a node. A node that has lost its membership joins again with another epoch. A
/// node whose process has started again has another life, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Membership {
    life: u64,
    epoch: u64,
    is_draining: bool,
}

/// Result of a look at the members, about a node that was ordered to drain.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// The node has not left yet.
    Member,
    /// No member has the name of the node.
    Left,
    /// The name belongs to a process that has started later.
    StartedAgain,
    /// A new membership of the same process, which was not ordered to drain since.
    JoinedAgain,
}

impl Membership {
    fn of(member: &MemberOverview) -> Self {
        Self {
            life: member.life,
            epoch: member.epoch,
            is_draining: member.is_draining,
        }
    }
}

/// Compares the membership that was ordered to drain with the membership that the node has now.
/// `ordered` is `None` if the ordered membership is not known yet, and is set as soon as it is
/// known.
fn look(ordered: &mut Option<Membership>, now: Option<Membership>) -> Seen {
    let Some(now) = now else { return Seen::Left };
    // The node may have joined again between the first look and the order.
    let drained = match *ordered {
        Some(drained) if !now.is_draining => drained,
        _ => *ordered.insert(now),
    };
    match (now.life == drained.life, now.epoch == drained.epoch) {
        (false, _) => Seen::StartedAgain,
        (true, false) => Seen::JoinedAgain,
        (true, true) => Seen::Member,
    }
}

/// Waits until the node has left the cluster, but at most for the time `limit`. Each check waits
/// for the next heartbeat of a member.
fn wait(
    observer: &NatsObserver,
    node: &str,
    mut ordered: Option<Membership>,
    limit: Duration,
) -> std::result::Result<Ended, NatsError> {
    let until = Instant::now() + limit;
    loop {
        let overview = observer.overview()?;
        let now = member(&overview, node);
        match look(&mut ordered, now.map(Membership::of)) {
            Seen::Left => print(&format!("{node} has left the cluster")),
            Seen::StartedAgain => print(&format!(
                "{node} has left the cluster, and a process that has started later is a member with \
                 this name"
            )),
            Seen::JoinedAgain => {
                return Ok(Ended::Wrong(format!(
                    "{node} has lost its membership while it handed its shards over, or has left, and \
                     is a member again: order it again if it must leave"
                )));
            }
            Seen::Member if Instant::now() < until => continue,
            Seen::Member => {
                let (seconds, owned) = (limit.as_secs(), now.map_or(0, |now| now.owned));
                return Ok(Ended::Wrong(format!(
                    "{node} has not left within {seconds} s, and has {owned} shards: it goes on, unless \
                     its version does not know this order"
                )));
            }
        }
        return Ok(Ended::Well);
    }
}

#[cfg(test)]
mod tests {
    use super::{Membership, Seen, look};

    const fn membership(life: u64, epoch: u64, is_draining: bool) -> Membership {
        Membership {
            life,
            epoch,
            is_draining,
        }
    }

    const BEFORE: Membership = membership(7, 20, false);
    const DRAINS: Membership = membership(7, 20, true);

    /// Returns what a look shows if the node has had the membership `BEFORE` before the order.
    fn after_order(now: Option<Membership>) -> Seen {
        look(&mut Some(BEFORE), now)
    }

    #[test]
    fn a_node_has_left_if_no_member_has_its_name() {
        assert_eq!(after_order(Some(DRAINS)), Seen::Member);
        // A version that does not know the order overwrites it.
        assert_eq!(after_order(Some(BEFORE)), Seen::Member);
        assert_eq!(after_order(None), Seen::Left);
    }

    #[test]
    fn a_node_that_is_a_member_again_has_not_simply_left() {
        let joined_again = membership(7, 25, false);
        assert_eq!(after_order(Some(joined_again)), Seen::JoinedAgain);
        let started_again = membership(8, 25, false);
        assert_eq!(after_order(Some(started_again)), Seen::StartedAgain);
    }

    #[test]
    fn the_membership_that_drains_is_the_one_that_was_ordered() {
        for before in [None, Some(BEFORE)] {
            // The node has joined between the first look and the order.
            let mut ordered = before;
            let drains = membership(8, 25, true);
            assert_eq!(look(&mut ordered, Some(drains)), Seen::Member);
            assert_eq!(ordered, Some(drains));
            let started_again = membership(9, 30, false);
            assert_eq!(look(&mut ordered, Some(started_again)), Seen::StartedAgain);
            assert_eq!(look(&mut ordered, None), Seen::Left);
        }
    }
}
