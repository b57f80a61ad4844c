//! The rules that decide whether two versions of a program understand each other's messages.
//!
//! Each version is compared with the version before it, because a rolling upgrade replaces one
//! version with the next one.

use std::collections::BTreeMap;
use std::fmt;

use crate::schema::{Body, Field, Group, Removed, Schema, Type, Use, Variant};

/// The result of comparing two versions of a lock file.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Descriptions of the changes that both versions of the program understand.
    pub(super) changes: Vec<String>,
    /// Changes that are not allowed, for example because one of the versions does not understand
    /// them.
    pub(super) refused: Vec<Refused>,
    /// The contents of the new lock file. In addition to the current types, it lists the removed
    /// types, fields and variants of the old file.
    pub(super) merged: Schema,
}

/// A change that is not allowed, for example because one of the versions does not understand it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    place: String,
    what: String,
    allowed: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            what,
            allowed,
        } = self;
        write!(f, "{place}: {what}\n    allowed: {allowed}")
    }
}

/// Compares the contents of two lock files. `ended` contains the names of messages that are no
/// longer sent.
pub(super) fn compare(old: &Schema, new: &Schema, ended: &[&str]) -> Compared {
    let mut compared = Compared {
        merged: new.clone(),
        ..Compared::default()
    };
    for name in new
        .types
        .keys()
        .filter(|name| !old.types.contains_key(*name))
    {
        compared.changes.push(format!("`{name}`: a new type"));
    }
    for (name, before) in &old.types {
        let after = new.types.get(name);
        let is_sent = after.is_some_and(|after| after.used == Use::Root);
        if before.used == Use::Root && !is_sent && !ended.contains(&name.as_str()) {
            compared.refuse(
                format!("`{name}`"),
                "the message is no longer listed in `lock!`, but older nodes may send it".to_owned(),
                format!(
                    "list it; or if its type was renamed, write `#[wire(name = \"{name}\")]`; or if nobody sends \
                     it any more, write `; ended \"{name}\"` at the end of the list"
                ),
            );
        }
        match after {
            Some(after) => {
                let of_type = OfType::compare(name, before, after);
                compared.take(name, before, after, of_type);
            }
            None => compared.keep(name, before),
        }
    }
    compared
}

impl Compared {
    fn refuse(&mut self, place: String, what: String, allowed: String) {
        self.refused.push(Refused {
            place,
            what,
            allowed,
        });
    }

    /// Adds an old type, which the program no longer uses, to the new lock file.
    fn keep(&mut self, name: &str, before: &Type) {
        if before.used != Use::Past {
            self.changes.push(format!("`{name}`: no longer used"));
        }
        let past = Type {
            used: Use::Past,
            ..before.clone()
        };
        self.merged.types.insert(name.to_owned(), past);
    }

    /// Adds the outcome of the comparison for one type, and checks the version number of this type.
    fn take(&mut self, name: &str, before: &Type, after: &Type, of_type: OfType) {
        let place = || format!("`{name}`");
        if after.version < before.version {
            self.refuse(
                place(),
                format!(
                    "the version is {}, and was {}",
                    after.version, before.version
                ),
                format!("a version of {} or more", before.version),
            );
        }
        if of_type.is_changed && of_type.refused.is_empty() && after.version == before.version {
            self.refuse(
                place(),
                format!(
                    "the version is still {}, but there are changes: {}",
                    after.version,
                    of_type.changes.join("; ")
                ),
                format!(
                    "`#[wire(version = {})]`, which shows nodes of which version understand the change",
                    u32::from(before.version) + 1
                ),
            );
        }
        if after.version > before.version {
            let (old, new) = (before.version, after.version);
            self.changes
                .push(format!("`{name}`: version {new} after {old}"));
        }
        if after.used != before.used && after.used != Use::Past {
            self.changes.push(format!("`{name}`: used in another way"));
        }
        self.changes.extend(of_type.changes);
        self.refused.extend(of_type.refused);
        if let Some(merged) = self.merged.types.get_mut(name) {
            merged.body = of_type.merged;
        }
    }
}

/// The outcome of the comparison for one type.
struct OfType {
    /// Path of the type, or of the variant that is compared.
    place: String,
    changes: Vec<String>,
    /// True if there is a change that requires a new version number of the type.
    is_changed: bool,
    refused: Vec<Refused>,
    merged: Body,
}

impl OfType {
    fn compare(name: &str, before: &Type, after: &Type) -> Self {
        let mut of_type = Self {
            place: format!("`{name}`"),
            changes: Vec::new(),
            is_changed: false,
            refused: Vec::new(),
            merged: after.body.clone(),
        };
        match (&before.body, &after.body) {
            (Body::Struct(old), Body::Struct(new)) => {
                of_type.merged = Body::Struct(of_type.group(old, new));
            }
            (
                Body::Enum { variants, removed },
                Body::Enum {
                    variants: now,
                    removed: gone,
                },
            ) => {
                of_type.merged = of_type.variants((variants, removed), (now, gone));
            }
            _ => of_type.refuse(
                "a struct became an enum, or an enum a struct".to_owned(),
                "a new type with another name".to_owned(),
            ),
        }
        of_type
    }

    fn refuse(&mut self, what: String, allowed: String) {
        self.refused.push(Refused {
            place: self.place.clone(),
            what,
            allowed,
        });
    }

    /// Adds a change that requires no new version number of the type.
    fn note(&mut self, what: &str) {
        self.changes.push(format!("{}: {what}", self.place));
    }

    /// Adds a change that requires a new version number of the type.
    fn change(&mut self, what: &str) {
        self.is_changed = true;
        self.note(what);
    }

    /// Compares the variants of an enum, including removed variants.
    fn variants(
        &mut self,
        (old, old_removed): (&BTreeMap<u32, Variant>, &BTreeMap<u32, String>),
        (new, new_removed): (&BTreeMap<u32, Variant>, &BTreeMap<u32, String>),
    ) -> Body {
        let mut merged = new.clone();
        let mut removed = old_removed.clone();
        removed.extend(new_removed.clone());
        let number_of = |name: &str| {
            let mut before = old.iter().filter(|(_, variant)| variant.name == name);
            before.next().map(|(number, _)| *number)
        };
        for (number, variant) in new {
            let name = &variant.name;
            if let Some(gone) = removed.get(number) {
                self.refuse_reuse("variant", *number, gone, name);
            } else if let Some(moved) = number_of(name).filter(|moved| moved != number) {
                self.refuse_move("variant", name, moved, *number);
            }
            let Some(before) = old.get(number) else {
                self.change(&format!("the new variant `{name}` ({number})"));
                continue;
            };
            if before.name != *name {
                let what = format!(
                    "the variant {number} is now `{name}`, and was `{}`",
                    before.name
                );
                self.note(&what);
            }
            let whole = self.place.clone();
            self.place = format!("{whole}, variant `{name}`");
            let group = self.group(&before.group, &variant.group);
            self.place = whole;
            if let Some(variant) = merged.get_mut(number) {
                variant.group = group;
            }
        }
        for (number, variant) in old.iter().filter(|(number, _)| !new.contains_key(number)) {
            self.change(&format!(
                "the variant `{}` ({number}) is removed",
                variant.name
            ));
            removed.insert(*number, variant.name.clone());
        }
        Body::Enum {
            variants: merged,
            removed,
        }
    }

    /// Compares the fields of a struct or a variant.
    fn group(&mut self, old: &Group, new: &Group) -> Group {
        let mut merged = new.clone();
        merged.removed.extend(old.removed.clone());
        let removed = merged.removed.clone();
        for (number, field) in &new.fields {
            if let Some(gone) = removed.get(number) {
                let gone = format!("{}: {}", gone.name, gone.of);
                self.refuse_reuse("field", *number, &gone, &field.name);
            } else if let Some(moved) = moved(old, *number, &field.name) {
                self.refuse_move("field", &field.name, moved, *number);
            } else {
                match old.fields.get(number) {
                    Some(before) => self.field(*number, before, field),
                    None => self.new_field(*number, field),
                }
            }
        }
        for (number, field) in &old.fields {
            if new.fields.contains_key(number) {
                continue;
            }
            self.removed_field(*number, field);
            let gone = Removed {
                name: field.name.clone(),
                of: field.of.clone(),
            };
            merged.removed.insert(*number, gone);
        }
        merged
    }

    fn field(&mut self, number: u32, before: &Field, after: &Field) {
        let name = &after.name;
        if before.name != *name {
            self.note(&format!(
                "the field {number} is now `{name}`, and was `{}`",
                before.name
            ));
        }
        let types = format!("`{}`, and was `{}`", after.of, before.of);
        if before.of != after.of && !is_same_when_present(before, after) {
            self.refuse(
                format!("the type of the field `{name}` ({number}) is {types}"),
                "the old type, with `#[wire(name = \"..\")]` if it was renamed; or a field with a number that was \
                 never used, and the old one beside it"
                    .to_owned(),
            );
        } else if before.of != after.of {
            self.change(&format!(
                "the type of the field `{name}` ({number}) is {types}"
            ));
        } else if before.shape != after.shape {
            self.refuse(
                format!(
                    "the shape of the field `{name}` ({number}) is {}, and was {}",
                    after.shape, before.shape
                ),
                "a type with the old shape, or another name for the type".to_owned(),
            );
        }
        match (before.has_default, after.has_default) {
            (false, true) => {
                self.note(&format!("the field `{name}` ({number}) has a default"));
            }
            (true, false) => {
                let what = format!("the field `{name}` ({number}) has no default any more");
                self.change(&what);
            }
            _ => {}
        }
    }

    fn new_field(&mut self, number: u32, field: &Field) {
        let name = &field.name;
        if field.has_default {
            self.change(&format!("the new field `{name}` ({number})"));
            return;
        }
        self.refuse(
            format!(
                "the new field `{name}` ({number}) has no default, but older nodes do not send it"
            ),
            "`#[wire(default)]`, `#[wire(default = path)]`, or an option; or a new variant"
                .to_owned(),
        );
    }

    fn removed_field(&mut self, number: u32, field: &Field) {
        let name = &field.name;
        if field.has_default {
            self.change(&format!("the field `{name}` ({number}) is removed"));
            return;
        }
        self.refuse(
            format!("the field `{name}` ({number}) is removed, but older nodes need it: it had no default"),
            "give it a default in this version, and remove it in the next one".to_owned(),
        );
    }

    fn refuse_reuse(&mut self, what: &str, number: u32, gone: &str, name: &str) {
        self.refuse(
            format!(
                "the {what} `{name}` has the number {number}, which the removed {what} `{gone}` had"
            ),
            "a number that was never used".to_owned(),
        );
    }

    fn refuse_move(&mut self, what: &str, name: &str, before: u32, after: u32) {
        self.refuse(
            format!("the {what} `{name}` has the number {after}, and had the number {before}"),
            format!("`#[wire({before})]`: a number stays, wherever the {what} stands"),
        );
    }
}

/// Returns the number that the field `name` had in the old lock file, if it differs from `number`.
/// Returns `None` for fields without names, because their positions are used as names, and
/// positions may change.
fn moved(old: &Group, number: u32, name: &str) -> Option<u32> {
    let is_position = name.bytes().all(|byte| byte.is_ascii_digit());
    let mut before = old.fields.iter().filter(|(_, field)| field.name == name);
    let (before, _) = before.next()?;
    (*before != number && !is_position).then_some(*before)
}

/// Returns true if the type of a field has changed from `T` to `Option<T>` or back, and the version
/// with the type `T` has a default for messages in which the field is missing.
fn is_same_when_present(before: &Field, after: &Field) -> bool {
    let is_option = |option: &str, of: &str| {
        let is_single = !of.starts_with("option<");
        is_single
            && option
                .strip_prefix("option<")
                .and_then(|o| o.strip_suffix('>'))
                == Some(of)
    };
    is_option(&after.of, &before.of) && before.has_default
        || is_option(&before.of, &after.of) && after.has_default
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::text::parse;

    /// Compares the bodies of two structs with the name `m`. Returns the reasons why changes are
    /// refused.
    fn structs(old: &str, old_version: u16, new: &str, new_version: u16) -> Vec<String> {
        bodies("struct", (old, old_version), (new, new_version))
    }

    fn enums(old: &str, old_version: u16, new: &str, new_version: u16) -> Vec<String> {
        bodies("enum", (old, old_version), (new, new_version))
    }

    fn bodies(
        kind: &str,
        (old, old_version): (&str, u16),
        (new, new_version): (&str, u16),
    ) -> Vec<String> {
        let lock = |body: &str, version| {
            let body = body.replace(", ", "\n");
            parse(&format!("root {kind} m version {version}\n{body}")).unwrap()
        };
        let (old, new) = (lock(old, old_version), lock(new, new_version));
        let compared = compare(&old, &new, &[]);
        assert_eq!(
            compared.changes.is_empty() && compared.refused.is_empty(),
            old == new,
            "{compared:?}"
        );
        // The merged lock is the next old one, and the types are then as they were.
        if compared.refused.is_empty() {
            let again = compare(&compared.merged, &new, &[]);
            assert_eq!((again.changes, again.refused), (vec![], vec![]));
            assert_eq!(again.merged.types, compared.merged.types);
        }
        compared.refused.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn refused(refused: &[String], parts: &[&str]) {
        assert_eq!(refused.len(), parts.len(), "{refused:?}");
        for (refused, part) in refused.iter().zip(parts) {
            assert!(refused.contains(part), "{refused}");
            assert!(refused.contains("\n    allowed: "), "{refused}");
        }
    }

    const ACCOUNT: &str = "1 account u64 varint, 2 note string bytes default";

    #[test]
    fn fields_may_be_renamed_and_may_get_a_default() {
        for new in [
            ACCOUNT,
            "1 number u64 varint, 2 note string bytes default",
            "1 account u64 varint default, 2 note string bytes default",
        ] {
            refused(&structs(ACCOUNT, 1, new, 1), &[]);
        }
        refused(&structs(ACCOUNT, 1, ACCOUNT, 2), &[]);
    }

    #[test]
    fn a_new_field_needs_a_default_and_a_version() {
        let new = &format!("{ACCOUNT}, 3 cents u64 varint default");
        refused(&structs(ACCOUNT, 1, new, 2), &[]);
        refused(
            &structs(ACCOUNT, 1, new, 1),
            &["`m`: the version is still 1, but there are changes: `m`: the new field `cents` (3)"],
        );
        let new = &format!("{ACCOUNT}, 3 cents u64 varint");
        refused(
            &structs(ACCOUNT, 1, new, 2),
            &["the new field `cents` (3) has no default"],
        );
    }

    #[test]
    fn a_field_is_removed_only_if_it_has_a_default() {
        refused(&structs(ACCOUNT, 1, "1 account u64 varint", 2), &[]);
        refused(
            &structs(ACCOUNT, 1, "1 account u64 varint", 1),
            &["still 1"],
        );
        refused(
            &structs(ACCOUNT, 1, "2 note string bytes default", 2),
            &["the field `account` (1) is removed, but older nodes need it"],
        );
    }

    #[test]
    fn the_number_of_a_removed_field_is_not_used_again() {
        let old = "1 account u64 varint, removed 2 note string";
        for new in [ACCOUNT, "1 account u64 varint, 2 other u64 varint default"] {
            refused(
                &structs(old, 2, new, 3),
                &["has the number 2, which the removed field `note: string` had"],
            );
        }
    }

    #[test]
    fn a_number_stays_with_its_field() {
        let old = "1 from u64 varint, 2 to u64 varint";
        refused(
            &structs(old, 1, "1 to u64 varint, 2 from u64 varint", 2),
            &[
                "the field `to` has the number 1, and had the number 2",
                "the field `from` has the number 2, and had the number 1",
            ],
        );
        // The numbers of the order, after a field was inserted.
        let new = "1 new u64 varint default, 2 from u64 varint, 3 to u64 varint";
        refused(
            &structs(old, 1, new, 2),
            &[
                "the field `from` has the number 2",
                "the field `to` has the number 3",
            ],
        );
        // The names of a tuple are positions.
        let tuple = "1 0 u64 varint default, 2 1 u64 varint";
        refused(&structs(tuple, 1, "2 0 u64 varint", 2), &[]);
    }

    #[test]
    fn types_stay_except_for_options_with_a_default() {
        let field = |of: &str, default: &str| format!("1 a {of} varint{default}");
        let option = "option<u64>";
        for (old, new, is_allowed) in [
            (field("u64", ""), field("u32", ""), false),
            (field("u64", ""), field("u32", " default"), false),
            (field("u64", ""), field(option, " default"), false),
            (field("u64", " default"), field(option, " default"), true),
            (field(option, " default"), field("u64", " default"), true),
            (field(option, " default"), field("u64", ""), false),
            (field(option, " default"), field("u32", " default"), false),
        ] {
            let found = structs(&old, 1, &new, 2);
            assert_eq!(found.is_empty(), is_allowed, "{old} {new} {found:?}");
            assert!(!structs(&old, 1, &new, 1).is_empty(), "{old} {new}");
        }
        let nested = field("option<option<u64>>", " default");
        let found = structs(&field(option, " default"), 1, &nested, 2);
        refused(
            &found,
            &["the type of the field `a` (1) is `option<option<u64>>`"],
        );
        let found = structs("1 a x varint", 1, "1 a x bytes", 2);
        refused(
            &found,
            &["the shape of the field `a` (1) is bytes, and was varint"],
        );
    }

    #[test]
    fn a_default_may_go_with_a_new_version() {
        let new = "1 account u64 varint, 2 note string bytes";
        refused(&structs(ACCOUNT, 1, new, 2), &[]);
        refused(&structs(ACCOUNT, 1, new, 1), &["has no default any more"]);
    }

    #[test]
    fn variants_come_and_go_with_a_new_version() {
        let old = "1 Deposit, 1 cents u64 varint, 2 Close";
        let more = &format!("{old}, 3 Freeze, 1 days u32 varint");
        refused(&enums(old, 1, more, 2), &[]);
        refused(&enums(old, 1, more, 1), &["the new variant `Freeze` (3)"]);
        refused(&enums(old, 1, "2 Close", 2), &[]);
        refused(
            &enums(old, 1, "2 Close", 1),
            &["the variant `Deposit` (1) is removed"],
        );
        refused(&enums(old, 1, "1 PayIn, 1 cents u64 varint, 2 End", 1), &[]);
        refused(
            &enums("1 A, 2 B", 1, "1 B, 2 A", 2),
            &[
                "the variant `B` has the number 1",
                "the variant `A` has the number 2",
            ],
        );
        refused(
            &enums("1 A, removed 2 B", 2, "1 A, 2 C", 3),
            &["the variant `C` has the number 2, which the removed variant `B` had"],
        );
        // Fields of a variant have the same rules.
        refused(
            &enums(
                old,
                1,
                "1 Deposit, 1 cents u64 varint, 2 a u8 varint, 2 Close",
                2,
            ),
            &["`m`, variant `Deposit`: the new field `a` (2) has no default"],
        );
    }

    #[test]
    fn versions_grow() {
        refused(
            &structs(ACCOUNT, 3, ACCOUNT, 2),
            &["the version is 2, and was 3"],
        );
        let old = parse("root struct m version 1").unwrap();
        let new = parse("root enum m version 2").unwrap();
        let found = compare(&old, &new, &[]).refused;
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_message_ends_only_if_this_is_said() {
        let old = parse("root struct m version 1\n1 a part bytes\nstruct part version 1").unwrap();
        let none = Schema::default();
        let ended = compare(&old, &none, &["m"]);
        assert!(ended.refused.is_empty());
        assert_eq!(ended.merged.types["m"].used, Use::Past);
        assert_eq!(ended.merged.types["part"].used, Use::Past);
        let refused = compare(&old, &none, &[]).refused;
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0]
                .to_string()
                .contains("write `#[wire(name = \"m\")]`")
        );
        // What comes again is compared with what it was.
        let again = parse("root struct m version 2\n1 a u64 varint").unwrap();
        assert_eq!(compare(&ended.merged, &again, &[]).refused.len(), 1);
    }
}
