//! Rules: atomics are imported through the module that can replace them by the atomics of loom, and
//! a crate root lists its exports.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree, Visibility};

use super::paths;
use super::source::Source;
use super::violation::Violation;

/// Crates whose atomics must be replaceable by loom's.
const WATCHED_CRATES: &[&str] = &["garrick-core", "garrick-steal", "garrick-sched"];

/// The module that chooses between `std` and loom.
const DOOR: &str = "prim";

/// Reports atomics that are imported directly from `std` or loom.
///
/// Test code is exempt, because loom models use atomics of `std` to count across their executions.
pub(crate) fn atomics(package: &str, source: &Source) -> Vec<Violation> {
    let is_door = source.modules.first().is_some_and(|module| module == DOOR);
    if is_door || !WATCHED_CRATES.contains(&package) {
        return Vec::new();
    }
    paths::find(&source.tokens, &["std", "core", "loom"])
        .iter()
        .filter(|path| !source.in_test(path.span) && is_past_the_door(&path.segments))
        .map(|path| {
            source.violation(
                path.span,
                format!(
                    "`{}` is not imported through `{DOOR}`",
                    path.segments.join("::")
                ),
                format!("atomics from `crate::{DOOR}`, or `garrick_core::{DOOR}` in other crates"),
            )
        })
        .collect()
}

fn is_past_the_door(segments: &[String]) -> bool {
    let [first, rest @ ..] = segments else {
        return false;
    };
    match first.as_str() {
        "loom" => !rest.is_empty(),
        _ => matches!(rest, [sync, atomic, ..] if sync == "sync" && atomic == "atomic"),
    }
}

/// Reports `pub use something::*` in a library's root.
pub(crate) fn globs(root: &Source) -> Vec<Violation> {
    let mut finder = GlobFinder(Vec::new());
    finder.visit_file(&root.syntax);
    finder
        .0
        .into_iter()
        .map(|span| {
            let wrong = "a glob re-export hides the names that the crate exports";
            root.violation(span, wrong, "an explicit `pub use` list")
        })
        .collect()
}

struct GlobFinder(Vec<Span>);

impl<'ast> Visit<'ast> for GlobFinder {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !matches!(item.vis, Visibility::Inherited) && has_glob(&item.tree) {
            self.0.push(item.span());
        }
        visit::visit_item_use(self, item);
    }
}

fn has_glob(tree: &UseTree) -> bool {
    match tree {
        UseTree::Path(path) => has_glob(&path.tree),
        UseTree::Group(group) => group.items.iter().any(has_glob),
        UseTree::Glob(_) => true,
        UseTree::Name(_) | UseTree::Rename(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn source(module: &str, text: &str) -> Source {
        let modules = [module.to_owned()];
        Source::parse(Path::new("a.rs"), &modules, false, text.to_owned()).expect("valid Rust")
    }

    fn count(package: &str, module: &str, text: &str) -> usize {
        atomics(package, &source(module, text)).len()
    }

    #[test]
    fn atomics_of_std_are_found_in_every_spelling() {
        for text in [
            "use std::sync::atomic::Ordering;",
            "use std::{fmt, sync::{Arc, atomic::{AtomicU8, Ordering}}};",
            "fn a() { core::sync::atomic::fence(b) }",
            "use loom::sync::Arc;",
        ] {
            assert!(count("garrick-core", "ring", text) > 0, "{text}");
        }
    }

    #[test]
    fn the_door_tests_and_other_crates_are_exempt() {
        let text = "use std::sync::atomic::AtomicU8;";
        assert_eq!(count("garrick-core", "prim", text), 0);
        assert_eq!(count("garrick-bench", "ring", text), 0);
        let test = format!("#[cfg(test)] mod tests {{ {text} }}");
        assert_eq!(count("garrick-core", "ring", &test), 0);
    }

    #[test]
    fn the_door_and_other_orderings_are_fine() {
        let text = "use crate::prim::atomic::Ordering; use std::cmp::Ordering as Order;";
        assert_eq!(count("garrick-sched", "cell", text), 0);
    }

    #[test]
    fn a_root_names_what_it_exports() {
        assert_eq!(globs(&source("", "pub use a::{B, C}; use d::*;")), []);
        assert_eq!(globs(&source("", "\npub use a::{B, c::*};"))[0].line, 2);
        assert_eq!(
            globs(&source("", "pub mod prelude { pub use crate::a::*; }")).len(),
            1
        );
    }
}
