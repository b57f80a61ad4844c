//! The step that compares the lock files of messages with the code, and with an older commit.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::select::{self, Selected, of_members};
use crate::parallel;
use crate::tidy;
use crate::workspace::{Kind, Package, Workspace};

/// Name of a lock file, in the folder of its package.
const FILE: &str = "wire.lock";

/// Call of the macro that generates the test of a lock file.
const LOCK: &str = "wire::lock!";

/// Kinds of the targets that can contain the test of a lock file. Cargo cannot select a single
/// library, so libraries are excluded.
const TESTED: [Kind; 2] = [Kind::Bin, Kind::Test];

/// Name of the test that the macro `lock!` of `garrick-wire` generates.
const TEST: &str = "wire_lock";

/// Environment variable with the older commit. The tests compare the lock files with this commit.
/// The user can set the variable.
const BASE: &str = "GARRICK_WIRE_LOCK_BASE";

/// Environment variable that makes the tests write the lock files. This step clears the variable,
/// because it only compares the files.
const WRITE: &str = "GARRICK_WIRE_LOCK";

/// Branch of the releases. The default for [`BASE`] is the commit at which the current branch left
/// this branch.
const MAIN: &str = "main";

/// Runs the tests of all lock files. Each test compares a lock file with the code, and with the
/// same file at an older commit. Fails if a lock file of that commit no longer exists, or if a lock
/// file has no test.
pub(super) fn wire_check(workspace: &Workspace) -> Result<String> {
    let base = base()?;
    let mut folders = folders_now(workspace);
    if let Some(base) = &base {
        check_none_is_gone(&folders_at(base)?, &folders, base)?;
    }
    let packages: Vec<&Package> = workspace
        .packages
        .iter()
        .filter(|package| folders.remove(&package.dir.display().to_string()))
        .collect();
    let locking: Vec<Selected<'_>> = tidy::targets_that_mention(workspace, &TESTED, LOCK)
        .into_iter()
        .filter(|(package, _)| {
            packages
                .iter()
                .any(|with_file| with_file.name == package.name)
        })
        .collect();
    let lock_test_of = |package: &&&Package| locking.iter().any(|(of, _)| of.name == package.name);
    if let Some(package) = packages.iter().find(|package| !lock_test_of(package)) {
        bail!(
            "{} has no test: list its messages with `garrick_wire::lock!` in a test program or a \
             program of `{}`",
            package.dir.join(FILE).display(),
            package.name
        );
    }
    let programs = select::build_tests(of_members("test"), &locking)?;
    let passed = parallel::run_tests(&programs, |job| {
        let job = job.arguments(&[TEST]).environment(WRITE, "");
        base.iter()
            .fold(job, |job, base| job.environment(BASE, base))
    })?;
    if passed.contains(&0) {
        bail!("a program that calls `{LOCK}` ran no test `{TEST}`");
    }
    let base = base.unwrap_or_else(|| "no commit".to_owned());
    Ok(format!("{} lock files, beside {base}", packages.len()))
}

/// Returns the commit to compare with. This is the commit in the environment variable [`BASE`], or
/// else the one at which the current branch left the main branch, or else the current commit.
/// Returns `None` outside of a repository.
fn base() -> Result<Option<String>> {
    if let Some(base) = env::var(BASE).ok().filter(|base| !base.is_empty()) {
        return Ok(Some(base));
    }
    let common = git(&["merge-base", "HEAD", MAIN])?;
    let found = match common {
        Some(common) => Some(common),
        None => git(&["rev-parse", "--verify", "HEAD"])?,
    };
    Ok(found.map(|commit| commit.trim().to_owned()))
}

/// Returns all files of the repository that differ from the commit that [`base`] returns, and new
/// files that git does not track yet.
pub(super) fn changed_files() -> Result<Vec<String>> {
    let Some(base) = base()? else {
        return Ok(Vec::new());
    };
    let changed = git(&["diff", "--name-only", "--end-of-options", &base])?;
    let new = git(&[
        "ls-files",
        "--others",
        "--exclude-standard",
        "--full-name",
        ":/",
    ])?;
    let both = [changed, new].into_iter().flatten();
    Ok(both.flat_map(|list| lines(&list)).collect())
}

fn lines(list: &str) -> Vec<String> {
    list.lines().map(str::to_owned).collect()
}

/// Returns the folders of packages with a lock file.
fn folders_now(workspace: &Workspace) -> BTreeSet<String> {
    let folders = workspace.packages.iter().map(|package| &package.dir);
    folders
        .filter(|folder| folder.join(FILE).exists())
        .map(|folder| folder.display().to_string())
        .collect()
}

/// Returns the folders with a lock file at a commit.
fn folders_at(base: &str) -> Result<BTreeSet<String>> {
    let list = git(&[
        "ls-tree",
        "-r",
        "--name-only",
        "--full-tree",
        "--end-of-options",
        base,
    ])?;
    let list = list.with_context(|| format!("{BASE}: `{base}` is no commit"))?;
    let files = list.lines().map(Path::new);
    Ok(files
        .filter(|file| file.file_name().is_some_and(|name| name == FILE))
        .filter_map(|file| Some(file.parent()?.display().to_string()))
        .collect())
}

fn check_none_is_gone(then: &BTreeSet<String>, now: &BTreeSet<String>, base: &str) -> Result<()> {
    let gone: Vec<&str> = then.difference(now).map(String::as_str).collect();
    if gone.is_empty() {
        return Ok(());
    }
    bail!(
        "there is no {FILE} any more in {}, but there was one at {base}: restore it, so that older \
         versions are known",
        gone.join(", ")
    )
}

/// Runs git, and returns its output, or `None` if it fails.
fn git(arguments: &[&str]) -> Result<Option<String>> {
    let output = Command::new("git").args(arguments).output();
    let output = output.context("`git` does not run")?;
    if !output.status.success() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8(output.stdout)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_named() {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let now: BTreeSet<String> = set(&["crates/a", "crates/b"]);
        assert!(check_none_is_gone(&set(&["crates/a"]), &now, "HEAD").is_ok());
        let error = check_none_is_gone(&set(&["crates/a", "crates/c"]), &now, "HEAD");
        assert!(error.unwrap_err().to_string().contains("in crates/c,"));
    }

    #[test]
    fn the_lock_file_of_the_format_is_found() {
        let workspace = Workspace::load().unwrap();
        let root = workspace.root.join("crates/garrick-wire").join(FILE);
        assert!(root.exists());
    }
}
