//! What is measured, one file for each.
//!
//! [`SCENARIOS`] is the one list: the command's help, `--list`, the tables and the JSON come from it.
//!
//! Scenarios of one worker run it on the measuring thread (a `Local`) and count that thread's CPU time. Those
//! of several threads count the CPU time of the whole process, waiting and waking included.

mod actors;

mod ask;
mod blocked;
mod deque;
mod fork_bomb;
mod idle_cpu;
pub(crate) mod idle_memory;
mod ping_pong;
mod pipeline;
mod queue;
mod ring;
mod rmw;
mod spawn;
mod tell;
mod tell_cross;
mod tell_outside;

use crate::scenario::Scenario;

/// All of them, in the order in which they run.
pub(crate) static SCENARIOS: &[Scenario] = &[
    rmw::RMW,
    tell::TELL,
    tell::TELL_ONE,
    tell_cross::TELL_CROSS,
    tell_outside::TELL_OUTSIDE,
    ping_pong::PING_PONG,
    ping_pong::PING_PONG_CROSS,
    ask::ASK,
    ask::ASK_OUTSIDE,
    spawn::SPAWN,
    idle_memory::IDLE_MEMORY,
    ring::RING,
    fork_bomb::FORK_BOMB,
    pipeline::PIPELINE,
    deque::DEQUE,
    queue::QUEUE,
    idle_cpu::IDLE_CPU,
    blocked::BLOCKED,
];

/// The scenarios of these names in the list's order, or all if there are no names. Fails with the first
/// name that is not there.
pub(crate) fn choose(names: &[String]) -> Result<Vec<&'static Scenario>, &str> {
    let exists = |name: &str| SCENARIOS.iter().any(|scenario| scenario.name == name);
    if let Some(unknown) = names.iter().find(|name| !exists(name)) {
        return Err(unknown);
    }
    let chosen = SCENARIOS
        .iter()
        .filter(|scenario| names.is_empty() || names.iter().any(|name| name == scenario.name));
    Ok(chosen.collect())
}

/// All names, for messages.
pub(crate) fn names() -> String {
    let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_operations_are_stated() {
        for (index, scenario) in SCENARIOS.iter().enumerate() {
            assert!(
                SCENARIOS[..index]
                    .iter()
                    .all(|other| other.name != scenario.name)
            );
            assert!(scenario.operation.len() > 20, "{}", scenario.name);
        }
    }

    #[test]
    fn choosing_keeps_the_lists_order() {
        let names = ["ring".to_owned(), "rmw".to_owned(), "ring".to_owned()];
        let chosen = choose(&names).unwrap();
        assert_eq!(
            chosen
                .iter()
                .map(|scenario| scenario.name)
                .collect::<Vec<_>>(),
            ["rmw", "ring"]
        );
        assert_eq!(choose(&[]).unwrap().len(), SCENARIOS.len());
    }

    #[test]
    fn unknown_names_are_named() {
        assert_eq!(
            choose(&["rmw".to_owned(), "rnw".to_owned()]).unwrap_err(),
            "rnw"
        );
    }
}
