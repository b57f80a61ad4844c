//! Rule: the behavior of the actor model depends only on the messages sent. So its crates contain
//! no collection whose order differs from run to run.
//!
//! The order of a hash table of the standard library depends on the random seed of its hashes. Code
//! that iterates over such a table, or drops it, would send, cancel and drop in a random order. The
//! rule forbids the names of these types, because it cannot detect whether code iterates.

use super::source::{Source, is_ident};
use super::violation::Violation;

/// Crates whose effects must have a fixed order.
const ORDERED_CRATES: &[&str] = &["garrick-actor", "garrick-flow"];

/// Collections without a fixed order.
const UNORDERED: &[&str] = &[
    "HashMap",
    "HashSet",
    "HashTable",
    "hash_map",
    "hash_set",
    "hash_table",
];

/// Exceptions. Each entry consists of a package, a module, and a collection that the module may
/// use. The module states the reason: the collection contains plain data, which is sorted before
/// iteration.
const SORTED: &[(&str, &str, &str)] = &[("garrick-actor", "ask::waits", "HashTable")];

/// Reports collections without a fixed order in one file. Test code is exempt, because its only
/// effect is its result.
pub(crate) fn check(package: &str, source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !ORDERED_CRATES.contains(&package) {
        return violations;
    }
    source.each_token(|trees, index| {
        let tree = trees.get(index);
        let Some(name) = UNORDERED.iter().find(|name| is_ident(tree, name)) else {
            return;
        };
        let span = trees[index].span();
        if !source.in_test(span) && !is_sorted(package, source, name) {
            violations.push(source.violation(
                span,
                format!("the order of a `{name}` differs from run to run"),
                "BTreeMap, IndexMap or Vec, which are ordered by key or by insertion",
            ));
        }
    });
    violations
}

fn is_sorted(package: &str, source: &Source, name: &str) -> bool {
    let module = source.modules.join("::");
    SORTED.contains(&(package, module.as_str(), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lines(package: &str, module: &str, text: &str) -> Vec<usize> {
        let modules = [module.to_owned()];
        let source = Source::parse(Path::new("a.rs"), &modules, false, text.to_owned());
        let found = check(package, &source.expect("valid Rust"));
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn tables_are_found_in_every_spelling() {
        for text in [
            "use std::collections::HashMap;",
            "use std::collections::{BTreeMap, HashSet as Set};",
            "fn a() { let b = std::collections::hash_map::Entry::c(); }",
            "type A = hashbrown::HashTable<u8>;",
            "macro_rules! a { () => { std::collections::HashMap::new() } }",
        ] {
            assert_eq!(lines("garrick-actor", "pipes", text), [1], "{text}");
        }
    }

    #[test]
    fn what_has_an_order_is_fine_and_so_are_words_about_others() {
        let text = "use indexmap::IndexMap;\n/// Not a [`HashMap`].\nstruct A(BTreeMap<u8, u8>); // HashMap";
        assert!(lines("garrick-flow", "post", text).is_empty());
    }

    #[test]
    fn tests_other_crates_and_what_sorts_are_exempt() {
        let text = "use std::collections::HashMap;";
        assert!(lines("garrick-telemetry", "history", text).is_empty());
        let test = format!("#[cfg(test)] mod tests {{ {text} }}");
        assert!(lines("garrick-actor", "pipes", &test).is_empty());
        let table = "use hashbrown::HashTable;";
        assert!(lines("garrick-actor", "ask::waits", table).is_empty());
        assert_eq!(lines("garrick-actor", "ask::waits", text), [1]);
        assert_eq!(lines("garrick-flow", "ask::waits", table), [1]);
    }
}
