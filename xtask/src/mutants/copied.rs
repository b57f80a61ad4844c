//! A copy of a part of the workspace. The copy contains all mutants, so one build is enough for all
//! of them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::plan::{PACKAGES, Plan};
use super::rewrite::rewrite;
use crate::workspace::Workspace;

/// Environment variable with the number of the active mutant.
pub(super) const VARIABLE: &str = "GARRICK_MUTANT";

/// Package that gets an additional module, by which each mutant finds out if it is active.
const ASKED: &str = "garrick-core";

/// Package that the tests need too. It is copied without mutants.
const KIT: &str = "garrick-testkit";

/// Source of the module by which each mutant finds out if it is active.
const MODULE: &str = r#"//! The active mutant.
use std::sync::OnceLock;

/// Returns true if the mutant with this number is active.
#[inline]
pub fn is(number: usize) -> bool {
    static ACTIVE: OnceLock<usize> = OnceLock::new();
    let read = || std::env::var("GARRICK_MUTANT").ok()?.parse().ok();
    *ACTIVE.get_or_init(|| read().unwrap_or(0)) == number
}
"#;

/// Writes the workspace to the folder `to`. Does not write files that have not changed, so that
/// cargo does not rebuild them.
pub(super) fn write(workspace: &Workspace, plan: &Plan, to: &Path) -> Result<()> {
    let mut copy = Copy {
        to,
        written: HashSet::new(),
    };
    let manifest = fs::read_to_string(workspace.root.join("Cargo.toml"))?;
    copy.put(
        Path::new("Cargo.toml"),
        small_manifest(&manifest).as_bytes(),
    )?;
    copy.put_file(&workspace.root, Path::new("Cargo.lock"))?;
    for package in workspace
        .packages
        .iter()
        .filter(|p| p.name == KIT || PACKAGES.contains(&p.name.as_str()))
    {
        copy.put_folder(&workspace.root, &package.dir, plan)?;
        if package.name == ASKED {
            let src = package.dir.join("src");
            let root = fs::read_to_string(workspace.root.join(src.join("lib.rs")))?;
            let root = format!("{root}\n#[doc(hidden)]\npub mod mutant;\n");
            copy.put(&src.join("lib.rs"), root.as_bytes())?;
            copy.put(&src.join("mutant.rs"), MODULE.as_bytes())?;
        }
    }
    copy.remove_others(&to.join("crates"))
}

/// The destination of the files, and the files written so far.
struct Copy<'a> {
    to: &'a Path,
    written: HashSet<PathBuf>,
}

impl Copy<'_> {
    fn put(&mut self, path: &Path, text: &[u8]) -> Result<()> {
        let path = self.to.join(path);
        if fs::read(&path).ok().as_deref() != Some(text) {
            let folder = path.parent().context("a file is in a folder")?;
            fs::create_dir_all(folder)?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        self.written.insert(path);
        Ok(())
    }

    fn put_file(&mut self, root: &Path, path: &Path) -> Result<()> {
        self.put(path, &fs::read(root.join(path))?)
    }

    fn put_folder(&mut self, root: &Path, folder: &Path, plan: &Plan) -> Result<()> {
        for entry in fs::read_dir(root.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.put_folder(root, &path, plan)?;
            } else if let Some(file) = plan.files.iter().find(|file| file.path == path) {
                let krate = if file.package == ASKED {
                    "crate"
                } else {
                    "garrick_core"
                };
                let text = rewrite(
                    &file.text,
                    plan.edits(&path),
                    &format!("{krate}::mutant::is"),
                )
                .with_context(|| path.display().to_string())?;
                self.put(&path, text.as_bytes())?;
            } else if path.file_name() != Some("lib.rs".as_ref())
                || !path.starts_with("crates/garrick-core")
            {
                self.put_file(root, &path)?;
            }
        }
        Ok(())
    }

    /// Removes the files that an earlier run has written but this run has not written. Cargo would
    /// find obsolete tests in these files.
    fn remove_others(&self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.remove_others(&entry.path())?;
            } else if !self.written.contains(&entry.path()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Returns the manifest of the workspace, with only the copied packages as members.
fn small_manifest(manifest: &str) -> String {
    let members: Vec<String> = PACKAGES
        .iter()
        .chain([&KIT])
        .map(|name| format!("\"crates/{name}\""))
        .collect();
    let members = format!("members = [{}]", members.join(", "));
    let mut lines: Vec<&str> = Vec::new();
    for line in manifest.lines() {
        if line.starts_with("members = ") {
            lines.push(&members);
        } else if !line.starts_with("default-members = ") {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_workspace_has_only_what_is_mutated_and_the_kit() {
        let manifest =
            "[workspace]\nmembers = [\"crates/*\"]\ndefault-members = [\"a\"]\n\n[profile.ci]\n";
        assert_eq!(
            small_manifest(manifest),
            "[workspace]\nmembers = [\"crates/garrick-core\", \"crates/garrick-steal\", \"crates/garrick-sched\", \"crates/garrick-testkit\"]\n\n[profile.ci]\n"
        );
    }

    #[test]
    fn the_module_reads_the_variable() {
        assert!(MODULE.contains(VARIABLE));
    }
}
