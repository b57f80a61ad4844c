//! Steps that check the code without running it.

use anyhow::{Result, bail};

use crate::mutants;
use crate::process::Job;
use crate::site;
use crate::tidy;
use crate::tools;
use crate::workspace::Workspace;

/// Features that `ci` does not enable, each with its package. The rival `steady_state` has as many
/// dependencies as all other members of the workspace together, and those of `ractor_cluster`
/// contain C code that takes minutes to build. The step `rivals` checks the code of these features.
const WITHOUT: &[(&str, &str)] = &[("garrick-rivals", "far"), ("garrick-rivals", "steady")];

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
pub(super) fn clippy(workspace: &Workspace) -> Result<String> {
    require("clippy", "clippy")?;
    Job::cargo(&["clippy", "--workspace", "--all-targets"])
        .arguments(&["--features", &features(workspace)])
        .arguments(&["--", "-D", "warnings"])
        .run()?;
    Ok(String::new())
}

/// Builds the documentation of every library and program with warnings denied, and the site of the
/// guides.
pub(super) fn docs(workspace: &Workspace) -> Result<String> {
    let mdbook = tools::install_mdbook(&workspace.target)?;
    Job::cargo(&["doc", "--no-deps", "--workspace"])
        // Clippy has just checked all dependencies with these features.
        .arguments(&["--features", &features(workspace)])
        .environment("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    site::build(workspace, &mdbook)
}

/// Builds the documentation and the site, and tests the site in a browser.
pub(super) fn site(workspace: &Workspace) -> Result<String> {
    tools::install_missing(tools::FOR_TESTS)?;
    let built = docs(workspace)?;
    Job::cargo(&[
        "test",
        "-p",
        "garrick-tests",
        "--test",
        "dashboard",
        "site::",
    ])
    .environment("GARRICK_SITE", workspace.target.join("site"))
    .run()?;
    Ok(built)
}

/// Returns the features of all packages as `cargo --features` expects them, except those in
/// `WITHOUT`.
pub(super) fn features(workspace: &Workspace) -> String {
    let mut all = Vec::new();
    for package in &workspace.packages {
        for feature in &package.features {
            if !WITHOUT.contains(&(package.name.as_str(), feature.as_str())) {
                all.push(format!("{}/{feature}", package.name));
            }
        }
    }
    all.join(",")
}

/// Checks the code of the features in `WITHOUT`, and runs each of their scenarios briefly. Also
/// runs the test that compares Garrick's simulation with other libraries. The flag `--cfg madsim`,
/// with which all crates are built for this test, includes madsim in the comparison.
pub(super) fn rivals(workspace: &Workspace) -> Result<String> {
    tools::install_nats(&workspace.target)?;
    let features = ["-p", "garrick-rivals", "--features", "far,steady"];
    Job::cargo(&["clippy", "--all-targets"])
        .arguments(&features)
        .arguments(&["--", "-D", "warnings"])
        .run()?;
    for scenario in ["pipeline", "far"] {
        Job::cargo(&["run"])
            .optimized()
            .arguments(&features)
            .arguments(&["--", scenario, "--quick"])
            .run()?;
    }
    // The filter passes over the tests of other modules, which `ci` runs.
    Job::cargo(&["test"])
        .optimized()
        .arguments(&features)
        .arguments(&["--bins", "--test", "command", "far"])
        .run()?;
    Job::cargo(&["test", "-p", "garrick-rivals", "--test", "simulation"])
        .environment("CARGO_TARGET_DIR", workspace.target.join("madsim"))
        .environment("RUSTFLAGS", "--cfg madsim")
        .run()?;
    Ok("pipeline, far, simulation".to_owned())
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
    fn the_check_enables_all_features_but_those_that_are_named() {
        let workspace = Workspace::load().unwrap();
        let features = features(&workspace);
        let features: Vec<&str> = features.split(',').collect();
        assert!(features.contains(&"garrick/telemetry"), "{features:?}");
        for (package, feature) in WITHOUT {
            let has = |p: &&crate::workspace::Package| p.name == *package;
            let package = workspace.packages.iter().find(has).unwrap();
            assert!(package.features.iter().any(|name| name == feature));
            assert!(!features.contains(&&*format!("{}/{feature}", package.name)));
        }
    }

    #[test]
    fn a_missing_component_says_what_to_install() {
        let error = require("no-such-subcommand", "parts").unwrap_err();
        assert!(error.to_string().ends_with("`rustup component add parts`"));
    }
}
