//! The test that [`lock!`](crate::lock!) generates.

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

/// Environment variable that contains a commit. If it is set, the test also compares the lock file
/// with its version at this commit.
const BASE: &str = "GARRICK_WIRE_LOCK_BASE";

/// Compares the message types that `describe` adds to a schema with the lock file in `folder`.
/// `ended` contains the names of messages that are no longer sent. Writes the file if the
/// environment variable `GARRICK_WIRE_LOCK` is `write`.
///
/// # Panics
/// Panics if the file is missing or differs from the types, unless this call writes the file. Also
/// panics if two types have the same name, or if other versions of the program do not understand a
/// change. The message states what is wrong, where, and what is allowed.
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

/// Compares `schema` with the lock file. If they differ, writes the file if `is_writing` is true,
/// and otherwise returns an error. Returns an error in any case if a change is refused, or if two
/// types have the same name.
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

/// Returns the content of the lock file at a commit, or `None` if the file did not exist at this
/// commit.
fn file_at(folder: &Path, base: &str) -> Result<Option<String>, String> {
    let commit = format!("{base}^{{commit}}");
    git(
        folder,
        &[
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &commit,
        ],
    )?
    .ok_or_else(|| format!("{BASE} is `{base}`, which is no commit of this repository"))?;
    git(
        folder,
        &["show", "--end-of-options", &format!("{base}:./{FILE}")],
    )
}

/// Runs git, and returns the output of git, or `None` if git fails.
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
    text.map(Some)
        .map_err(|_| format!("{FILE} at the commit is no text"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process;

    use super::*;

    /// A folder that is removed when this value is dropped.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let place = env::temp_dir().join(format!("garrick-wire-{name}-{}", process::id()));
            fs::create_dir_all(&place).unwrap();
            Self(place)
        }

        fn text(&self) -> String {
            fs::read_to_string(self.0.join(FILE)).unwrap()
        }

        fn check(&self, text: &str, is_writing: bool) -> Result<(), String> {
            check_file(&self.0, &text::parse(text).unwrap(), &[], is_writing)
        }

        fn git(&self, arguments: &[&str]) {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
            let done = git(&self.0, &[&identity[..], arguments].concat()).unwrap();
            assert!(done.is_some(), "git {arguments:?}");
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const FIRST: &str = "root struct m version 1\n1 a u64 varint\n2 b u64 varint default";
    const REMOVED: &str = "root struct m version 2\n1 a u64 varint";
    const REUSED: &str = "root struct m version 3\n1 a u64 varint\n2 c u64 varint default";

    #[track_caller]
    fn fails(checked: Result<(), String>, parts: &[&str]) {
        let error = checked.unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_file_is_written_only_on_request_and_only_with_allowed_changes() {
        let place = Place::new("written");
        fails(
            place.check(FIRST, false),
            &["wire.lock is missing", "=write cargo test"],
        );
        assert!(!place.0.join(FILE).exists());
        place.check(FIRST, true).unwrap();
        place.check(FIRST, false).unwrap();
        let written = place.text();

        let change = "the field `b` (2) is removed";
        fails(
            place.check(REMOVED, false),
            &["lacks these changes", change],
        );
        assert_eq!(place.text(), written);
        place.check(REMOVED, true).unwrap();
        place.check(REMOVED, false).unwrap();
        assert!(place.text().contains("    removed 2 b u64\n"));

        let written = place.text();
        for is_writing in [false, true] {
            let refused = [
                "do not understand",
                "wire.lock",
                "the removed field `b: u64` had",
            ];
            fails(place.check(REUSED, is_writing), &refused);
            assert_eq!(place.text(), written);
        }
        fs::write(place.0.join(FILE), "<<<<<<< ours").unwrap();
        fails(
            place.check(FIRST, true),
            &["wire.lock, line 1: `<<<<<<< ours`"],
        );
    }

    #[test]
    fn two_types_with_one_name_are_named() {
        let mut schema = Schema::default();
        assert!(schema.add_struct("m", 1, "a::M", &[]));
        assert!(!schema.add_struct("m", 1, "a::M", &[]));
        assert!(!schema.add_struct("m", 1, "b::M", &[]));
        let place = Place::new("clash");
        let clash = "`a::M` and `b::M` have the name `m`";
        fails(check_file(&place.0, &schema, &[], true), &[clash]);
    }

    #[test]
    fn the_mode_is_write_or_nothing() {
        assert_eq!(is_writing(None), Ok(false));
        assert_eq!(is_writing(Some("write")), Ok(true));
        assert!(is_writing(Some("true")).unwrap_err().contains("`write`"));
    }

    #[test]
    fn a_file_that_was_written_anew_is_noticed() {
        if Command::new("git").arg("--version").output().is_err() {
            assert!(env::var_os("GARRICK_TOOLS").is_none(), "git is missing");
            eprintln!("skipped, because git is missing");
            return;
        }
        let place = Place::new("base");
        place.git(&["init", "--quiet"]);
        place.git(&["commit", "--quiet", "--allow-empty", "--message", "none"]);
        place.check(FIRST, true).unwrap();
        // The commit has no file.
        check_base(&place.0, "HEAD", &[]).unwrap();
        place.check(REMOVED, true).unwrap();
        place.git(&["add", FILE]);
        place.git(&["commit", "--quiet", "--message", "removed"]);
        check_base(&place.0, "HEAD", &[]).unwrap();

        // Without the removed number, which could then be used again.
        fs::remove_file(place.0.join(FILE)).unwrap();
        place.check(REMOVED, true).unwrap();
        let lost = ["has lost lines", "git checkout HEAD -- wire.lock"];
        fails(check_base(&place.0, "HEAD", &[]), &lost);

        fs::remove_file(place.0.join(FILE)).unwrap();
        place.check(REUSED, true).unwrap();
        let reused = ["since HEAD", "the removed field `b: u64` had"];
        fails(check_base(&place.0, "HEAD", &[]), &reused);
        fails(check_base(&place.0, "no-such-commit", &[]), &["no commit"]);
    }
}
