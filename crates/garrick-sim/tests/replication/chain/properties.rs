//! Properties of a chain: the update propagation invariant, and what clients may rely on (van
//! Renesse and Schneider, OSDI 2004, sections 2 and 3.1).

use garrick_sim::{Facts, Sim};

use super::clients::{Acknowledged, Answered, Asked};
use super::master::Decided;
use super::replica::Stored;
use super::{Living, NODES, UPDATES, Update};

pub(super) const STORED_ONCE: &str = "each update is stored once";
pub(super) const PREFIX: &str = "a history is a prefix of the predecessor's";
pub(super) const NOT_LOST: &str = "no acknowledged update is lost";
pub(super) const NOT_BACK: &str = "queries never go back";
pub(super) const SEEN: &str = "a query sees what was acknowledged before";
pub(super) const ALL_ACKNOWLEDGED: &str = "all updates are acknowledged";
pub(super) const ALL_ANSWERED: &str = "all queries are answered";

/// Declares the properties of a chain with a reader that makes `queries` queries.
pub(super) fn declare(sim: &mut Sim, living: &Living, queries: u32) {
    sim.always(STORED_ONCE, |facts| {
        facts.last::<Stored>().is_none_or(|stored| {
            let history = &stored.history;
            (1..history.len()).all(|at| !history[..at].contains(&history[at]))
        })
    });
    let of = living.clone();
    sim.always(PREFIX, move |facts| {
        let histories = histories(facts, &of);
        histories
            .windows(2)
            .all(|pair| pair[0].starts_with(pair[1]))
    });
    let of = living.clone();
    sim.always(NOT_LOST, move |facts| {
        let histories = histories(facts, &of);
        let is_kept = |update| histories.iter().any(|history| history.contains(update));
        facts
            .seen::<Acknowledged>()
            .all(|acknowledged| is_kept(&acknowledged.0))
    });
    sim.always(NOT_BACK, |facts| {
        let mut newest = facts.seen::<Answered>().rev();
        match (newest.next(), newest.next()) {
            (Some(last), Some(before)) => last.0.starts_with(&before.0),
            _ => true,
        }
    });
    sim.always(SEEN, sees_what_was_acknowledged);
    sim.at_end(ALL_ACKNOWLEDGED, |facts| {
        facts.seen::<Acknowledged>().len() == UPDATES as usize
    });
    sim.at_end(ALL_ANSWERED, move |facts| {
        facts.seen::<Answered>().len() == queries as usize
    });
}

/// Returns the newest histories of the replicas that have not crashed, head first.
fn histories<'f>(facts: &'f Facts, living: &Living) -> Vec<&'f [Update]> {
    let newest = |id| {
        let stored = facts.seen::<Stored>().rfind(|stored| stored.id == id);
        stored.map_or(&[][..], |stored| &stored.history)
    };
    let decided = facts.last::<Decided>().map(|decided| decided.0.clone());
    let chain = decided.unwrap_or_else(|| (0..NODES).collect());
    let living = chain.into_iter().filter(|id| living.contains(*id));
    living.map(newest).collect()
}

/// Returns true if the newest answer contains all updates that were acknowledged before its query
/// began.
fn sees_what_was_acknowledged(facts: &Facts) -> bool {
    let queries = facts.placed::<Asked>().zip(facts.seen::<Answered>());
    let Some(((began, _), answer)) = queries.last() else {
        return true;
    };
    let acknowledged = facts.placed::<Acknowledged>();
    let mut before = acknowledged.take_while(|(at, _)| *at < began);
    before.all(|(_, acknowledged)| answer.0.contains(&acknowledged.0))
}
