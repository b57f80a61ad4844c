//! The conditions under which an operation on a disk runs: the rule of the disk (its space, its
//! speed and its faults), and the random decisions about the operation.

use std::io;
use std::thread;

use garrick_core::random::mix;
use garrick_sched::Nanos;
use hashbrown::HashMap;

use super::content::Damage;
use super::fault::{DiskEvent, DiskFault, Operation};
use super::power::Power;
use super::rule::Rule;
use crate::chance::{draw_time, draws};
use crate::search::Rng;

/// Initial value of the hash FNV-1a.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Factor of the hash FNV-1a.
const FNV_FACTOR: u64 = 0x100_0000_01b3;

/// A number that distinguishes the random decisions about a crash from those about an operation.
const CRASH: u64 = u64::MAX;

/// A factory of random generators for decisions about disk operations. All disks of a run share one
/// factory.
#[derive(Debug, Default)]
pub(super) struct Draws {
    pub(super) seed: u64,
    /// Number of random generators that were created so far, for each combination of disk, file and
    /// kind of operation.
    counts: HashMap<u64, u32>,
}

impl Draws {
    /// Returns the random generator for the next operation of the kind `kind` on a file. The
    /// generator depends only on the seed, the names of the disk and the file, the kind, and the
    /// number of earlier operations of this kind on the file. So operations on other files do not
    /// change the generator.
    fn next(&mut self, disk: &str, file: &str, kind: u64) -> Rng {
        let names = hash_text(hash_text(mix(self.seed), disk), file);
        let key = mix(names ^ mix(kind));
        let count = self.counts.entry(key).or_default();
        *count += 1;
        Rng::new(key ^ mix(u64::from(*count)))
    }
}

/// Returns `hash`, extended by `text`. The end of the text is marked with the byte 0xff, which no
/// text contains.
pub(super) fn hash_text(hash: u64, text: &str) -> u64 {
    hash_bytes(hash_bytes(hash, text.as_bytes()), &[0xff])
}

/// Returns `hash`, extended by `bytes`.
pub(super) fn hash_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_FACTOR);
    bytes.iter().fold(hash ^ FNV_BASIS, add)
}

/// The conditions under which operations on one disk run.
pub(super) struct Conditions<'r> {
    pub(super) disk: &'r str,
    pub(super) rule: Rule,
    /// True if no more faults happen, except that the disk may still be full.
    pub(super) is_calm: bool,
    /// True if the operation is part of a turn.
    pub(super) in_turn: bool,
    pub(super) power: &'r mut Power,
    pub(super) draws: &'r mut Draws,
    /// List to which operations add the faults that they cause.
    pub(super) faults: &'r mut Vec<DiskFault>,
    /// Total time that operations have taken.
    pub(super) taken: &'r mut Nanos,
}

impl Conditions<'_> {
    /// Begins an operation on a file. Returns the random generator for decisions about this
    /// operation.
    ///
    /// # Errors
    /// Returns an error if the node crashes instead of executing the operation.
    pub(super) fn begin(&mut self, operation: Operation, file: &str) -> io::Result<Rng> {
        let mut rng = self.draws.next(self.disk, file, operation as u64);
        if let Some(slow) = self.rule.slow.as_ref().filter(|_| !self.is_calm) {
            *self.taken = self.taken.saturating_add(draw_time(&mut rng, slow));
        }
        // In the destructors of a turn that has panicked, a second panic would abort the process.
        let can_crash = self.in_turn && self.power.is_at_risk() && !thread::panicking();
        if draws(&mut rng, self.rule.crashes) && can_crash {
            self.power.lose();
            self.report(file, DiskEvent::Crashed(operation));
            return Err(io::Error::other("the node crashes"));
        }
        Ok(rng)
    }

    /// Begins an operation on a file, and decides at random whether the operation fails.
    ///
    /// # Errors
    /// Returns an error if the operation fails.
    pub(super) fn begin_or_fail(&mut self, operation: Operation, file: &str) -> io::Result<Rng> {
        let mut rng = self.begin(operation, file)?;
        if self.fails(&mut rng) {
            return Err(self.fail(operation, file));
        }
        Ok(rng)
    }

    /// Decides at random whether an operation other than a sync fails.
    pub(super) fn fails(&self, rng: &mut Rng) -> bool {
        draws(rng, self.rule.fails) && !self.is_calm
    }

    /// Decides at random whether a sync fails.
    pub(super) fn sync_fails(&self, rng: &mut Rng) -> bool {
        draws(rng, self.rule.sync_fails) && !self.is_calm
    }

    /// Decides at random whether a sync does nothing.
    pub(super) fn sync_lies(&self, rng: &mut Rng) -> bool {
        draws(rng, self.rule.sync_lies) && !self.is_calm
    }

    /// Returns the random generator that determines how a crash damages a file.
    pub(super) fn begin_crash(&mut self, file: &str) -> Rng {
        self.draws.next(self.disk, file, CRASH)
    }

    pub(super) fn damage(&self) -> Damage {
        Damage {
            tears: self.rule.tears,
            reorders: self.rule.reorders,
            loses_all: self.rule.loses_all,
        }
    }

    /// Reports that an operation fails. Returns the error of the operation.
    pub(super) fn fail(&mut self, operation: Operation, file: &str) -> io::Error {
        self.report(file, DiskEvent::Failed(operation));
        failed(self.disk, operation)
    }

    /// Adds an entry to the list of faults that have happened.
    pub(super) fn report(&mut self, file: &str, what: DiskEvent) {
        self.faults.push(DiskFault {
            disk: self.disk.to_owned(),
            file: file.to_owned(),
            what,
        });
    }
}

/// Returns the error with which the simulation makes an operation fail.
pub(super) fn failed(disk: &str, operation: Operation) -> io::Error {
    io::Error::other(format!(
        "the simulated disk of {disk:?} fails: {operation:?}"
    ))
}
