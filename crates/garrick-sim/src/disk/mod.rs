//! Simulated disks, which can lose unsynced data. The README of this folder describes the rules.

mod content;
mod fault;
mod names;
mod power;
mod rule;

mod conditions;

mod store;

mod room;

mod handle;

mod disks;

#[cfg(test)]
mod tests;

pub(crate) use disks::FaultWatch;
pub use disks::{DiskRule, Disks};
pub use fault::{DiskEvent, DiskFault, Operation};
pub use handle::Disk;
