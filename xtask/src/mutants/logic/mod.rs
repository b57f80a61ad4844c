//! Mutants that are written by hand: a step of a protocol is omitted, done twice, or done in the
//! wrong order.
//!
//! Each mutant names the text that it replaces. The text must occur exactly once outside of tests,
//! so that an outdated table is noticed. Differences in white space are ignored.

mod core;
mod ends;
mod gate;
mod rooms;
mod sched;
mod seats;
mod steal;

/// A mutant of the logic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logic {
    /// Name of the mutant. The id of the mutant is its file followed by this name.
    pub(super) name: &'static str,
    /// Description of the error that the mutant causes.
    pub(super) breaks: &'static str,
    /// File of the mutant, below the `src` of its crate.
    pub(super) file: &'static str,
    /// Text that is replaced.
    pub(super) find: &'static str,
    /// Replacement. `MUTANT` stands for "this mutant is active", `ORIGINAL` for the replaced text.
    /// While the mutant is not active, the replacement must do exactly what the replaced text does.
    /// For example, an additional load could provide the order that another mutant removes.
    pub(super) put: &'static str,
    /// Test programs that should notice the mutant, besides the models of the module. `lib` stands
    /// for the unit tests of the module. Any other entry is the name of a file in `tests/`,
    /// optionally followed by `::` and the name of the only test to run.
    pub(super) tests: &'static [&'static str],
}

/// Returns all logic mutants, each with its crate.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Logic)> {
    let core = core::MUTANTS.iter().map(|logic| ("garrick-core", logic));
    let steal = steal::MUTANTS.iter().map(|logic| ("garrick-steal", logic));
    let sched = sched::MUTANTS
        .iter()
        .chain(seats::MUTANTS)
        .chain(ends::MUTANTS)
        .chain(gate::MUTANTS)
        .chain(rooms::MUTANTS);
    core.chain(steal)
        .chain(sched.map(|logic| ("garrick-sched", logic)))
}
