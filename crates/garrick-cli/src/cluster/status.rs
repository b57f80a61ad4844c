//! Subcommand `garrick cluster status`.

use clap::Args;
use garrick_cluster::{KindOverview, MemberOverview, Overview};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};
use serde_json::{Value, json};

use super::observed::{Observed, state, table};
use super::refusal::refusal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    observed: Observed,

    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Shows the members and the kinds of a cluster.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let observed = &arguments.observed;
    let overview = match observed.open().and_then(|observer| observer.overview()) {
        Ok(overview) => overview,
        Err(error) => return refusal(&error),
    };
    if arguments.json {
        print(&json_of(observed.cluster(), &overview).to_string());
    } else {
        print(&page(&overview));
    }
    Ok(Ended::Well)
}

/// Returns the nodes that run entities of a kind.
fn hosts<'a>(overview: &'a Overview, kind: &'a KindOverview) -> impl Iterator<Item = &'a str> {
    let runs = move |member: &&MemberOverview| member.hosts.contains(&kind.name);
    overview
        .members
        .iter()
        .filter(runs)
        .map(|member| member.name.as_str())
}

fn page(overview: &Overview) -> String {
    let header = [
        "NODE", "STATE", "BEAT", "SHARDS", "LIFE", "EPOCH", "RUNS", "USES",
    ];
    let mut members = table(&header, &[2, 3, 4, 5]);
    for member in &overview.members {
        let beat = member.silent_for.map_or_else(String::new, |silent| {
            format!("{:.1} s ago", silent.as_secs_f64())
        });
        members.add_row([
            member.name.to_string(),
            state(member).to_owned(),
            beat,
            member.owned.to_string(),
            member.life.to_string(),
            member.epoch.to_string(),
            member.hosts.join(" "),
            member.uses.join(" "),
        ]);
    }
    let header = ["KIND", "SHARDS", "WITHOUT OWNER", "HANDED OVER", "NODES"];
    let mut kinds = table(&header, &[1, 2, 3, 4]);
    for kind in &overview.kinds {
        kinds.add_row([
            kind.name.clone(),
            kind.shards.len().to_string(),
            kind.unowned().to_string(),
            kind.handed_over().to_string(),
            hosts(overview, kind).count().to_string(),
        ]);
    }
    let mut text = format!("{members}\n{} members", overview.members.len());
    if !overview.kinds.is_empty() {
        text = format!("{text}\n\n{kinds}");
    }
    for trouble in troubles(overview) {
        text = format!("{text}\n{trouble}");
    }
    text
}

/// Returns a sentence for each problem of the cluster.
fn troubles(overview: &Overview) -> Vec<String> {
    let mut troubles = Vec::new();
    let silent = overview
        .members
        .iter()
        .filter(|member| state(member) == "silent");
    for member in silent {
        troubles.push(format!(
            "{} is silent: other members remove it, if there are any.",
            member.name
        ));
    }
    for kind in &overview.kinds {
        let (name, unowned) = (&kind.name, kind.unowned());
        if hosts(overview, kind).next().is_none() {
            troubles.push(format!("No member runs entities of the kind {name}."));
        } else if unowned > 0 {
            troubles.push(format!(
                "{unowned} shards of the kind {name} have no owner: messages to their entities wait."
            ));
        }
    }
    if overview.unreadable > 0 {
        troubles.push(format!(
            "{} records cannot be read: a later version has written them, or something else.",
            overview.unreadable
        ));
    }
    troubles
}

fn json_of(cluster: &str, overview: &Overview) -> Value {
    let member = |member: &MemberOverview| {
        json!({
            "name": member.name.as_str(),
            "state": state(member),
            "seconds_since_beat": member.silent_for.map(|silent| silent.as_secs_f64()),
            "beats": member.beat,
            "life": member.life,
            "epoch": member.epoch,
            "shards": member.owned,
            "runs": member.hosts,
            "uses": member.uses,
        })
    };
    let kind = |kind: &KindOverview| {
        json!({
            "name": kind.name,
            "shards": kind.shards.len(),
            "without_owner": kind.unowned(),
            "handed_over": kind.handed_over(),
            "nodes": hosts(overview, kind).collect::<Vec<_>>(),
        })
    };
    json!({
        "cluster": cluster,
        "members": overview.members.iter().map(member).collect::<Vec<_>>(),
        "kinds": overview.kinds.iter().map(kind).collect::<Vec<_>>(),
        "unreadable": overview.unreadable,
    })
}
