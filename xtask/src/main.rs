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
    /// `cluster`, `pictures`, `site`, `sizes`, `why` and `mutants`, runs only the benches of
    /// `bench`, and a part of `portable`.
    Ci {
        /// Stop at the first failure instead of running all steps.
        #[arg(long)]
        fail_fast: bool,
        /// Run only what takes less than four minutes, and print what is left out.
        #[arg(long)]
        quick: bool,
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
    /// Build the documentation and the site of the guides, and test the site in a browser.
    Site,
    /// Install the external tools that tests and `docs` call, if they are missing.
    Tools,
    /// Run the unit tests and scenarios.
    Test,
    /// Run the examples in the documentation.
    Doctest,
    /// Run the stress tests with optimization.
    Stress,
    /// Run the simulations of clusters and journals with optimization and many seeds.
    Simulations,
    /// Run the loom models of every crate that has any.
    Loom,
    /// Compare the lock files of messages with the code, and with an older commit: the one in
    /// `GARRICK_WIRE_LOCK_BASE`, or else the commit at which the branch left `main`.
    WireCheck,
    /// Build every example, and run it without arguments for at most 60 s.
    Examples,
    /// Build every benchmark, and run it briefly.
    Bench,
    /// Check the comparison with `steady_state`, which has many dependencies, and run it briefly.
    Rivals,
    /// Test the code for systems that lack Linux's system calls: unit tests, stress tests and
    /// models.
    Portable,
    /// Make packages of all public crates, build each of them, and run the programs of the README
    /// with these packages, outside of the repository.
    Package,
    /// Check each public crate without features, with each feature alone, and with all features.
    Features,
    /// Check the public crates with the oldest versions of dependencies that they allow.
    Minimal,
    /// Check the licenses, the duplicates and the sources of all dependencies.
    Deny,
    /// Search the public crates for breaking changes since the last release, or since a given
    /// commit.
    Semver(steps::SemverOptions),
    /// Prepare a release: check everything, and print the commands that publish.
    Release(steps::ReleaseOptions),
    /// Run each fuzzer for some time.
    Fuzz(steps::FuzzOptions),
    /// Do all kinds of work at once for ten minutes, and check the results and the memory.
    Soak,
    /// Run the stress tests under AddressSanitizer and LeakSanitizer.
    Sanitize,
    /// Count the cache lines that several threads write when a message is sent, a worker is woken,
    /// or an actor moves to another worker.
    Lines,
    /// Search the simulated programs for much longer than the tests do.
    Sim,
    /// Kill and crash journals much more often than the tests do, trace their system calls, and
    /// compare their speed with that of the disk.
    Journal,
    /// Simulate clusters with 1,000 seeds for each kind of failure. Then kill and stop the
    /// processes of a real cluster for a minute. With `--soak`, only do the second part, for a
    /// given time.
    Cluster(steps::ClusterOptions),
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
        /// Draw the results of the last measurement, instead of measuring.
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
        Task::Ci { fail_fast, quick } => return ci(&workspace, fail_fast, quick),
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
        Task::Simulations => steps::SIMULATIONS,
        Task::Loom => steps::LOOM,
        Task::WireCheck => steps::WIRE_CHECK,
        Task::Examples => steps::EXAMPLES,
        Task::Bench => steps::BENCH,
        Task::Rivals => steps::RIVALS,
        Task::Portable => steps::PORTABLE,
        Task::Package => steps::PACKAGE,
        Task::Features => steps::FEATURES_ALONE,
        Task::Minimal => steps::MINIMAL,
        Task::Deny => steps::DENY,
        Task::Semver(options) => {
            steps::semver(&workspace, &options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Soak => steps::SOAK,
        Task::Release(options) => {
            steps::release(&workspace, &options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Fuzz(options) => {
            steps::fuzz(&workspace, &options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Sanitize => steps::SANITIZE,
        Task::Lines => steps::LINES,
        Task::Sim => steps::SIM,
        Task::Journal => steps::JOURNAL,
        Task::Cluster(options) => {
            println!("{}", steps::cluster(&workspace, &options)?);
            return Ok(ExitCode::SUCCESS);
        }
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

fn ci(workspace: &Workspace, fail_fast: bool, quick: bool) -> Result<ExitCode> {
    if !quick {
        return report::run_stages(workspace, steps::CI, fail_fast);
    }
    let code = report::run_stages(workspace, steps::QUICK, fail_fast)?;
    println!("\n{}", steps::OMITTED);
    Ok(code)
}
