//! Rule: no `#[path]` points to a file outside of its package.

use std::path::{Component, Path, PathBuf};

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

use super::source::{Source, is_group, is_ident, is_punct};
use super::violation::Violation;

/// Reports each `#[path = ".."]` in `source` whose file is outside of `package`, the folder of the
/// package.
pub(crate) fn check(package: &Path, source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    source.each_token(|trees, index| {
        if let Some(attribute) = attribute_at(trees, index) {
            find_paths(attribute, &mut found);
        }
    });
    found
        .into_iter()
        .filter(|path| leaves(package, &source.path, path))
        .map(|path| {
            source.violation(
                path.span(),
                format!("`#[path = {path}]` includes a file of another package"),
                "files of the same package; code that the tests of several crates share belongs to garrick-testkit",
            )
        })
        .collect()
}

/// Returns the contents of the attribute that begins at `index`.
fn attribute_at(trees: &[TokenTree], index: usize) -> Option<TokenStream> {
    if !is_punct(trees.get(index), '#') {
        return None;
    }
    let inner = usize::from(is_punct(trees.get(index + 1), '!'));
    let group = trees.get(index + 1 + inner);
    match group {
        Some(TokenTree::Group(inside)) if is_group(group, Delimiter::Bracket) => {
            Some(inside.stream())
        }
        _ => None,
    }
}

/// Finds `path = ".."`, also inside a `cfg_attr`.
fn find_paths(attribute: TokenStream, found: &mut Vec<Literal>) {
    let trees: Vec<TokenTree> = attribute.into_iter().collect();
    for (index, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            find_paths(group.stream(), found);
        }
        if is_ident(Some(tree), "path")
            && is_punct(trees.get(index + 1), '=')
            && let Some(TokenTree::Literal(path)) = trees.get(index + 2)
        {
            found.push(path.clone());
        }
    }
}

/// Returns true if `path`, relative to `file`, is outside of `package`.
fn leaves(package: &Path, file: &Path, path: &Literal) -> bool {
    let Ok(path) = syn::parse_str::<syn::LitStr>(&path.to_string()) else {
        return false;
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    resolved(&folder.join(path.value())).is_none_or(|path| !path.starts_with(package))
}

/// Resolves the `..` components. Returns `None` for a path that leaves the workspace.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !resolved.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Vec<Violation> {
        let file = Path::new("crates/a/tests/b/main.rs");
        let source = Source::parse(file, &[], true, text.to_owned()).expect("valid Rust");
        check(Path::new("crates/a"), &source)
    }

    #[test]
    fn files_of_the_same_package_pass() {
        assert_eq!(check_text("#[path = \"c.rs\"] mod c;"), []);
        assert_eq!(check_text("#[path = \"../common/mod.rs\"] mod c;"), []);
        assert_eq!(check_text("#[path = \"../../src/./c.rs\"] mod c;"), []);
        assert_eq!(check_text("fn f() { let path = \"../../../d/c.rs\"; }"), []);
        assert_eq!(check_text("#[doc = \"../../../d/c.rs\"] mod c {}"), []);
    }

    #[test]
    fn files_of_another_package_are_reported_where_they_are_named() {
        let found = check_text("\n#[path = \"../../../d/tests/c.rs\"]\nmod c;");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].wrong.contains("\"../../../d/tests/c.rs\""));
    }

    #[test]
    fn a_package_whose_name_begins_alike_is_another_one() {
        assert_eq!(check_text("#[path = \"../../../ab/c.rs\"] mod c;").len(), 1);
    }

    #[test]
    fn no_way_out_is_overlooked() {
        for text in [
            "#[path = \"/a/c.rs\"] mod c;",
            "#[path = \"../../../../../../c.rs\"] mod c;",
            "#[path = r\"../../../d/c.rs\"] mod c;",
            "#[cfg_attr(unix, path = \"../../../d/c.rs\")] mod c;",
            "mod b { #[path = \"../../../d/c.rs\"] mod c; }",
            "wrap! { #[path = \"../../../d/c.rs\"] mod c; }",
        ] {
            assert_eq!(check_text(text).len(), 1, "{text}");
        }
    }
}
