//! The step that prepares a release: everything except the upload.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Result, bail};

use super::package;
use crate::process::{Ended, Job};
use crate::workspace::{Package, Workspace};

/// File with the changes of each version.
const CHANGELOG: &str = "CHANGELOG.md";

/// The parameters of a release.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Check everything, and print the commands that publish. Nothing is uploaded.
    #[arg(long)]
    dry_run: bool,
    /// Do not make and build the packages.
    #[arg(long)]
    skip_packages: bool,
}

/// Checks that the workspace can be released, and prints the commands that publish it.
///
/// # Errors
/// The error names all problems that can be found without a build. If there are none, the error
/// names the problem of a package.
pub(crate) fn release(workspace: &Workspace, options: &Options) -> Result<()> {
    if !options.dry_run {
        bail!("this command uploads nothing: call it with `--dry-run`, and run what it prints");
    }
    let packages = workspace.public();
    let problems = problems(workspace, &packages)?;
    if !problems.is_empty() {
        bail!("not ready for a release:\n  {}", problems.join("\n  "));
    }
    let order = in_order(&packages)?;
    if !options.skip_packages {
        println!("{}", package::package(workspace)?);
    }
    let version = &workspace.version;
    println!("\nVersion {version} is ready. To publish it, run:\n");
    println!("git tag v{version}");
    for package in order {
        println!("cargo publish -p {}", package.name);
    }
    println!("git push --tags");
    Ok(())
}

fn problems(workspace: &Workspace, packages: &[&Package]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let changed = git(&["status", "--porcelain"])?.unwrap_or_default();
    if !changed.is_empty() {
        problems.push(format!(
            "files differ from the commit:\n{}",
            changed.trim_end()
        ));
    }
    let version = &workspace.version;
    if git(&[
        "rev-parse",
        "--verify",
        "--quiet",
        &format!("refs/tags/v{version}"),
    ])?
    .is_some()
    {
        problems.push(format!(
            "the tag v{version} exists: raise the version in Cargo.toml"
        ));
    }
    problems.extend(wrong_versions(version, packages));
    let changes = fs::read_to_string(workspace.root.join(CHANGELOG))?;
    problems.extend(missing_changes(&changes, version));
    Ok(problems)
}

/// Returns a problem for each package whose version is not `version`, and for each dependency
/// between packages that asks for another version.
fn wrong_versions(version: &str, packages: &[&Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        if package.version != version {
            wrong.push(format!(
                "{} has the version {}",
                package.name, package.version
            ));
        }
        for (name, requirement) in &package.siblings {
            if *requirement != format!("^{version}") {
                wrong.push(format!("{} asks for {name} {requirement}", package.name));
            }
        }
    }
    wrong
}

/// Returns a problem if the list of changes has no entries for the version.
fn missing_changes(changes: &str, version: &str) -> Option<String> {
    let section = changes.split("\n## ").find_map(|section| {
        let rest = section.strip_prefix(&format!("[{version}]"))?;
        Some(rest.lines().filter(|line| line.starts_with("- ")).count())
    });
    match section {
        Some(0) => Some(format!("{CHANGELOG} has no entries below `## [{version}]`")),
        Some(_) => None,
        None => Some(format!("{CHANGELOG} has no heading `## [{version}]`")),
    }
}

/// Returns the packages in an order in which each comes after those that it depends on.
fn in_order<'a>(packages: &[&'a Package]) -> Result<Vec<&'a Package>> {
    let mut order: Vec<&Package> = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while order.len() < packages.len() {
        let is_next = |package: &&&Package| {
            let mut needs = package.siblings.iter();
            !done.contains(&*package.name) && needs.all(|(name, _)| done.contains(&**name))
        };
        let Some(next) = packages.iter().find(is_next) else {
            let left = packages.iter().map(|package| &*package.name);
            let left: Vec<_> = left.filter(|name| !done.contains(name)).collect();
            bail!(
                "these depend on each other, or on a private package: {}",
                left.join(", ")
            );
        };
        done.insert(&next.name);
        order.push(next);
    }
    Ok(order)
}

/// Runs git, and returns its output, or `None` if it fails.
fn git(arguments: &[&str]) -> Result<Option<String>> {
    let run = Job::new("git").arguments(arguments).watch()?;
    Ok((run.ended == Ended::Passed).then_some(run.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, siblings: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.2.0".to_owned(),
            siblings: siblings
                .iter()
                .map(|name| (name.to_string(), "^0.2.0".to_owned()))
                .collect(),
            ..Package::default()
        }
    }

    #[test]
    fn a_package_comes_after_those_that_it_depends_on() {
        let (a, b, c) = (
            package("a", &["b", "c"]),
            package("b", &["c"]),
            package("c", &[]),
        );
        let order = in_order(&[&a, &b, &c]).unwrap();
        let names: Vec<&str> = order.iter().map(|package| &*package.name).collect();
        assert_eq!(names, ["c", "b", "a"]);
        let circle = package("c", &["a"]);
        let error = in_order(&[&a, &b, &circle]).unwrap_err().to_string();
        assert!(error.ends_with("a, b, c"), "{error}");
    }

    #[test]
    fn other_versions_are_named() {
        let right = package("a", &["b"]);
        assert_eq!(wrong_versions("0.2.0", &[&right]), [""; 0]);
        let wrong = wrong_versions("0.3.0", &[&right]);
        assert_eq!(wrong, ["a has the version 0.2.0", "a asks for b ^0.2.0"]);
    }

    #[test]
    fn a_version_without_changes_is_a_problem() {
        let changes = "# Changes\n\n## [Unreleased]\n- new\n\n## [0.2.0]\n\n- a\n\n## [0.1.0]\n";
        assert_eq!(missing_changes(changes, "0.2.0"), None);
        let of = |version| missing_changes(changes, version).unwrap();
        assert!(of("0.1.0").contains("no entries"));
        assert!(of("0.3.0").contains("no heading"));
    }

    #[test]
    fn the_workspace_can_be_published_in_some_order() {
        let workspace = Workspace::load().unwrap();
        let packages = workspace.public();
        assert_eq!(in_order(&packages).unwrap().len(), packages.len());
        assert_eq!(wrong_versions(&workspace.version, &packages), [""; 0]);
    }
}
