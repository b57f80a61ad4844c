//! Scenarios, suites and soak of Garrick, behind `garrick bench`, `garrick suite` and `garrick
//! soak`.
//!
//! `garrick_measure` measures [`SCENARIOS`], [`SAVINA`] and [`SWEPT`], one by one or as [`SUITES`].
//! A program that measures others beside them takes the [`contenders`] of a scenario. [`Soak`] does
//! work of all kinds at once and checks it. [`pipeline`] is the demonstration, which a scenario
//! measures too.
//!
//! # Examples
//! ```
//! use garrick_bench::SCENARIOS;
//! use garrick_measure::Effort;
//!
//! let effort = Effort { quick: true, seconds_per_row: 0.1 };
//! let tell = SCENARIOS.iter().find(|scenario| scenario.name == "tell").unwrap();
//! for mut contender in (tell.contenders)(&effort) {
//!     let measured = (contender.measure)(1000)?;
//!     println!("{}: {:.1} ns", contender.name, measured.cpu_per_op());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
mod rows;

pub mod pipeline;

mod channel;
mod scenarios;

mod child;
mod savina;

mod suites;

mod soak;

pub use channel::{Channel, Ours, Parked, Std};
pub use child::Child;
pub use pipeline::{Counts, Message};
pub use savina::SCENARIOS as SAVINA;
pub use scenarios::ask_tokio::Askers;
pub use scenarios::idle_memory::in_this_process as idle_memory;
pub use scenarios::{SCENARIOS, SWEPT, contenders};
pub use soak::Soak;
pub use suites::SUITES;
