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
    let Some(member) = member(&before, node) else {
        // It has joined after the first look.
        print(&format!("{node} was ordered to hand its shards over"));
        return Ok(Ended::Well);
    };
    let owned = member.owned;
    print(&match is_new {
        true => format!("{node} was ordered to hand {owned} shards over"),
        false => format!("{node} hands {owned} shards over already"),
    });
    if arguments.seconds == 0 {
        return Ok(Ended::Well);
    }
    wait(&observer, member, Duration::from_secs(arguments.seconds))
}

fn member<'a>(overview: &'a Overview, node: &str) -> Option<&'a MemberOverview> {
    let mut members = overview.members.iter();
    members.find(|member| member.name.as_str() == node)
}

/// Waits until the node has left the cluster, but at most for the time `limit`. Each check waits
/// for the next heartbeat of a member.
fn wait(
    observer: &NatsObserver,
    drained: &MemberOverview,
    limit: Duration,
) -> std::result::Result<Ended, NatsError> {
    let (node, until) = (drained.name.as_str(), Instant::now() + limit);
    loop {
        let overview = observer.overview()?;
        let now = member(&overview, node).filter(|now| now.epoch == drained.epoch);
        let Some(now) = now else {
            print(&format!("{node} has left the cluster"));
            return Ok(Ended::Well);
        };
        if Instant::now() >= until {
            let (seconds, owned) = (limit.as_secs(), now.owned);
            return Ok(Ended::Wrong(format!(
                "{node} has not left within {seconds} s, and has {owned} shards: it goes on, unless \
                 its version does not know this order"
            )));
        }
    }
}
