//! Rule: README.md and ARCHITECTURE.md name every crate, and ARCHITECTURE.md names every module of
//! a crate root.

use std::path::Path;

use syn::Item;

use super::source::{Source, is_test};
use super::tree::Read;
use super::violation::Violation;
use crate::workspace::Workspace;

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md"];

/// Reports each crate under `crates/` that a document omits.
pub(crate) fn check(workspace: &Workspace, read: &Read<'_>) -> Vec<Violation> {
    let crates: Vec<&str> = workspace
        .packages
        .iter()
        .filter(|package| package.dir.starts_with("crates"))
        .map(|package| package.name.as_str())
        .collect();
    DOCUMENTS
        .iter()
        .flat_map(|document| check_document(Path::new(document), &crates, read))
        .collect()
}

/// The document with the map of the modules.
const MAP: &str = "ARCHITECTURE.md";

/// Reports each module that the root of a library declares, but that is missing in the crate's
/// section of the map.
pub(crate) fn check_modules(krate: &str, root: &Source, read: &Read<'_>) -> Vec<Violation> {
    let Some(text) = read(Path::new(MAP)) else {
        // `check` reports a missing document.
        return Vec::new();
    };
    let section = section_of(&text, krate);
    let missing = modules(root).filter(|name| !section.contains(&format!("`{name}`")));
    missing
        .map(|name| {
            root.violation(
                name.span(),
                format!("{MAP} does not name the module `{name}` of `{krate}`"),
                format!("its name in backquotes below the heading `crates/{krate}`"),
            )
        })
        .collect()
}

fn modules(root: &Source) -> impl Iterator<Item = &syn::Ident> {
    root.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(module) if !is_test(&module.attrs) => Some(&module.ident),
        _ => None,
    })
}

/// Returns the part of the map between the crate's heading and the next heading.
fn section_of<'a>(text: &'a str, krate: &str) -> &'a str {
    let heading = format!("\n## `crates/{krate}`\n");
    let Some((_, section)) = text.split_once(&heading) else {
        return "";
    };
    section.split("\n## ").next().unwrap_or(section)
}

fn check_document(document: &Path, crates: &[&str], read: &Read<'_>) -> Vec<Violation> {
    let Some(text) = read(document) else {
        return vec![Violation::new(
            document,
            1,
            "the document is missing",
            "a document that lists every crate",
        )];
    };
    crates
        .iter()
        .filter(|name| !mentions(&text, name))
        .map(|name| {
            Violation::new(
                document,
                1,
                format!("the crate `{name}` is not mentioned"),
                "a document that lists every crate under crates/, each in backquotes",
            )
        })
        .collect()
}

/// Returns true if the text contains the crate's name or its folder in backquotes. Because of the
/// backquotes, `garrick-core` does not count as `garrick`.
fn mentions(text: &str, name: &str) -> bool {
    text.contains(&format!("`{name}`")) || text.contains(&format!("`crates/{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: Option<&str>) -> Vec<Violation> {
        let read = |_: &Path| text.map(str::to_owned);
        check_document(Path::new("README.md"), &["garrick", "garrick-core"], &read)
    }

    #[test]
    fn a_document_that_lists_all_passes() {
        assert_eq!(check_text(Some("| `garrick` | `garrick-core` |")), []);
        assert_eq!(check_text(Some("## `crates/garrick`, `garrick-core`")), []);
    }

    fn check_map(text: &str) -> usize {
        let code = "mod low; pub mod high; #[cfg(test)] mod tests;";
        let root = Source::parse(Path::new("lib.rs"), &[], false, code.to_owned());
        let read = |_: &Path| Some(text.to_owned());
        check_modules("a", &root.expect("valid Rust"), &read).len()
    }

    #[test]
    fn a_map_with_all_modules_passes() {
        assert_eq!(
            check_map("# Map\n## `crates/a`\n`low`, `high`\n## `crates/b`\n"),
            0
        );
    }

    #[test]
    fn a_module_left_out_of_its_section_is_reported() {
        assert_eq!(
            check_map("# Map\n## `crates/a`\n`low`\n## `crates/b`\n`high`\n"),
            1
        );
        assert_eq!(check_map("# Map\n## `crates/b`\n`low`, `high`\n"), 2);
    }

    #[test]
    fn a_crate_left_out_and_a_missing_document_are_reported() {
        assert_eq!(check_text(Some("`garrick-core` only")).len(), 1);
        assert_eq!(check_text(None).len(), 1);
    }
}
