//! Steps that build and test, on this machine, the code for systems that lack Linux's system calls.
//!
//! `--cfg garrick_portable` selects this code on every system. So Linux can test it, although
//! another system may still differ in what its standard library does.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::check::features;
use super::select;
use super::verify;
use crate::parallel;
use crate::process::{Ended, Job};
use crate::workspace::Workspace;

/// Flag of the compiler that selects the portable code, which makes no system calls of Linux.
const FLAG: &str = "--cfg garrick_portable";

/// Folder for builds of the portable code, in the target folder.
const FOLDER: &str = "portable";

/// Packages that contain portable code, or whose tests run much of it.
const PACKAGES: &[&str] = &[
    "garrick-actor",
    "garrick-cluster",
    "garrick-core",
    "garrick-flow",
    "garrick-journal",
    "garrick-measure",
    "garrick-sched",
    "garrick-secure",
    "garrick-sim",
    "garrick-steal",
    "garrick-telemetry",
    "garrick-tokio",
];

/// Packages that `ci` tests. They contain the fences, and all other places in which the runtime
/// makes system calls.
const IN_CI: &[&str] = &["garrick-core", "garrick-sched"];

/// Targets that `garrick-core` refuses. Each entry consists of a `cfg` flag that imitates such a
/// target, and of a part of the error message.
const REFUSED: &[(&str, &str)] = &[
    (
        "target_pointer_width=\"32\"",
        "Garrick needs 64-bit pointers",
    ),
    (
        "target_endian=\"big\"",
        "Garrick supports only little-endian targets",
    ),
];

/// Tests the code for systems that lack Linux's system calls: all tests of [`PACKAGES`], the stress
/// tests, the simulations with many seeds, and the models. Checks that `garrick-core` refuses the
/// targets in [`REFUSED`].
pub(super) fn portable(workspace: &Workspace) -> Result<String> {
    verify::tools_for_tests(workspace)?;
    refusals(workspace)?;
    let mut programs = of_packages(workspace, PACKAGES)
        .arguments(&["--tests", "--no-run"])
        .build()?;
    programs.retain(|program| program.is_test);
    let simulated = select::simulated(workspace)?;
    select::without_simulated(&simulated, &mut programs);
    let passed = parallel::run_tests(&programs, |job| {
        job.environment(verify::TOOLS_VARIABLE, "1")
    })?;
    let passed: usize = passed.iter().sum();
    let call = || portable_test(workspace).released();
    let stress = verify::run_stress(workspace, call, |job| job)?;
    let build = of_packages(workspace, PACKAGES);
    let simulated = verify::simulations_with(&simulated, build)?;
    let flags = format!("--cfg garrick_loom {FLAG}");
    let models = verify::loom_with(workspace, "portable-loom", &flags)?;
    Ok(format!(
        "{passed} tests, {stress} of stress, simulations: {simulated}, models: {models}"
    ))
}

/// Runs the unit tests of [`IN_CI`] with the portable code, and compiles the portable code of all
/// members. The crates of others have no portable code, so those of the other steps are used: the
/// step `docs` checks the same members with the same features.
pub(super) fn fallbacks(workspace: &Workspace) -> Result<String> {
    refusals(workspace)?;
    let compiler = compiler(workspace)?;
    let portable = |job: Job| job.environment("RUSTC_WORKSPACE_WRAPPER", &compiler);
    let check = Job::cargo(&["check", "--workspace", "--features", &features(workspace)]);
    portable(check).run()?;
    let mut test = Job::cargo(&["test", "--lib"]);
    for package in IN_CI {
        test = test.arguments(&["-p", package]);
    }
    verify::counted(&[portable(test)])
}

/// Writes a script that calls the compiler with [`FLAG`], and returns its path. Cargo calls the
/// script only for members of the workspace, and keeps what it has built separately.
fn compiler(workspace: &Workspace) -> Result<PathBuf> {
    let script = workspace.target.join("portable-rustc");
    let text = format!("#!/bin/sh\nexec \"$@\" {FLAG}\n");
    fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
    fs::set_permissions(&script, Permissions::from_mode(0o755))?;
    Ok(script)
}

/// Fails unless `garrick-core` refuses each of the targets in [`REFUSED`] with its message.
fn refusals(workspace: &Workspace) -> Result<()> {
    for (condition, message) in REFUSED {
        // Without the calls of Linux, because the crate for these calls would be refused first.
        let flags = format!("-Aexplicit_builtin_cfgs_in_flags {FLAG} --cfg {condition}");
        let built = Job::cargo(&["check", "-p", "garrick-core"])
            .environment("CARGO_TARGET_DIR", workspace.target.join("refused"))
            .environment("RUSTFLAGS", flags)
            .watch()?;
        if built.ended != Ended::Failed || !built.output.contains(message) {
            bail!(
                "{condition} is not refused with \"{message}\":\n{}",
                built.output
            );
        }
        println!("{condition}: refused");
    }
    Ok(())
}

fn of_packages(workspace: &Workspace, packages: &[&str]) -> Job {
    let mut job = portable_test(workspace);
    for package in packages {
        job = job.arguments(&["-p", package]);
    }
    job
}

fn portable_test(workspace: &Workspace) -> Job {
    Job::cargo(&["test"])
        .environment("CARGO_TARGET_DIR", workspace.target.join(FOLDER))
        .environment("RUSTFLAGS", FLAG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_with_code_for_all_systems_is_tested_in_this_way() {
        let workspace = Workspace::load().unwrap();
        let mut users = Vec::new();
        for package in &workspace.packages {
            let files = workspace.rust_files(&package.dir.join("src")).unwrap();
            let uses = |path| {
                let text = fs::read_to_string(workspace.root.join(path)).unwrap();
                text.contains("garrick_portable")
            };
            if package.name != "xtask" && files.iter().any(uses) {
                users.push(&*package.name);
            }
        }
        assert!(users.contains(&"garrick-core"), "{users:?}");
        let missing: Vec<_> = users
            .iter()
            .filter(|user| !PACKAGES.contains(user))
            .collect();
        assert_eq!(missing, [&""; 0]);
    }
}
