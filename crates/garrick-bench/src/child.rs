//! Parts of scenarios that need a process of their own.

use clap::Subcommand;
use garrick_measure::{Measured, Result};

use crate::scenarios::flood_memory::{self, When};
use crate::scenarios::{fork_bomb, idle_cpu, idle_memory, rest_memory};

/// A hidden subcommand: what a scenario asks the program to do that it runs in. Whoever measures [`SCENARIOS`] has it
/// among its commands, and prints what [`run`] returns as JSON.
///
/// [`SCENARIOS`]: crate::SCENARIOS
/// [`run`]: Self::run
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Child {
    /// The part of the idle-memory scenario that needs a process of its own.
    #[command(name = idle_memory::CHILD, hide = true)]
    IdleMemory {
        /// How many to make.
        actors: u64,
    },
    /// The part of the idle-cpu scenario that needs a process of its own.
    #[command(name = idle_cpu::CHILD, hide = true)]
    IdleCpu {
        /// How long to watch.
        seconds: u64,
    },
    /// The part of the flood-memory scenario that needs a process of its own.
    #[command(name = flood_memory::CHILD_PEAK, hide = true)]
    FloodPeak {
        /// How many to send.
        messages: u64,
    },
    /// The other part of it.
    #[command(name = flood_memory::CHILD_REST, hide = true)]
    FloodRest {
        /// How many to send.
        messages: u64,
    },
    /// The part of the timer-memory scenario that needs a process of its own.
    #[command(name = rest_memory::CHILD_TIMERS, hide = true)]
    TimerMemory {
        /// Timers to start and cancel.
        timers: u64,
        /// Timers that are there at once.
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        at_once: u64,
    },
    /// The part of the ask-memory scenario that needs a process of its own.
    #[command(name = rest_memory::CHILD_ASKS, hide = true)]
    AskMemory {
        /// Questions to ask.
        asks: u64,
    },
    /// The part of the fork-bomb suite that needs a process of its own.
    #[command(name = fork_bomb::CHILD, hide = true)]
    ForkBomb {
        /// How deep the tree is to be.
        #[arg(value_parser = clap::value_parser!(u32).range(0..=24))]
        depth: u32,
    },
}

impl Child {
    /// Does it in this process.
    ///
    /// # Errors
    /// If the thread can run no actors, or the system does not say what is asked of it.
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
