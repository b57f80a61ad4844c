//! Steps that build the public crates in other ways than `ci`: each feature alone, and with the
//! oldest versions of dependencies.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{Ended, Job, empty};
use crate::workspace::{Package, Workspace};

/// Checks each public crate without features, with each feature alone, and with all features.
/// Denies warnings, for example about code that only another feature uses.
pub(super) fn features(workspace: &Workspace) -> Result<String> {
    let mut count = 0;
    let mut failed = Vec::new();
    for package in workspace.public() {
        for flags in selections(package) {
            let job = Job::cargo(&["check", "-p", &package.name])
                .arguments(&flags)
                .environment("CARGO_TARGET_DIR", workspace.target.join("features"))
                .environment("RUSTFLAGS", "-D warnings");
            if let Err(error) = job.run() {
                failed.push(format!("{error:#}"));
            }
            count += 1;
        }
    }
    if failed.is_empty() {
        return Ok(format!("{count} selections"));
    }
    bail!(
        "{} of {count} failed:\n  {}",
        failed.len(),
        failed.join("\n  ")
    )
}

/// Returns the flags for no features, each feature and all features.
fn selections(package: &Package) -> Vec<Vec<String>> {
    let none = || vec!["--no-default-features".to_owned()];
    let mut all = vec![none()];
    for feature in &package.features {
        all.push([none(), vec!["--features".to_owned(), feature.clone()]].concat());
    }
    if !package.features.is_empty() {
        all.push(vec!["--all-features".to_owned()]);
    }
    all
}

/// Builds the public crates with the oldest dependency versions that the manifests allow. The build
/// fails if a manifest allows a version that is too old.
pub(super) fn minimal(workspace: &Workspace) -> Result<String> {
    let copy = workspace.target.join("minimal");
    copy_sources(workspace, &copy)?;
    let public = workspace.public();
    write_members(&copy.join("Cargo.toml"), &public)?;
    let in_copy = |arguments: &[&str]| {
        Job::cargo(arguments)
            .folder(&copy)
            .environment("CARGO_TARGET_DIR", workspace.target.join("minimal-target"))
            // The resolver with the oldest versions is unstable. This variable enables it.
            .environment("RUSTC_BOOTSTRAP", "1")
    };
    in_copy(&["update", "-Z", "direct-minimal-versions"]).run()?;
    in_copy(&["check", "--workspace", "--all-features"]).run()?;
    Ok(format!("{} crates", public.len()))
}

/// Copies the files that git knows to an empty folder.
fn copy_sources(workspace: &Workspace, copy: &Path) -> Result<()> {
    empty(copy)?;
    let files = Job::new("git").arguments(&["ls-files"]).watch()?;
    if files.ended != Ended::Passed {
        bail!("`git ls-files` failed: {}", files.output);
    }
    for file in files.output.lines() {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().unwrap_or(copy))?;
        // A file may have been deleted since the last commit.
        let from = workspace.root.join(file);
        if from.exists() {
            fs::copy(from, to).with_context(|| format!("cannot copy {file}"))?;
        }
    }
    Ok(())
}

/// Removes the private crates from the members of a workspace.
fn write_members(manifest: &Path, public: &[&Package]) -> Result<()> {
    let text = fs::read_to_string(manifest)?;
    let folders = public.iter().map(|package| format!("{:?}", package.dir));
    let members = folders.collect::<Vec<_>>().join(", ");
    fs::write(manifest, with_members(&text, &members)?)?;
    Ok(())
}

/// Replaces the lists of members in the text of a manifest.
fn with_members(text: &str, members: &str) -> Result<String> {
    let mut lines = Vec::new();
    let mut has_members = false;
    for line in text.lines() {
        if line.starts_with("members = ") {
            has_members = true;
            lines.push(format!("members = [{members}]"));
        } else if !line.starts_with("default-members = ") {
            lines.push(line.to_owned());
        }
    }
    if !has_members {
        bail!("no line `members = ` in the manifest of the workspace");
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_selected_alone_and_all_together() {
        let workspace = Workspace::load().unwrap();
        let public = workspace.public();
        let named = |name| *public.iter().find(|package| package.name == name).unwrap();
        assert_eq!(
            selections(named("garrick-core")),
            [["--no-default-features"]]
        );
        let actor = selections(named("garrick-actor"));
        assert_eq!(actor.len(), 2 + named("garrick-actor").features.len());
        let traces = ["--no-default-features", "--features", "traces"];
        assert!(actor.iter().any(|flags| *flags == traces), "{actor:?}");
        assert_eq!(actor.last().unwrap(), &["--all-features"]);
    }

    #[test]
    fn members_are_replaced_and_defaults_removed() {
        let text = "[workspace]\nmembers = [\"a\"]\ndefault-members = [\"a\"]\n[x]";
        let replaced = with_members(text, "\"b\"").unwrap();
        assert_eq!(replaced, "[workspace]\nmembers = [\"b\"]\n[x]");
        assert!(with_members("[workspace]", "").is_err());
    }
}
