//! Rule: the root of the facade has few names, so that a newcomer can read all of them.

use std::collections::BTreeSet;

use syn::{Item, UseTree, Visibility};

use super::source::Source;
use super::violation::Violation;

/// The package whose root is checked.
const FACADE: &str = "garrick";

/// Maximum number of public names in the root of the facade, with all features.
const NAMES_MAX: usize = 45;

/// Reports too many names in the root of the facade.
pub(crate) fn check(package: &str, root: &Source) -> Option<Violation> {
    let names = of_root(&root.syntax).len();
    (package == FACADE && names > NAMES_MAX).then(|| {
        Violation::new(
            &root.path,
            1,
            format!("{names} public names in the root of the facade"),
            format!("{NAMES_MAX}; export a name from the module that it belongs to"),
        )
    })
}

/// Returns the names that a file declares as public modules or re-exports.
pub(crate) fn of_root(file: &syn::File) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in &file.items {
        match item {
            Item::Use(item) if is_public(&item.vis) => used(&item.tree, &mut names),
            Item::Mod(item) if is_public(&item.vis) => {
                names.insert(item.ident.to_string());
            }
            _ => {}
        }
    }
    names
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Adds the names that a `use` imports.
fn used(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => used(&path.tree, names),
        UseTree::Name(name) => {
            names.insert(name.ident.to_string());
        }
        UseTree::Rename(rename) => {
            names.insert(rename.rename.to_string());
        }
        UseTree::Glob(_) => {}
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn root(code: String) -> Source {
        Source::parse(Path::new("lib.rs"), &[], false, code).expect("valid Rust")
    }

    fn with(names: usize) -> Source {
        let names: Vec<String> = (0..names).map(|number| format!("Name{number}")).collect();
        root(format!("pub use other::{{{}}};", names.join(", ")))
    }

    #[test]
    fn a_name_too_many_is_reported() {
        assert_eq!(check(FACADE, &with(NAMES_MAX)), None);
        assert!(check(FACADE, &with(NAMES_MAX + 1)).is_some());
        assert_eq!(check("another", &with(NAMES_MAX + 1)), None);
    }

    #[test]
    fn modules_and_new_names_count_and_private_ones_do_not() {
        let code = "pub mod a; mod b; pub use x::c as d; use x::e; pub(crate) use x::f; pub use x::{g, y::h};";
        let names = of_root(&root(code.to_owned()).syntax);
        assert_eq!(Vec::from_iter(names), ["a", "d", "g", "h"]);
    }
}
