//! Tests of disks outside of a run: each operation, each fault, and crashes.

mod crashes;
mod faults;
mod operations;

use super::{Disk, DiskEvent, Disks};

/// Returns the disks of a run, and the disk of the node `d`.
fn disks(seed: u64) -> (Disks, Disk) {
    let disks = Disks::new(seed);
    let disk = disks.disk("d");
    (disks, disk)
}

/// Crashes the disk `d` and starts it again. Returns the faults.
fn crash(disks: &Disks) -> Vec<DiskEvent> {
    disks.crash("d");
    disks.start("d");
    events(disks)
}

/// Returns the faults that have happened since the last call.
fn events(disks: &Disks) -> Vec<DiskEvent> {
    disks.take_faults().iter().map(|fault| fault.what).collect()
}
