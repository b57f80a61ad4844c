//! Mutants that are written by hand: steps of a protocol left out, done twice, or done in the wrong order.
//!
//! Each names the text that it replaces, which must occur exactly once outside of tests, so that the table cannot rot.
//! White space makes no difference.

mod core;
mod gate;
mod rooms;
mod sched;
mod seats;
mod steal;

/// One mutant of the logic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logic {
    /// Its name; with its file before it, it is what the mutant is known by.
    pub(super) name: &'static str,
    /// What it breaks.
    pub(super) breaks: &'static str,
    /// Its file, below the `src` of its crate.
    pub(super) file: &'static str,
    /// The text that is replaced.
    pub(super) find: &'static str,
    /// What takes its place. `MUTANT` stands for "this mutant is active", `ORIGINAL` for the text replaced. It must do nothing
    /// else while it is not active: a load that it makes may order what another mutant takes the order from.
    pub(super) put: &'static str,
    /// The test programs that should notice, beside the models of its module: `lib` for the unit tests of its module,
    /// or a name of `tests/`, with `::` and the name of one test behind it where the others need not run.
    pub(super) tests: &'static [&'static str],
}

/// All of them, with the crate that they are for.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Logic)> {
    let core = core::MUTANTS.iter().map(|logic| ("garrick-core", logic));
    let steal = steal::MUTANTS.iter().map(|logic| ("garrick-steal", logic));
    let sched = sched::MUTANTS
        .iter()
        .chain(seats::MUTANTS)
        .chain(gate::MUTANTS)
        .chain(rooms::MUTANTS);
    core.chain(steal)
        .chain(sched.map(|logic| ("garrick-sched", logic)))
}
