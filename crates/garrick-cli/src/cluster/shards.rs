//! Subcommand `garrick cluster shards`.

use std::collections::BTreeMap;

use clap::Args;
use garrick_cluster::{KindOverview, ShardOverview};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};
use serde_json::{Value, json};

use super::observed::{Observed, table};
use super::refusal::{refusal, unknown};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the kind.
    #[arg(value_name = "KIND")]
    kind: String,

    #[command(flatten)]
    observed: Observed,

    /// Print one line of JSON, with the owner of each shard.
    #[arg(long)]
    json: bool,
}

/// Shows which nodes own the shards of a kind.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let observed = &arguments.observed;
    let overview = match observed.open().and_then(|observer| observer.overview()) {
        Ok(overview) => overview,
        Err(error) => return refusal(&error),
    };
    let found = overview
        .kinds
        .iter()
        .find(|kind| kind.name == arguments.kind);
    let Some(kind) = found else {
        let known: Vec<_> = overview.kinds.into_iter().map(|kind| kind.name).collect();
        let none = "no member runs entities";
        return Ok(Ended::Refused(unknown(
            "kind",
            &arguments.kind,
            &known,
            none,
        )));
    };
    if arguments.json {
        print(&json_of(kind).to_string());
    } else {
        print(&page(kind));
    }
    Ok(Ended::Well)
}

fn page(kind: &KindOverview) -> String {
    let mut owners: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, shard) in kind.shards.iter().enumerate() {
        owners.entry(owner(shard)).or_default().push(number);
    }
    let mut table = table(&["NODE", "STATE", "COUNT", "SHARDS"], &[2]);
    for ((node, state), numbers) in owners {
        table.add_row([
            node.to_owned(),
            state.to_owned(),
            numbers.len().to_string(),
            ranges(&numbers),
        ]);
    }
    format!("{table}\n{} shards", kind.shards.len())
}

/// Returns the owner of a shard, and the state of the shard in words.
fn owner(shard: &ShardOverview) -> (&str, &'static str) {
    match shard.owner() {
        None => ("-", "without owner"),
        Some(node) if shard.is_handed_over() => (node.as_str(), "handed over"),
        Some(node) => (node.as_str(), "owned"),
    }
}

/// Returns sorted numbers as text with ranges, such as `0-3 7`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let text = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(usize::to_string).collect(),
    });
    text.collect::<Vec<_>>().join(" ")
}

fn json_of(kind: &KindOverview) -> Value {
    let shard = |shard: &ShardOverview| {
        json!({
            "node": shard.owner().map(|node| node.as_str()),
            "handed_over": shard.is_handed_over(),
        })
    };
    json!({
        "kind": kind.name,
        "shards": kind.shards.iter().map(shard).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3 7 9-10");
        assert_eq!(ranges(&[]), "");
    }
}
