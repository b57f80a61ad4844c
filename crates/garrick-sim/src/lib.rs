//! Runs Garrick's actors in a seeded simulation, which searches for orders of messages and for
//! faults that make a program fail.
//!
//! The modules are declared in the order of their layers. A module uses only modules above it.
#![forbid(unsafe_code)]

pub mod history;
pub mod search;

mod chance;
mod clock;
mod event;
mod facts;
mod failures;
mod quiet;

mod property;

mod stage;

mod choice;
mod faults;
mod links;

mod disk;

mod node;

mod pipeline;

mod coverage;
mod watchdog;

mod sim;

pub mod testing;

mod schedule;

mod trace;

mod run;

mod files;

mod report;

mod settings;

mod check;

pub use check::{Check, Setup};
pub use clock::Clocks;
pub use coverage::Coverage;
pub use disk::{Disk, DiskEvent, DiskFault, DiskRule, Disks, Operation};
pub use facts::{Crashed, Cut, Facts, Healed, Restarted};
pub use faults::{Faults, Partition};
pub use garrick_flow::testing::Pipeline;
pub use garrick_sched::{Choice, Fate};
pub use links::{Link, Links};
pub use node::Node;
pub use property::{Broken, Kind};
pub use report::{Failed, Report};
pub use run::{Move, Then};
pub use settings::{Choosing, Settings, SettingsError};
pub use sim::Sim;
pub use trace::Trace;
