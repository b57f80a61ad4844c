//! The test that [`lock!`](crate::lock!) makes.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::compare::{Compared, compare};
use super::text;
use crate::schema::Schema;

/// Name of the lock file.
const FILE: &str = "wire.lock";

/// Environment variable that makes the test write the file.
const WRITE: &str = "GARRICK_WIRE_LOCK";

/// Environment variable with a commit, with whose lock file this one is compared.
const BASE: &str = "GARRICK_WIRE_LOCK_BASE";

/// Compares the types that `describe` adds with the lock file in `folder`.
///
/// # Panics
/// If the file is missing, differs, or has a change that other versions do not understand. The
/// message says what is wrong, where, and what is allowed.
#[doc(hidden)]
#[track_caller]
pub fn check(folder: &str, describe: fn(&mut Schema), ended: &[&str]) {
    let mut schema = Schema::default();
    describe(&mut schema);
    let mode = env::var(WRITE).ok();
    let base = env::var(BASE).ok().filter(|base| !base.is_empty());
    let checked = is_writing(mode.as_deref())
        .and_then(|is_writing| check_file(Path::new(folder), &schema, ended, is_writing))
        .and_then(|()| match base {
            Some(base) => check_base(Path::new(folder), &base, ended),
            None => Ok(()),
        });
    if let Err(error) = checked {
        panic!("{error}");
    }
}

fn is_writing(mode: Option<&str>) -> Result<bool, String> {
    match mode {
        None | Some("") => Ok(false),
        Some("write") => Ok(true),
        Some(other) => Err(format!(
            "{WRITE} is `{other}`, but the only value is `write`"
        )),
    }
}

/// Compares `schema` with the lock file, and writes the file if `is_writing`.
fn check_file(
    folder: &Path,
    schema: &Schema,
    ended: &[&str],
    is_writing: bool,
) -> Result<(), String> {
    let path = folder.join(FILE);
    if !schema.clashes.is_empty() {
        let clashes: Vec<&str> = schema.clashes.iter().map(String::as_str).collect();
        return Err(format!(
            "two types have one name:\n{}\n    allowed: `#[wire(name = \"..\")]` with another name",
            clashes.join("\n")
        ));
    }
    let current = fs::read_to_string(&path).ok();
    let old = parse(&path, current.as_deref().unwrap_or_default())?;
    let compared = compare(&old, schema, ended);
    refuse(&path, &compared)?;
    let merged = text::write(&compared.merged);
    if current.as_ref() == Some(&merged) {
        return Ok(());
    }
    if is_writing {
        let written = fs::write(&path, merged);
        return written.map_err(|error| format!("{} cannot be written: {error}", path.display()));
    }
    let found = match current {
        None => "is missing".to_owned(),
        Some(_) if compared.changes.is_empty() => "has another layout".to_owned(),
        Some(_) => format!("lacks these changes:\n{}", compared.changes.join("\n")),
    };
    Err(format!(
        "{} {found}\n    Other versions understand this. Write the file with \
         `{WRITE}=write cargo test wire_lock`, and commit it.",
        path.display()
    ))
}

fn parse(path: &Path, text: &str) -> Result<Schema, String> {
    text::parse(text).map_err(|error| format!("{}, {error}", path.display()))
}

fn refuse(path: &Path, compared: &Compared) -> Result<(), String> {
    if compared.refused.is_empty() {
        return Ok(());
    }
    let refused: Vec<String> = compared.refused.iter().map(ToString::to_string).collect();
    Err(format!(
        "other versions do not understand these changes of the messages in {}:\n{}",
        path.display(),
        refused.join("\n")
    ))
}

/// Compares the lock file with its version at the commit `base`.
fn check_base(folder: &Path, base: &str, ended: &[&str]) -> Result<(), String> {
    let path = folder.join(FILE);
    let Some(before) = file_at(folder, base)? else {
        return Ok(());
    };
    let old = parse(&path, &before)?;
    let text = fs::read_to_string(&path);
    let text = text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let now = parse(&path, &text)?;
    let compared = compare(&old, &now, ended);
    refuse(&path, &compared).map_err(|error| format!("since {base}, {error}"))?;
    if compared.merged.types == now.types {
        return Ok(());
    }
    Err(format!(
        "{} has lost lines about the past that it had at {base}\n    allowed: restore the file by \
         `git checkout {base} -- {FILE}`, and write it with `{WRITE}=write cargo test wire_lock`",
        path.display()
    ))
}

/// Returns the lock file at a commit, or `None` if it did not exist there.
fn file_at(folder: &Path, base: &str) -> Result<Option<String>, String> {
    let commit = format!("{base}^{{commit}}");
    git(folder, &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit])?.ok_or_else(|| {
        format!("{BASE} is `{base}`, which is no commit of this repository")
    })?;
    git(folder, &["show", "--end-of-options", &format!("{base}:./{FILE}")])
}

/// Runs git, and returns its output, or `None` if it fails.
fn git(folder: &Path, arguments: &[&str]) -> Result<Option<String>, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output();
    let output = output.map_err(|error| format!("{BASE} is set, but git does not run: {error}"))?;
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8(output.stdout);
    text.map(Some).map_err(|_| format!("{FILE} at the commit is no text"))
}
