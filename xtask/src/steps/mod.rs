//! The steps of `cargo xtask ci`, and the steps `rivals`, `sanitize`, `lines`, `sim`, `pictures`,
//! `site`, `sizes` and `why`, which are not part of it.
//!
//! Each step gets the workspace, prints its progress, and returns a short summary of what it has
//! checked or measured.

mod select;

mod audit;
mod check;
mod features;
mod measure;
mod package;
mod sample;
mod sizes;
mod verify;
mod wire;

mod portable;
mod quick;
mod release;

use anyhow::Result;

use crate::why;
use crate::workspace::Workspace;

pub(crate) use audit::{FuzzOptions, SemverOptions, fuzz, semver};
pub(crate) use quick::OMITTED;
pub(crate) use release::{Options as ReleaseOptions, release};
pub(crate) use sample::{Options as SampleOptions, sample};
pub(crate) use verify::{ClusterOptions, cluster};

/// The features for a build of the whole workspace: those that enable all commands of `garrick`,
/// and those of the facade that no member enables. So all crates are also tested with logs in
/// databases, and with traces.
const FEATURES: &[&str] = &[
    "--features",
    "garrick/journal-sqlite,garrick/journal-nats,garrick/otel,garrick/traces,garrick-cli/bench,garrick-cli/cluster,garrick-cli/sqlite,garrick-cli/top,garrick-wire/bytes",
];

/// A step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Name of the subcommand.
    pub(crate) name: &'static str,
    /// Function that runs the step, and returns a summary of what it has checked or measured.
    pub(crate) run: fn(&Workspace) -> Result<String>,
}

/// The stages of `ci`, one after another. The steps of a stage run at the same time, the longest
/// first. A step alone often uses only one core, for example while it links or runs doctests. The
/// step `test` keeps all cores busy alone, because it builds and runs many programs.
pub(crate) const CI: &[&[Step]] = &[
    &[CLIPPY, TIDY, FMT, TOOLS],
    &[TEST],
    &[
        LOOM,
        SIMULATIONS,
        STRESS,
        DOCS,
        DOCTEST,
        EXAMPLES,
        BENCHES,
        FALLBACKS,
        WIRE_CHECK,
    ],
];

/// The stages of `ci --quick`.
pub(crate) const QUICK: &[&[Step]] = &[&[LINT, TIDY, FMT], &[UNITS]];

/// Returns the step of `ci` with this name.
pub(crate) fn of_ci(name: &str) -> Option<Step> {
    let mut steps = CI.iter().chain(QUICK).copied().flatten();
    steps.find(|step| step.name == name).copied()
}

pub(crate) const TIDY: Step = Step {
    name: "tidy",
    run: check::tidy,
};
pub(crate) const FMT: Step = Step {
    name: "fmt",
    run: check::fmt,
};
pub(crate) const CLIPPY: Step = Step {
    name: "clippy",
    run: check::clippy,
};
pub(crate) const DOCS: Step = Step {
    name: "docs",
    run: check::docs,
};
pub(crate) const SITE: Step = Step {
    name: "site",
    run: check::site,
};
pub(crate) const TOOLS: Step = Step {
    name: "tools",
    run: verify::tools,
};
pub(crate) const TEST: Step = Step {
    name: "test",
    run: verify::test,
};
pub(crate) const DOCTEST: Step = Step {
    name: "doctest",
    run: verify::doctest,
};
pub(crate) const STRESS: Step = Step {
    name: "stress",
    run: verify::stress,
};
pub(crate) const SIMULATIONS: Step = Step {
    name: "simulations",
    run: verify::simulations,
};
pub(crate) const LOOM: Step = Step {
    name: "loom",
    run: verify::loom,
};
pub(crate) const EXAMPLES: Step = Step {
    name: "examples",
    run: measure::examples,
};
/// The step that runs the benches, but not the scenarios of `garrick bench`. A test of
/// `garrick-cli` already runs each of these scenarios.
const BENCHES: Step = Step {
    name: "benches",
    run: measure::benches,
};
pub(crate) const BENCH: Step = Step {
    name: "bench",
    run: measure::bench,
};
pub(crate) const RIVALS: Step = Step {
    name: "rivals",
    run: check::rivals,
};
pub(crate) const SIM: Step = Step {
    name: "sim",
    run: verify::sim,
};
pub(crate) const JOURNAL: Step = Step {
    name: "journal",
    run: verify::journal,
};
pub(crate) const SANITIZE: Step = Step {
    name: "sanitize",
    run: verify::sanitize,
};
pub(crate) const WHY: Step = Step {
    name: "why",
    run: why::why,
};
/// Draws the results of the last run of `why`.
pub(crate) const REDRAW: Step = Step {
    name: "why",
    run: why::redraw,
};
pub(crate) const PICTURES: Step = Step {
    name: "pictures",
    run: verify::pictures,
};
pub(crate) const SIZES: Step = Step {
    name: "sizes",
    run: sizes::sizes,
};
pub(crate) const PORTABLE: Step = Step {
    name: "portable",
    run: portable::portable,
};
/// The part of `portable` that takes less than a minute.
const FALLBACKS: Step = Step {
    name: "fallbacks",
    run: portable::fallbacks,
};
const LINT: Step = Step {
    name: "lint",
    run: quick::lint,
};
const UNITS: Step = Step {
    name: "units",
    run: quick::units,
};
pub(crate) const PACKAGE: Step = Step {
    name: "package",
    run: package::package,
};
pub(crate) const FEATURES_ALONE: Step = Step {
    name: "features",
    run: features::features,
};
pub(crate) const MINIMAL: Step = Step {
    name: "minimal",
    run: features::minimal,
};
pub(crate) const DENY: Step = Step {
    name: "deny",
    run: audit::deny,
};
pub(crate) const SOAK: Step = Step {
    name: "soak",
    run: measure::soak,
};
pub(crate) const LINES: Step = Step {
    name: "lines",
    run: measure::lines,
};
pub(crate) const WIRE_CHECK: Step = Step {
    name: "wire-check",
    run: wire::wire_check,
};
