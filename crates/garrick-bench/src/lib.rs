//! Scenarios, suites and soak of Garrick, used by `garrick bench`, `garrick suite` and `garrick
//! soak`.
//!
//! `garrick_measure` measures the scenarios in [`SCENARIOS`], [`SAVINA`] and [`SWEPT`], and the
//! suites in [`SUITES`]. A program that compares other libraries with Garrick calls [`contenders`]
//! to create Garrick's contenders of a scenario. [`Soak`] performs several kinds of work at the
//! same time, and checks the results. [`pipeline`] is the demonstration pipeline, which a scenario
//! measures too. Everything except the pipeline needs the feature `scenarios`, which is enabled by
//! default.
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

#[cfg(all(test, feature = "scenarios"))]
mod rows;

pub mod pipeline;

#[cfg(feature = "scenarios")]
mod channel;
#[cfg(feature = "scenarios")]
mod scenarios;

#[cfg(feature = "scenarios")]
mod child;
#[cfg(feature = "scenarios")]
mod savina;

#[cfg(feature = "scenarios")]
mod suites;

#[cfg(feature = "scenarios")]
mod soak;

pub use pipeline::{Counts, Message};

#[cfg(feature = "scenarios")]
pub use {
    channel::{Channel, Ours, Parked, Std},
    child::Child,
    savina::SCENARIOS as SAVINA,
    scenarios::ask_tokio::Askers,
    scenarios::idle_memory::in_this_process as idle_memory,
    scenarios::{SCENARIOS, SWEPT, contenders},
    soak::Soak,
    suites::SUITES,
};
