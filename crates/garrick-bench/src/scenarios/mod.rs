//! Scenarios of `garrick bench`. Each file contains one scenario, or a few similar ones.
//!
//! [`SCENARIOS`] is the only list of scenarios. The command's help, `--list`, the tables and the
//! JSON are created from it.
//!
//! Scenarios with one worker run this worker on the measuring thread (a `Local`), and measure the
//! CPU time of this thread. Scenarios with several threads measure the CPU time of the whole
//! process, including waiting and waking.

pub(crate) mod actors;
mod child;

mod ask;
pub(crate) mod ask_tokio;
mod blocked;
mod blocking;
mod deque;
mod durable;
mod far;
pub(crate) mod fork_bomb;
pub(crate) mod idle_memory;

pub(crate) mod idle_cpu;
pub(crate) mod ping_pong;
mod pipeline;
mod queue;
pub(crate) mod ring;
mod rmw;
mod scale;
pub(crate) mod spawn;
pub(crate) mod tell;

mod fan_in;
mod tell_cross;
mod tell_outside;
mod tell_ways;
mod timer;

pub(crate) mod rest_memory;

mod probes;

pub(crate) mod flood_memory;

use garrick_measure::{Contender, Effort, Point, Scenario, Swept};

/// All scenarios of `garrick bench`, in the order in which they run.
pub static SCENARIOS: &[Scenario] = &[
    rmw::RMW,
    tell::TELL,
    tell::TELL_ONE,
    tell_ways::TELL_NAMED,
    tell_ways::TELL_SUPERVISED,
    tell_ways::TELL_BOUNDED,
    tell_ways::TELL_LATEST,
    tell_ways::TELL_PRIORITY,
    tell_ways::TELL_ASYNC,
    tell_cross::TELL_CROSS,
    tell_outside::TELL_OUTSIDE,
    fan_in::FAN_IN,
    ping_pong::PING_PONG,
    ping_pong::PING_PONG_CROSS,
    ping_pong::PING_PONG_SPLIT,
    ask::ASK,
    ask::ASK_OUTSIDE,
    ask::CALL_OUTSIDE,
    ask::CALL_CROWD,
    ask::ASK_WITHIN,
    ask::ASK_ONCE,
    ask::ASK_ALL,
    ask_tokio::ASK_TOKIO,
    timer::TIMER_CANCEL,
    durable::DURABLE,
    far::TELL_FAR,
    far::ASK_FAR,
    spawn::SPAWN,
    idle_memory::IDLE_MEMORY,
    flood_memory::FLOOD_MEMORY,
    rest_memory::TIMER_MEMORY,
    rest_memory::ASK_MEMORY,
    ring::RING,
    fork_bomb::FORK_BOMB,
    pipeline::PIPELINE,
    deque::DEQUE,
    queue::QUEUE,
    idle_cpu::IDLE_CPU,
    blocked::BLOCKED,
    blocking::BLOCKING,
    probes::PROBES,
    probes::SAMPLE,
    scale::WATCHERS,
    scale::TIMERS,
    scale::ASKS,
    scale::CHILDREN,
    scale::ENDS,
    scale::SUBSCRIBERS,
    scale::SERVICES,
    scale::ROUTEES,
];

/// Scenarios of `garrick bench` whose parameters can be swept, that is, measured at several values.
pub static SWEPT: &[Swept] = &[
    tell::SWEPT,
    ask_tokio::SWEPT,
    ring::SWEPT,
    fork_bomb::SWEPT,
    deque::SWEPT,
];

/// Creates the contenders of a scenario of `garrick bench`. Programs can use them to compare other
/// libraries with Garrick.
///
/// If `point` has parameters, the contenders use the values of these parameters, and the scenario
/// must be in [`SWEPT`]. If `point` has no parameters, the contenders are the same as without a
/// sweep.
///
/// # Examples
/// ```
/// use garrick_measure::{Effort, Point};
///
/// let effort = Effort { quick: true, seconds_per_row: 0.1 };
/// let point = Point::default().with("actors", 10);
/// for mut contender in garrick_bench::contenders("ring", &effort, &point) {
///     assert_eq!((contender.measure)(1000)?.ops, 1000);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// Panics if there is no scenario with this name, or if `point` has parameters and the scenario is
/// not in [`SWEPT`].
#[track_caller]
pub fn contenders(scenario: &str, effort: &Effort, point: &Point) -> Vec<Contender> {
    if point.parameters().next().is_none() {
        let known = SCENARIOS.iter().find(|known| known.name == scenario);
        let known = known.unwrap_or_else(|| panic!("no scenario is called '{scenario}'"));
        return (known.contenders)(effort);
    }
    let known = SWEPT.iter().find(|known| known.scenario == scenario);
    let known = known.unwrap_or_else(|| panic!("the scenario '{scenario}' cannot be swept"));
    (known.contenders)(effort, point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_can_be_swept_says_where_it_was_measured() {
        let effort = Effort {
            quick: true,
            seconds_per_row: 0.1,
        };
        for swept in SWEPT {
            assert!(
                SCENARIOS
                    .iter()
                    .any(|scenario| scenario.name == swept.scenario)
            );
            for (name, allowed) in swept.parameters {
                let point = Point::default().with(name, *allowed.start());
                let contenders = (swept.contenders)(&effort, &point);
                let first = Value::from(*allowed.start());
                let told = contenders
                    .iter()
                    .filter(|contender| contender.params.get(*name) == Some(&first));
                assert!(told.count() > 0, "{} {name}", swept.scenario);
            }
        }
    }

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
}
