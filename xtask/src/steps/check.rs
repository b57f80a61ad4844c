//! Steps that check the code without running it.

use anyhow::{Result, bail};

use crate::mutants;
use crate::process::Job;
use crate::tidy;
use crate::workspace::{Kind, Workspace};

/// Checks the project's own rules.
pub(super) fn tidy(workspace: &Workspace) -> Result<String> {
    let mut findings = tidy::check(workspace)?;
    findings.violations.extend(mutants::check(workspace));
    for violation in &findings.violations {
        println!("{violation}");
    }
    match findings.violations.len() {
        0 => Ok(format!("{} files", findings.files)),
        count => bail!("violations of the project's rules: {count}"),
    }
}

/// Checks the formatting of the code.
pub(super) fn fmt(_: &Workspace) -> Result<String> {
    require("fmt", "rustfmt")?;
    Job::cargo(&["fmt", "--all", "--check"]).run()?;
    Ok(String::new())
}

/// Runs Clippy with warnings denied.
pub(super) fn clippy(_: &Workspace) -> Result<String> {
    require("clippy", "clippy")?;
    Job::cargo(&["clippy", "--workspace", "--all-targets", "--all-features"])
        .arguments(&["--", "-D", "warnings"])
        .run()?;
    Ok(String::new())
}

/// Builds the documentation of every library and program with warnings denied.
pub(super) fn docs(workspace: &Workspace) -> Result<String> {
    let doc = |arguments: &[&str]| {
        Job::cargo(&["doc", "--no-deps"])
            .arguments(arguments)
            .environment("RUSTDOCFLAGS", "-D warnings")
            .run()
    };
    // All features are enabled, because clippy has just checked all dependencies.
    doc(&["--workspace", "--lib", "--all-features"])?;
    let libs: Vec<&str> = names(workspace, Kind::Lib);
    for (package, target) in workspace.targets(Kind::Bin) {
        // A program and a library with the same name would write the same pages. In that case only
        // the library's pages are built, because a program is documented by its `--help`.
        if !libs.contains(&target.name.as_str()) {
            doc(&["-p", &package.name, "--bin", &target.name, "--all-features"])?;
        }
    }
    Ok(String::new())
}

fn names(workspace: &Workspace, kind: Kind) -> Vec<&str> {
    workspace
        .targets(kind)
        .map(|(_, target)| target.name.as_str())
        .collect()
}

/// Fails with installation instructions if `cargo subcommand` is missing.
fn require(subcommand: &str, component: &str) -> Result<()> {
    if Job::cargo(&[subcommand, "--version"]).succeeds() {
        return Ok(());
    }
    bail!("`cargo {subcommand}` is missing: install it with `rustup component add {component}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_component_says_what_to_install() {
        let error = require("no-such-subcommand", "parts").unwrap_err();
        assert!(error.to_string().ends_with("`rustup component add parts`"));
    }
}
