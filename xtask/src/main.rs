//! Garrick's automation. `cargo xtask ci` runs all checks. Each of its steps is also a subcommand.
//!
//! The modules are declared in the order of their layers: a module uses only those above it.
#![forbid(unsafe_code)]

mod process;
mod workspace;

mod parallel;

mod pages;

mod tools;

mod tidy;

mod mutants;

mod why;

mod site;

mod steps;

mod report;

use std::process::ExitCode;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use workspace::Workspace;

/// Garrick's automation.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all steps, and print a summary. Omits `rivals`, `sanitize`, `lines`, `sim`, `journal`,
    /// `cluster`, `pictures`, `site`, `sizes`, `why` and `mutants`, and runs only the benches of
    /// `bench`.
    Ci {
        /// Stop at the first failure instead of running all steps.
        #[arg(long)]
        fail_fast: bool,
    },
    /// Check the project's own rules, which neither rustc nor clippy checks.
    Tidy,
    /// Check the formatting of the code.
    Fmt,
    /// Run clippy with warnings denied.
    Clippy,
    /// Run a step of `ci`, and write its result to a file.
    #[command(hide = true)]
    Step { name: String, result: PathBuf },
    /// Build the documentation with warnings denied, and the site of the guides.
    Docs,
    /// Build the documentation and the site of the guides, and look at the site in a browser.
    Site,
    /// Install the external tools that tests and `docs` call, if they are missing.
    Tools,
    /// Run the unit tests and scenarios.
    Test,
    /// Run the examples in the documentation.
    Doctest,
    /// Run the stress tests with optimization.
    Stress,
    /// Run the loom models of every crate that has any.
    Loom,
    /// Compare the lock files of messages with the code, and with the commit at which the branch
    /// left `main`, or that in `GARRICK_WIRE_LOCK_BASE`.
    WireCheck,
    /// Build every example, and run it without arguments for at most 60 s.
    Examples,
    /// Build every benchmark, and run it briefly.
    Bench,
    /// Check the comparison with `steady_state`, which has many dependencies, and run it briefly.
    Rivals,
    /// Run the stress tests under AddressSanitizer and LeakSanitizer.
    Sanitize,
    /// Count the cache lines that more than one thread writes for each message, wake, gift and
    /// claim.
    Lines,
    /// Search the simulated programs for much longer than the tests do.
    Sim,
    /// Kill and crash journals much more often than the tests do, trace their system calls, and
    /// measure them beside the raw disk.
    Journal,
    /// Simulate clusters with 1,000 seeds for each failure, and kill and stop their processes for a
    /// minute.
    Cluster,
    /// Test the dashboard in a browser, and put its screenshots into the documentation.
    Pictures,
    /// Count the crates of a first build and of a hello-world program, time both builds, and count
    /// public names.
    Sizes,
    /// Print 50 doc comments and 50 sentences of the guides, chosen at random, to check their
    /// English.
    Sample(steps::SampleOptions),
    /// Measure Garrick and other libraries, and put the table and the chart into the README.
    Why {
        /// Do not measure. Draw the results of the last measurement.
        #[arg(long)]
        redraw: bool,
    },
    /// Weaken memory orderings and break the logic, and report which models and tests notice it.
    Mutants(mutants::Options),
}

fn main() -> Result<ExitCode> {
    let task = Arguments::parse().task;
    let workspace = Workspace::load()?;
    std::env::set_current_dir(&workspace.root)?;
    let step = match task {
        Task::Ci { fail_fast } => return report::run_stages(&workspace, steps::CI, fail_fast),
        Task::Step { name, result } => {
            let Some(step) = steps::of_ci(&name) else {
                bail!("`{name}` is not a step of ci");
            };
            return report::run_for_parent(&workspace, step, &result);
        }
        Task::Tidy => steps::TIDY,
        Task::Fmt => steps::FMT,
        Task::Clippy => steps::CLIPPY,
        Task::Docs => steps::DOCS,
        Task::Site => steps::SITE,
        Task::Tools => steps::TOOLS,
        Task::Test => steps::TEST,
        Task::Doctest => steps::DOCTEST,
        Task::Stress => steps::STRESS,
        Task::Loom => steps::LOOM,
        Task::WireCheck => steps::WIRE_CHECK,
        Task::Examples => steps::EXAMPLES,
        Task::Bench => steps::BENCH,
        Task::Rivals => steps::RIVALS,
        Task::Sanitize => steps::SANITIZE,
        Task::Lines => steps::LINES,
        Task::Sim => steps::SIM,
        Task::Journal => steps::JOURNAL,
        Task::Cluster => steps::CLUSTER,
        Task::Pictures => steps::PICTURES,
        Task::Sizes => steps::SIZES,
        Task::Sample(options) => {
            steps::sample(&workspace, &options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Why { redraw: false } => steps::WHY,
        Task::Why { redraw: true } => steps::REDRAW,
        Task::Mutants(options) => return mutants::run(&workspace, &options),
    };
    report::run_stages(&workspace, &[&[step]], true)
}
