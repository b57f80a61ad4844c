//! The suites of `garrick suite`, with one file for each suite.

mod break_even;

mod event_queue;
mod fork_bomb;
mod leaf_load;
mod messages;
mod savina;

use garrick_measure::Suite;

/// All suites of `garrick suite`, in the order in which they are shown.
pub static SUITES: &[Suite] = &[
    messages::MESSAGES,
    fork_bomb::FORK_BOMB,
    leaf_load::LEAF_LOAD,
    event_queue::EVENT_QUEUE,
    savina::SAVINA,
];

/// Source of the published figures of TActors, an actor library in Lisp.
const TACTORS: &str = "TActors, an actor library in Lisp, as its author described it in May 2021, \
                       with graphs without figures; measured on a Mac with 4 cores and 8 threads";

/// Description of how TActors was measured on a machine like the one that measured Garrick.
const TACTORS_HERE: &str =
    "the same patterns on SBCL 2.2.9, one thread, compiled without checks, 2 shared x86-64 cores";

#[cfg(test)]
mod tests;
