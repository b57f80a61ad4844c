//! Measures functions, contenders of a scenario, and suites of published experiments.
//!
//! An [`Experiment`] measures functions, optionally over parameters, and [`experiment`] turns it
//! into a command. [`measure`] turns a list of scenarios into a command such as `garrick bench`.
//! Both commands use the same engine of actors, and have the same flags, tables, pictures and JSON.
//! Contenders are measured alternately. Before and after each measurement of a contender, an atomic
//! addition is measured. Each figure is reported with its machine, compiler and commit. The guide
//! is `docs/measuring.md`.
//!
//! # Examples
//! Measure a function:
//!
//! ```
//! use garrick_measure::{Dut, Experiment};
//!
//! let sum = Dut::new("sum", |point| {
//!     let numbers: Vec<u64> = (0..point["n"]).collect();
//!     move || numbers.iter().sum::<u64>()
//! });
//! let report = Experiment::new("sum", "adding n numbers")
//!     .sweep("n", [10, 100, 1000])
//!     .dut(sum)
//!     .seconds_per_row(0.01)
//!     .run()?;
//! println!("{}", report.table());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Measure a scenario with two contenders that measure their own time:
//!
//! ```
//! use std::hint::black_box;
//!
//! use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};
//!
//! static SCENARIOS: &[Scenario] = &[Scenario {
//!     name: "sum",
//!     operation: "adding one number to a sum of unsigned numbers",
//!     contenders,
//! }];
//!
//! fn contenders(_: &Effort) -> Vec<Contender> {
//!     vec![
//!         Contender::fitted("fold", |ops| sum(ops, |ops| (0..ops).fold(0, |sum, n| black_box(sum + n)))),
//!         Contender::fitted("formula", |ops| sum(ops, |ops| ops * (ops - 1) / 2)),
//!     ]
//! }
//!
//! fn sum(ops: u64, add: fn(u64) -> u64) -> Result<Measured> {
//!     let watch = Stopwatch::start(Clock::Thread);
//!     black_box(add(black_box(ops)));
//!     Ok(Measured::new(ops, watch.stop()))
//! }
//!
//! // A `main` returns garrick_measure::measure("sums", "Measure sums.", SCENARIOS, &[], &[]).
//! let effort = Effort { quick: true, seconds_per_row: 0.1 };
//! for mut contender in (SCENARIOS[0].contenders)(&effort) {
//!     let measured = (contender.measure)(1000)?;
//!     assert_eq!(measured.ops, 1000, "{}", contender.name);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

/// The guide to measuring, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/measuring.md")]
pub struct Measuring;

/// The guide to suites.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/suites.md")]
pub struct Suites;

mod clock;
mod next;
mod point;
pub mod units;

mod statistics;

mod noise;

mod scenario;

mod machine;

mod list;
mod stop;
mod suggest;
pub mod yardstick;

mod dut;
mod row;

mod suite;

mod engine;
mod plot;

mod report;

mod experiment;

pub mod commands;

pub use clock::{Clock, Span, Stopwatch};
pub use commands::{experiment, measure};
pub use dut::Dut;
pub use experiment::Experiment;
pub use machine::{provenance, resident_bytes};
pub use next::sent;
pub use plot::Plot;
pub use point::Point;
pub use report::{Change, Comparison, Report, Verdict};
pub use row::{Relative, Row};
pub use scenario::{Contender, Effort, Measured, Result, Scenario, Section, Study, Swept};
pub use statistics::{Interval, Summary};
pub use stop::Stop;
pub use suite::{Beside, Figure, Here, Line, Published, Rows, Standing, Suite, Unit};
