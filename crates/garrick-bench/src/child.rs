//! Parts of scenarios that must run in a separate process.

use clap::Subcommand;
use garrick_measure::{Measured, Result};

use crate::scenarios::flood_memory::{self, When};
use crate::scenarios::{fork_bomb, idle_cpu, idle_memory, rest_memory};

/// A hidden subcommand that performs the part of a scenario that must run in a separate process.
/// The scenario starts its own program again with this subcommand.
///
/// Every program that measures [`SCENARIOS`] must have all of these subcommands. For each
/// subcommand, the program must call [`run`] and print the result as JSON.
///
/// [`SCENARIOS`]: crate::SCENARIOS
/// [`run`]: Self::run
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Child {
    /// The part of the scenario `idle-memory` that runs in a separate process.
    #[command(name = idle_memory::CHILD, hide = true)]
    IdleMemory {
        /// Number of actors to create.
        actors: u64,
    },
    /// The part of the scenario `idle-cpu` that runs in a separate process.
    #[command(name = idle_cpu::CHILD, hide = true)]
    IdleCpu {
        /// Number of seconds to measure.
        seconds: u64,
    },
    /// The part of the scenario `flood-memory` that measures memory use while all messages are
    /// waiting. This part runs in a separate process.
    #[command(name = flood_memory::CHILD_PEAK, hide = true)]
    FloodPeak {
        /// Number of messages to send.
        messages: u64,
    },
    /// The part of the scenario `flood-memory` that measures memory use after all messages have
    /// been handled. This part runs in a separate process.
    #[command(name = flood_memory::CHILD_REST, hide = true)]
    FloodRest {
        /// Number of messages to send.
        messages: u64,
    },
    /// The part of the scenario `timer-memory` that runs in a separate process.
    #[command(name = rest_memory::CHILD_TIMERS, hide = true)]
    TimerMemory {
        /// Number of timers to start and cancel.
        timers: u64,
        /// Number of timers that exist at the same time.
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        at_once: u64,
    },
    /// The part of the scenario `ask-memory` that runs in a separate process.
    #[command(name = rest_memory::CHILD_ASKS, hide = true)]
    AskMemory {
        /// Number of questions to ask.
        asks: u64,
    },
    /// The part of the suite `fork-bomb` that runs in a separate process.
    #[command(name = fork_bomb::CHILD, hide = true)]
    ForkBomb {
        /// Depth of the binary tree of actors. The tree has `2^(depth+1) - 1` actors.
        #[arg(value_parser = clap::value_parser!(u32).range(0..=24))]
        depth: u32,
    },
}

impl Child {
    /// Performs the work in this process, and returns the measurement.
    ///
    /// # Errors
    /// Fails if the actors cannot be run, for example because a thread cannot be started. Also
    /// fails if the operating system does not report the measured value.
    pub fn run(self) -> Result<Measured> {
        match self {
            Self::IdleMemory { actors } => idle_memory::in_this_process(actors),
            Self::IdleCpu { seconds } => idle_cpu::in_this_process(seconds),
            Self::FloodPeak { messages } => flood_memory::in_this_process(messages, When::Peak),
            Self::FloodRest { messages } => flood_memory::in_this_process(messages, When::Rest),
            Self::TimerMemory { timers, at_once } => {
                rest_memory::timers_in_this_process(timers, at_once)
            }
            Self::AskMemory { asks } => rest_memory::asks_in_this_process(asks),
            Self::ForkBomb { depth } => fork_bomb::in_this_process(depth),
        }
    }
}
