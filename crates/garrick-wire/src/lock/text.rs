//! The text of a lock file.
//!
//! ```text
//! root enum bank.Command version 2
//!     1 Deposit
//!         1 account u64 varint
//!         2 currency string bytes default
//!         removed 3 note string
//!     removed 2 Withdraw
//! ```
//!
//! Words are separated by white space. Lines that begin with `#` are comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use crate::schema::{Body, Field, Group, Removed, Schema, Type, Use, Variant};
use crate::shape::{NUMBER_MAX, Shape};

const HEADER: &str = "\
# The messages of this package, as other versions of the program know them.
# `GARRICK_WIRE_LOCK=write cargo test wire_lock` updates this file. Commit it, and change nothing by hand.
";

const DEFAULT: &str = "default";
const REMOVED: &str = "removed";
const VERSION: &str = "version";

pub(super) fn write(schema: &Schema) -> String {
    let mut text = HEADER.to_owned();
    for (name, described) in &schema.types {
        let used = match described.used {
            Use::Root => "root ",
            Use::Part => "",
            Use::Past => "past ",
        };
        let kind = match described.body {
            Body::Struct(_) => "struct",
            Body::Enum { .. } => "enum",
        };
        let version = described.version;
        line(
            &mut text,
            format_args!("\n{used}{kind} {name} {VERSION} {version}"),
        );
        match &described.body {
            Body::Struct(group) => write_group(&mut text, "    ", group),
            Body::Enum { variants, removed } => {
                for (number, variant) in variants {
                    line(&mut text, format_args!("    {number} {}", variant.name));
                    write_group(&mut text, "        ", &variant.group);
                }
                for (number, name) in removed {
                    line(&mut text, format_args!("    {REMOVED} {number} {name}"));
                }
            }
        }
    }
    text
}

fn write_group(text: &mut String, indent: &str, group: &Group) {
    for (number, field) in &group.fields {
        let Field {
            name,
            of,
            shape,
            has_default,
        } = field;
        let default = if *has_default { " default" } else { "" };
        line(
            text,
            format_args!("{indent}{number} {name} {of} {shape}{default}"),
        );
    }
    for (number, Removed { name, of }) in &group.removed {
        line(text, format_args!("{indent}{REMOVED} {number} {name} {of}"));
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes all text");
}

/// Parses the text of a lock file. An error names the wrong line, and states what is allowed.
pub(super) fn parse(text: &str) -> Result<Schema, String> {
    let mut schema = Schema::default();
    let mut current: Option<(String, Type)> = None;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with('#')) {
            continue;
        }
        let parsed = match (head(&words), &mut current) {
            (Some(head), _) => {
                let before = current.replace(head);
                before.is_none_or(|(name, described)| insert(&mut schema.types, name, described))
            }
            (None, Some((_, described))) => entry(&words, described).is_some(),
            (None, None) => false,
        };
        if !parsed {
            return Err(format!(
                "line {}: `{}` is no new type, variant or field; restore the file, or solve the conflict",
                index + 1,
                line.trim()
            ));
        }
    }
    if let Some((name, described)) = current
        && !insert(&mut schema.types, name.clone(), described)
    {
        return Err(format!("the type `{name}` comes twice; solve the conflict"));
    }
    Ok(schema)
}

/// Inserts an entry into a map. Returns false if the map already contained the key.
fn insert<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) -> bool {
    map.insert(key, value).is_none()
}

/// Parses the first line in the description of a type in a lock file.
fn head(words: &[&str]) -> Option<(String, Type)> {
    let (used, words) = match words {
        ["root", words @ ..] => (Use::Root, words),
        ["past", words @ ..] => (Use::Past, words),
        words => (Use::Part, words),
    };
    let &[kind, name, VERSION, version] = words else {
        return None;
    };
    let body = match kind {
        "struct" => Body::Struct(Group::default()),
        "enum" => Body::Enum {
            variants: BTreeMap::new(),
            removed: BTreeMap::new(),
        },
        _ => return None,
    };
    let described = Type {
        used,
        version: version.parse().ok()?,
        body,
    };
    Some((name.to_owned(), described))
}

/// Parses a line in the description of a type in a lock file, except for the first line. Returns
/// `None` if the line is invalid.
fn entry(words: &[&str], described: &mut Type) -> Option<()> {
    let is_new = match (&mut described.body, words) {
        (Body::Enum { variants, .. }, &[number, name]) => {
            let variant = Variant {
                name: name.to_owned(),
                group: Group::default(),
            };
            insert(variants, parse_number(number)?, variant)
        }
        (Body::Enum { removed, .. }, &[REMOVED, number, name]) => {
            insert(removed, parse_number(number)?, name.to_owned())
        }
        (Body::Struct(group), words) => return field(words, group),
        (Body::Enum { variants, .. }, words) => {
            // The fields of a variant follow it, and the numbers of variants ascend.
            let (_, variant) = variants.iter_mut().next_back()?;
            return field(words, &mut variant.group);
        }
    };
    is_new.then_some(())
}

/// Parses a line of a lock file that describes a field. Adds the field to `group`. Returns `None`
/// if the line is invalid.
fn field(words: &[&str], group: &mut Group) -> Option<()> {
    let is_new = match *words {
        [REMOVED, number, name, of] => {
            let removed = Removed {
                name: name.to_owned(),
                of: of.to_owned(),
            };
            insert(&mut group.removed, parse_number(number)?, removed)
        }
        [number, name, of, shape, ref default @ ..] => {
            let has_default = match default {
                [] => false,
                [word] if *word == DEFAULT => true,
                _ => return None,
            };
            let field = Field {
                name: name.to_owned(),
                of: of.to_owned(),
                shape: Shape::from_name(shape)?,
                has_default,
            };
            insert(&mut group.fields, parse_number(number)?, field)
        }
        _ => return None,
    };
    is_new.then_some(())
}

fn parse_number(word: &str) -> Option<u32> {
    let number = u32::from_str(word).ok()?;
    (1..=NUMBER_MAX).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
root enum bank.Command version 2
    1 Deposit
        1 account u64 varint
        2 currency string bytes default
        removed 3 note string
    4 Close
    removed 2 Withdraw

past struct bank.Empty version 1

struct bank.Page<u64> version 7
    1 items list<u64> bytes
";

    #[test]
    fn the_text_comes_back() {
        let schema = parse(TEXT).unwrap();
        assert_eq!(schema.types.len(), 3);
        let written = write(&schema);
        assert_eq!(written, format!("{HEADER}{TEXT}"));
        assert_eq!(parse(&written), Ok(schema));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (wrong, line) in [
            ("1 account u64 varint", 1),
            ("struct a version x", 1),
            ("struct a version 1\n1 b", 2),
            ("struct a version 1\n0 b u64 varint", 2),
            ("struct a version 1\n1 b u64 long", 2),
            ("struct a version 1\n1 b u64 varint later", 2),
            ("struct a version 1\n1 b u64 varint\n1 c u64 varint", 3),
            ("enum a version 1\n1 b u64 varint", 2),
            ("enum a version 1\n1 B\n1 C", 3),
            ("struct a version 1\n<<<<<<< ours", 2),
            (
                "struct a version 1\nstruct a version 1\nstruct b version 1",
                3,
            ),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")), "{error}");
        }
        assert!(parse("struct a version 1\nstruct a version 1").is_err());
    }
}
